"""Which layer may import what, and what the device needs."""

import pytest

from tasks.products.registry import PRODUCTS
from tests.guards import (
    PRODUCT_LIBRARIES,
    arithmetic_in_flows,
    crowded_rooms,
    cycles,
    foreign_imports_of_the_library,
    layers_upside_down,
    long_modules,
    printing_with_rich,
    products_that_know_each_other,
    releases_that_reach_a_study,
)
from tests.repository import run_python

GUARDS = [
    foreign_imports_of_the_library, arithmetic_in_flows, layers_upside_down, printing_with_rich,
    releases_that_reach_a_study, products_that_know_each_other,
]  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
def test_every_module_keeps_to_its_layer(guard):
    assert list(guard()) == []


def test_every_room_and_module_fits_into_a_readers_head():
    assert list(cycles("hybriddp")) == []
    for package in ("hybriddp", "tasks", "flows"):
        assert list(crowded_rooms(package, 10)) == []
        assert list(long_modules(package, 250)) == []
    # What tests share, in a room, comes on top.
    assert list(crowded_rooms("tests", 10, modules="test_*.py")) == []


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_releases_judge_before_they_charge_and_ask_before_they_publish(product):
    """Whatever a product draws, these steps are in it, in this order."""
    titles = [step.title for step in product.working.STEPS]
    assert len(set(titles)) == len(titles)
    # Lists may be empty; means and clusters are always there.
    forecast = ["predict the list"] if product.lists else []
    draws = [step.title for step in product.working.STEPS if step.draws]
    (gate,) = (title for title in titles if title.startswith("judge the ") and title[10:] != "log")
    order = [
        "check inputs", "ingest", "judge the log", *forecast, "reserve budget", *draws,
        "discard the log's tables", gate, "sign-off", "publish",
    ]  # fmt: skip
    assert [title for title in titles if title in order] == order
    drawn = [group for step in product.working.STEPS for group in step.draws]
    assert drawn == list(product.groups), "every group is drawn once, in its order"


BLOCKED = """
import sys
class Uninstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Uninstalled())
"""


def test_library_works_without_the_product_libraries():
    output = run_python(
        BLOCKED.format(names=PRODUCT_LIBRARIES)
        + """
import numpy as np, hybriddp
zeros = np.zeros(1000, int)
release = hybriddp.simulate(
    zeros, zeros, np.arange(1000) < 300, hybriddp.BlenderParams(), rng=np.random.default_rng(1)
)
print(release.head_list.n_queries, sorted(set(sys.modules) & {"prefect", "polars", "duckdb"}))
"""
    )
    assert output.strip() == "1 []"


def test_client_needs_the_standard_library_only():
    output = run_python(
        BLOCKED.format(names={"numpy", "scipy", "opendp", "dp_accounting", *PRODUCT_LIBRARIES})
        + """
from hybriddp.client import Client
from hybriddp.params import BlenderParams
print(Client({"a": ["x"]}, BlenderParams()).report([("a", "x")])[0] in range(3))
"""
    )
    assert output.strip() == "True"
