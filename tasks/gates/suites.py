"""The suites of the quality gates: the files in `expectations/`, read and checked.

Every expectation says in its `meta` why it exists. A suite that Great Expectations would not judge
as a whole is refused: it would drop what it does not know, and pass.
"""

import json
import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import Any

from hybriddp.errors import require
from tasks.imports import importing

SUITES = Path(__file__).parents[2] / "expectations"
# What judging itself sets: the last rank that a table of that many rows can have.
LAST_RANK = "last_rank"


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as its file states it: expectations, and limits with their defaults."""

    name: str
    expectations: tuple[Mapping[str, Any], ...]
    defaults: Mapping[str, float]

    def limits(self, given: Mapping[str, float]) -> dict[str, float]:
        """Return every limit: the given one, else the default."""
        for name, value in given.items():
            require(
                name in self.defaults,
                f"a limit of the suite {self.name} must be one of {sorted(self.defaults)}",
                repr(name),
                "take one of these",
            )
            require(
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and math.isfinite(value),
                f"{name} must be a finite number",
                repr(value),
                "give a number",
            )
        return {**self.defaults, **given}


def read_suite(name: str) -> Suite:
    """Read a suite's file and check that all of it can be judged."""
    path = SUITES / f"{name}.json"
    known = sorted(file.stem for file in SUITES.glob("*.json"))
    require(name in known, f"suite must be one of {', '.join(known)}", repr(name), "take one")
    content = json.loads(path.read_text())
    plan = Suite(
        content.get("name"),
        tuple(content.get("expectations", ())),
        content.get("suite_parameters", {}),
    )
    remedy = f"correct {path.name}"
    require(plan.name == name, "a suite must be named like its file", plan.name, remedy)
    require(
        len(plan.expectations) > 0, f"the suite {name} must expect something", "nothing", remedy
    )
    for item in plan.expectations:
        require(
            {"type", "kwargs", "meta"} == set(item) and bool(item["meta"].get("why")),
            f"an expectation of {name} must have type, kwargs and meta.why",
            sorted(item),
            remedy,
        )
        require(
            _is_known(item),
            f"the suite {name} must use expectations and kwargs that Great Expectations knows",
            f"{item['type']} with {sorted(item['kwargs'])}",
            remedy,
        )
    used = {parameter for item in plan.expectations for parameter in parameters_of(item)}
    require(
        used - {LAST_RANK} == set(plan.defaults),
        f"suite_parameters of {name} must be the limits that its expectations use",
        sorted((used - {LAST_RANK}) ^ set(plan.defaults)),
        remedy,
    )
    return plan


class _Lazily:
    """Finds what Great Expectations imports for plots and statistics, and our suites do not use.

    It is imported when somebody looks into it, by whoever imports it meanwhile, too. Databases it
    can do without, and is told that there are none; other threads may need them.
    """

    NAMES, ABSENT = ("altair", "scipy.stats"), "sqlalchemy"

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == self.ABSENT and get_ident() == self._thread:
            raise ModuleNotFoundError(name, name=name)
        found = PathFinder.find_spec(name, path) if name in self.NAMES else None
        if found is not None and found.loader is not None:
            found.loader = LazyLoader(found.loader)
        return found


@contextmanager
def _lazily() -> Iterator[None]:
    finder = _Lazily()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@cache
def great_expectations() -> tuple[Any, Any]:
    """Import Great Expectations (seconds) and return it with the batch that all calls share."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # Its log quotes exceptions, and these may quote values: nothing that it logs may pass.
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
    with warnings.catch_warnings(), _lazily(), importing():
        # It imports `sre_constants`, which Python 3.11 deprecates.
        warnings.filterwarnings("ignore", "module 'sre_", DeprecationWarning)
        import great_expectations as gx
        from great_expectations.data_context.types import base
    context = gx.get_context(
        mode="ephemeral",
        project_config=base.DataContextConfig(
            # The default makes a directory in /tmp for a report that nobody asked for.
            store_backend_defaults=base.InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
            progress_bars=base.ProgressBarsConfig(globally=False),
        ),
    )
    asset = context.data_sources.add_pandas("memory").add_dataframe_asset("frame")
    return gx, asset.add_batch_definition_whole_dataframe("whole")


def _is_known(item: Mapping[str, Any]) -> bool:
    """Whether this expectation exists; a suite would drop an unknown one and pass without it."""
    great_expectations()
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    try:
        ExpectationConfiguration(**item).to_domain_obj()
    except Exception:
        return False
    return True


def parameters_of(item: Mapping[str, Any]) -> Iterable[str]:
    """Return the names of the parameters that an expectation's limits use, each once."""
    formulas = [v["$PARAMETER"] for v in item["kwargs"].values() if _is_formula(v)]
    return dict.fromkeys(name for text in formulas for name in re.findall(r"[a-z_]\w*", text))


def _is_formula(value: object) -> bool:
    """Whether a keyword's value is computed from parameters."""
    return isinstance(value, dict) and "$PARAMETER" in value
