"""Quality gates: Great Expectations suites that judge one row of metrics or a published table.

Only "passed" and "failed" leave this module, never a value that was judged.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from hybriddp.errors import HybridDPError, require
from tasks.gates.suites import LAST_RANK, Suite, great_expectations, parameters_of, read_suite

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
        values = {**limits, LAST_RANK: max(1, frame.num_rows)}
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
                limits=tuple((n, limits[n]) for n in parameters_of(item) if n in limits),
                was_judged=answers.get(index) is not None,
            )
            for index, item in enumerate(plan.expectations)
        ),
    )


def _ask(plan: Suite, frame: pa.Table, values: Mapping[str, float]) -> dict[int, bool]:
    """Return whether each expectation passed; what could not be judged is left out."""
    gx, batch_definition = great_expectations()
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


def _columns(kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that an expectation is about; none means the whole table."""
    single = [kwargs[key] for key in ("column", "column_A", "column_B") if key in kwargs]
    return tuple(single or kwargs.get("column_list", ()))
