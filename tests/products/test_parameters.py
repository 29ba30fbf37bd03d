"""Measurement parameters: read once, written back to the byte, and strict about what they know."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from hybriddp.device.package import canonical_json
from hybriddp.errors import InvalidParameter
from tasks.products.clusters.parameters import ClusterParameters
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.histograms.parameters import ZealousParameters
from tasks.products.mean.parameters import MeanParameters
from tasks.products.parameters import MeasurementParameters
from tests.products.test_contract import ASKED

MODELS: dict[str, type[MeasurementParameters]] = {
    "high-utility": HeadListParameters, "paper": HeadListParameters,
    "zealous": ZealousParameters, "mean": MeanParameters, "kmeans": ClusterParameters,
}  # fmt: skip
HOMES = Path(__file__).parents[1] / "compatibility"


def published_parameters() -> list[dict[str, Any]]:
    """Return the parameters of every release that earlier versions published."""
    found = []
    for home in sorted(HOMES.glob("home-*.tar.gz")):
        with tarfile.open(home) as archive:
            for member in archive:
                if member.name.endswith("/manifest.json"):
                    found.append(json.load(archive.extractfile(member))["parameters"])
    return found


OLD = published_parameters()


def written_by_all(strategy: str) -> list[str]:
    """Return the fields that every version has written."""
    fields = MODELS[strategy].model_fields
    return [name for name, field in fields.items() if field.is_required()]


def test_every_product_is_among_what_was_published():
    assert {asked["strategy"] for asked in OLD} == set(MODELS)
    assert any("times" not in asked for asked in OLD), "version 0.1.0 knew no times"


@pytest.mark.parametrize("asked", OLD)
def test_what_was_published_is_read_and_written_back_to_the_byte(asked):
    read = MODELS[asked["strategy"]].read(asked)
    assert canonical_json(read.as_json()) == canonical_json(asked)
    assert read.times == asked.get("times")


@pytest.mark.parametrize("name", list(ASKED))
def test_a_request_and_its_stored_parameters_say_the_same(name, tmp_path):
    request = ASKED[name](tmp_path)
    stored = json.loads(canonical_json(request.measurement_parameters()))
    asked = request.parameters()
    assert type(asked).read(stored) == asked
    assert type(asked).read(stored).as_json() == stored


@pytest.mark.parametrize("strategy", list(MODELS))
def test_what_a_later_version_adds_is_kept_and_what_it_changes_is_refused(strategy):
    asked = next(one for one in OLD if one["strategy"] == strategy)
    later = {**asked, "sharpness": 7}
    assert MODELS[strategy].read(later).as_json() == later
    for odd in ([], {"a": 1}, 10**19, "x" * 501, 0.5):  # as manifests never were
        with pytest.raises(InvalidParameter):
            MODELS[strategy].read({**asked, "sharpness": odd})
    for name in written_by_all(strategy):
        for odd in (1.5, [], {}, "\ud800", object(), [[asked[name]]]):
            with pytest.raises(InvalidParameter):
                MODELS[strategy].read({**asked, name: odd})


@pytest.mark.parametrize("strategy", list(MODELS))
def test_what_is_missing_is_named_and_no_value_is(strategy):
    asked = next(one for one in OLD if one["strategy"] == strategy)
    for name in written_by_all(strategy):
        less = {field: value for field, value in asked.items() if field != name}
        with pytest.raises(InvalidParameter, match=rf"do not fit in {name};") as raised:
            MODELS[strategy].read(less)
        assert raised.value.__cause__ is None
    with pytest.raises(InvalidParameter) as raised:
        MODELS[strategy].read({**asked, "epsilon": "hidden text"})
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    ("strategy", "name", "value"),
    [
        ("mean", "mechanism_version", "mean-2"),
        ("high-utility", "mechanism_version", "blender-high-utility-2"),
        ("zealous", "mechanism_version", "zealous-2"),
        ("kmeans", "mechanism_version", "kmeans-2"),
        ("mean", "noise", "none"),  # which would count as Laplace's
        ("mean", "weight", "optimal"),
        ("mean", "one_number", 1),
        ("zealous", "histograms", ["queries", "queries"]),
        ("zealous", "histograms", []),
        ("kmeans", "points", []),
        ("kmeans", "points", [{"column": "a", "per_person": "sum", "upper": "1", "lower": "0"}]),
        ("kmeans", "debias", 1),
        ("paper", "clients", "nobody"),
        ("paper", "rotation", True),
        ("paper", "max_head_size", 10_001),
        ("paper", "strategy", "mean"),
    ],
)
def test_what_no_version_wrote_is_refused(strategy, name, value):
    asked = next(one for one in OLD if one["strategy"] == strategy)
    with pytest.raises(InvalidParameter, match=f"do not fit in {name};"):
        MODELS[strategy].read({**asked, name: value})
