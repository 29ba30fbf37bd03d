"""One exit code for one kind of failure, and words that a person understands."""

import importlib
import pkgutil
from contextlib import suppress

import pytest
from pydantic import ValidationError

import flows
import hybriddp
import tasks
from hybriddp.errors import HybridDPError
from tasks.products.clusters.request import KMeansRequest
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.histograms.request import ZealousRequest
from tasks.products.mean.request import MeanRequest
from tasks.release.refusals import EXIT_CODES, exit_code_of, fields_at_fault, in_the_forms_words

LOG = {"log": "l.tsv", "epoch": "2026-W46"}
# What pydantic says, and programmers understand.
RAW = ("Input should", "Extra inputs", "Field required", "Value error", "<class", "unable to parse")


def all_errors(kind: type = HybridDPError) -> set[type]:
    return {kind}.union(*(all_errors(child) for child in kind.__subclasses__()))


def test_every_error_that_is_raised_on_purpose_has_one_exit_code():
    for package in (hybriddp, tasks, flows):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith("tasks.log.spark."):
                with suppress(ModuleNotFoundError):  # of the extra; they raise what others raise
                    importlib.import_module(module.name)
            elif not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    ours = {kind for kind in all_errors() if not kind.__module__.startswith("tests")}
    without = {kind.__name__ for kind in ours - {HybridDPError} if exit_code_of(kind) is None}
    assert not without, "name them in tasks/release/refusals.py"
    gone = set(EXIT_CODES) - {kind.__name__ for kind in ours}
    assert not gone, "they are no more"


@pytest.mark.parametrize(
    ("form", "settings", "words"),
    [
        (ReleaseRequest, {"epoch": "2026-W46"}, "log: is needed; give it."),
        (ReleaseRequest, LOG | {"epsilom": 1}, "epsilom: is no setting of this"),
        (ReleaseRequest, LOG | {"epsilon": 99}, "epsilon: must be at most 50, got 99."),
        (ReleaseRequest, LOG | {"log": 5}, "log: must be a path, got 5."),
        (ReleaseRequest, LOG | {"rotation": "often"}, "rotation: must be a whole number"),
        (ReleaseRequest, LOG | {"sign_off": "maybe"}, "sign_off: must be true or false"),
        (ReleaseRequest, LOG | {"columns": 3}, "columns: must be a table of names and values"),
        (ReleaseRequest, LOG | {"product": "Search!"}, "product: must look like"),
        (ReleaseRequest, LOG | {"epoch": "2026-W60"}, "epoch must be a week"),
        (ZealousRequest, LOG | {"histograms": "queries"}, "histograms: must be a list"),
        (ZealousRequest, LOG | {"histograms": ["words"]}, "histograms.0: must be one of"),
        (MeanRequest, LOG | {"column": "a", "upper": "x"}, "upper: must be a number, got 'x'."),
        (KMeansRequest, LOG | {"points": [{"column": "a"}]}, "points.0.upper: is needed"),
    ],
)
def test_settings_at_fault_are_named_in_plain_words(form, settings, words):
    with pytest.raises(ValidationError) as raised:
        form.model_validate(settings)
    said = fields_at_fault(raised.value)
    assert words in said
    assert not [raw for raw in RAW if raw in said]


@pytest.mark.parametrize("form", [ReleaseRequest, ZealousRequest, MeanRequest, KMeansRequest])
def test_no_product_takes_the_folder_of_the_packages(form):
    """`public/collections/all` would lie among the packages that devices fetch."""
    own = {"column": "a", "upper": 1, "points": [{"column": "a", "upper": 1}]}
    settings = LOG | {name: own[name] for name in own if name in form.model_fields}
    with pytest.raises(ValidationError) as raised:
        form.model_validate(settings | {"product": "collections"})
    assert "collections is the folder of packages for devices" in fields_at_fault(raised.value)


def test_prefects_page_names_the_forms_fields():
    said = in_the_forms_words("pay with --new-attempt, or (--pay-again); a well-known x -- y.")
    assert said == "pay with new_attempt, or (pay_again); a well-known x -- y."
