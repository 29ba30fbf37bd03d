"""Which settings are tried for a suggestion: the same people, the same promise."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hybriddp.errors import InvalidParameter
from hybriddp.params import GAUSSIAN, HIGH_UTILITY, LAPLACE, PAPER, BlenderParams, usual_finding
from hybriddp.planning.setting import Setting

_FINDERS = {
    PAPER: tuple(Fraction(n, 100) for n in (80, 90, 95, 98)),
    HIGH_UTILITY: tuple(Fraction(n, 100) for n in (80, 90, 95, 100)),
}
_RECORDS = (1, 5, 10)
_FIELDS = (
    "strategy", "finding", "max_head_size", "headlist_user_fraction", "query_budget_fraction",
    "max_records_optin", "max_records_client", "client_report",
)  # fmt: skip


def grid_of(asked: Setting, strategies: Sequence[str]) -> list[Setting]:
    """Return what was asked for, and other splits and strategies; without impossible groups."""
    wanted = [asked]
    for strategy in strategies:
        splits = [(LAPLACE, fraction) for fraction in _FINDERS[strategy]]
        for finding, fraction in [*splits, *_weighted(asked, strategy)]:
            for m in _records(asked, strategy, finding):
                with suppress(InvalidParameter):  # a group would be empty
                    wanted.append(
                        with_changes(
                            asked,
                            strategy=strategy,
                            finding=finding,
                            headlist_user_fraction=fraction,
                            max_records_optin=m,
                            client_report=None,
                        )
                    )
    return list(dict.fromkeys(wanted))


def _weighted(asked: Setting, strategy: str) -> list[tuple[str, Fraction]]:
    """Return the split with weights, where people have several records to give weight to."""
    has_several = usual_finding(strategy, asked.distinct_clicks)[0] == GAUSSIAN
    return [(GAUSSIAN, Fraction(1))] if has_several else []


def _records(asked: Setting, strategy: str, finding: str) -> tuple[int, ...]:
    """Return how many records of a person are tried."""
    if strategy == PAPER:
        return (1,)
    own = {asked.params.max_records_optin} if asked.params.finding == finding else set()
    if finding == GAUSSIAN:
        return tuple(sorted({usual_finding(strategy, asked.distinct_clicks)[1], *own}))
    # With one record a person, several draws of it say nothing more.
    return tuple(sorted({*(_RECORDS if asked.distinct_clicks > 1 else (1,)), *own}))


def values_of(setting: Setting) -> dict[str, Any]:
    """Return what can be chosen, as it was."""
    return {name: getattr(setting.params, name) for name in _FIELDS}


def with_changes(setting: Setting, **changes: Any) -> Setting:
    """Return the setting with other choices."""
    budget = setting.params.budget
    params = BlenderParams(budget.epsilon, budget.delta, **values_of(setting) | changes)
    return replace(setting, params=params)
