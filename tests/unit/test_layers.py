"""Which layer may import what, and what the device needs."""

import ast
import sys

import pytest

from tests.repository import LIBRARY, ROOT, imported_roots, run_python

PRODUCT_LIBRARIES = {"prefect", "polars", "duckdb", "pydantic", "great_expectations"}


def test_library_imports_only_what_pure_algorithms_need():
    allowed = {"hybriddp", "numpy", "scipy", "opendp", "dp_accounting", *sys.stdlib_module_names}
    for path in LIBRARY:
        assert imported_roots(path) <= allowed, path.name
    assert not PRODUCT_LIBRARIES & allowed


def test_flows_contain_no_arithmetic_libraries():
    for path in (ROOT / "flows").glob("*.py"):
        assert not imported_roots(path) & {"numpy", "scipy", "pyarrow"}, path.name


RELEASES = {"release": "judge_release", "zealous": "judge_histograms", "mean": "judge_means",
            "kmeans": "judge_clusters"}  # fmt: skip
# Lists may be empty; means and clusters are always there.
FORECAST = {"release": ("expect_a_list",), "zealous": ("expect_a_list",)}


@pytest.mark.parametrize("name", RELEASES)
def test_release_flows_judge_before_they_charge_and_ask_before_they_publish(name):
    """Whatever a flow draws, these steps are in it, in this order."""
    tree = ast.parse((ROOT / "flows" / f"{name}.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = [ast.unparse(call.func) for call in sorted(calls, key=lambda call: call.lineno)]
    steps = [
        "identify", "check_inputs", "ingest", "judge_log", *FORECAST.get(name, ()), "reserve",
        "discard_private_tables", RELEASES[name], "wait_for_sign_off", "publish",
    ]  # fmt: skip
    assert [step for step in called if step in steps] == steps
    draws = [place for place, step in enumerate(called) if step.startswith(("draw_", "collect_"))]
    assert draws
    assert called.index("reserve") < min(draws)
    assert max(draws) < called.index("discard_private_tables")


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
