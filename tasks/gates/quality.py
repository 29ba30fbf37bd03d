"""Quality gates: Great Expectations suites that judge one row of metrics or a published table.

Only "passed" and "failed" leave this module, never a value that was judged. The suites are the
files in `expectations/`; every expectation says in its `meta` why it exists.
"""

import json
import logging
import math
import os
import re
import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from hybriddp.errors import HybridDPError, require

SUITES = Path(__file__).parents[2] / "expectations"

# What judge() itself sets: the last rank that a table of that many rows can have.
_LAST_RANK = "last_rank"
# All calls share one Great Expectations batch, so they take turns.
_TURN = threading.Lock()


class GateRefused(HybridDPError):
    """A quality gate refused; the message says which expectations failed, never a value."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one expectation."""

    expectation: str
    columns: tuple[str, ...]
    passed: bool
    why: str
    limits: tuple[tuple[str, float], ...] = ()
    was_judged: bool = True

    @property
    def label(self) -> str:
        """Name the expectation and what it is about."""
        return self.expectation + (f"({', '.join(self.columns)})" if self.columns else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a suite says about one frame."""

    suite: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was judged and passed; a verdict on nothing is not a pass."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def failed(self) -> tuple[Result, ...]:
        """Return what did not pass."""
        return tuple(result for result in self.results if not result.passed)

    def refusal(self) -> str:
        """Say which expectations failed and why they exist; empty if the gate passed."""
        if self.passed:
            return ""
        lines = [
            f"The quality gate {self.suite} refused: {len(self.failed)} of {len(self.results)} "
            "expectations failed. Values that were judged stay out of this message."
        ]
        for result in self.failed:
            limits = "".join(f", {name} = {value:g}" for name, value in result.limits)
            unjudged = (
                "" if result.was_judged else " It could not be judged, so it counts as failed."
            )
            lines.append(f"- {result.label}{limits}: {result.why}{unjudged}")
        return "\n".join(lines)

    def require(self) -> Self:
        """Return this verdict if the gate passed, else raise GateRefused."""
        if not self.passed:
            raise GateRefused(self.refusal())
        return self


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


def judge(suite: str, frame: pa.Table, parameters: Mapping[str, float] = {}) -> Verdict:
    """Judge a table by a suite; `parameters` replace the suite's own limits.

    Raises:
        InvalidParameter: the suite's file is broken, or a parameter is not one of its limits.
    """
    require(isinstance(frame, pa.Table), "frame must be a pyarrow.Table", type(frame), "pass one")
    with _TURN:
        plan = read_suite(suite)
        limits = plan.limits(parameters)
        # At least 1, because Great Expectations cannot judge by a range that is empty.
        values = {**limits, _LAST_RANK: max(1, frame.num_rows)}
        try:
            answers = _ask(plan, frame, values)
        except Exception:
            # Its text may quote what was judged: then nothing was judged, and no more is said.
            answers = {}
    return Verdict(
        suite,
        tuple(
            Result(
                expectation=item["type"],
                columns=_columns(item["kwargs"]),
                passed=answers.get(index) is True,
                why=item["meta"]["why"],
                limits=tuple((n, limits[n]) for n in _parameters(item) if n in limits),
                was_judged=answers.get(index) is not None,
            )
            for index, item in enumerate(plan.expectations)
        ),
    )


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
    used = {parameter for item in plan.expectations for parameter in _parameters(item)}
    require(
        used - {_LAST_RANK} == set(plan.defaults),
        f"suite_parameters of {name} must be the limits that its expectations use",
        sorted((used - {_LAST_RANK}) ^ set(plan.defaults)),
        remedy,
    )
    return plan


def _ask(plan: Suite, frame: pa.Table, values: Mapping[str, float]) -> dict[int, bool]:
    """Return whether each expectation passed; what could not be judged is left out."""
    gx, batch_definition = _great_expectations()
    expectations = [
        # The answers come back in another order: the index says which is which.
        {**item, "meta": {"index": index}}
        for index, item in enumerate(plan.expectations)
    ]
    validation = batch_definition.get_batch(
        {"dataframe": frame.to_pandas(ignore_metadata=True)}
    ).validate(
        gx.ExpectationSuite(name=plan.name, expectations=expectations),
        # Every other format puts values that were judged into the results.
        result_format="BOOLEAN_ONLY",
        expectation_parameters=dict(values),
    )
    return {
        answer.expectation_config.meta["index"]: bool(answer.success)
        for answer in validation.results
        if not _has_raised(answer.exception_info)
    }


def _has_raised(info: Mapping[str, Any]) -> bool:
    """Whether an expectation raised: one record says so, or one record for each of its metrics."""
    if "raised_exception" in info:
        return bool(info["raised_exception"])
    return any(record["raised_exception"] for record in info.values())


@cache
def _great_expectations() -> tuple[Any, Any]:
    """Import Great Expectations (6 to 14 s) and return it with the batch that all calls share."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # Its log quotes exceptions, and these may quote values: nothing that it logs may pass.
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
    with warnings.catch_warnings():
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
    _great_expectations()
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    try:
        ExpectationConfiguration(**item).to_domain_obj()
    except Exception:
        return False
    return True


def _columns(kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that an expectation is about; none means the whole table."""
    single = [kwargs[key] for key in ("column", "column_A", "column_B") if key in kwargs]
    return tuple(single or kwargs.get("column_list", ()))


def _parameters(item: Mapping[str, Any]) -> Iterable[str]:
    """Return the names of the parameters that an expectation's limits use, each once."""
    formulas = [v["$PARAMETER"] for v in item["kwargs"].values() if _is_formula(v)]
    return dict.fromkeys(name for text in formulas for name in re.findall(r"[a-z_]\w*", text))


def _is_formula(value: object) -> bool:
    """Whether a keyword's value is computed from parameters."""
    return isinstance(value, dict) and "$PARAMETER" in value
