"""Means with standard errors, and paired comparisons of two methods on the same users."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

# A difference beyond this many standard errors is called one.
_SIGNIFICANT = 2.0


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds and its standard error, which one seed alone does not have."""

    value: float
    standard_error: float | None
    n: int


def mean_of(values: Iterable[float | None]) -> Mean | None:
    """Average what is there; None if nothing is."""
    present = [value for value in values if value is not None and not math.isnan(value)]
    n = len(present)
    if n == 0:
        return None
    mean = math.fsum(present) / n
    if n == 1:
        return Mean(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in present) / (n - 1)
    return Mean(mean, math.sqrt(variance / n), n)


def summarise(
    rows: Sequence[Row], keys: Sequence[str], measures: Sequence[str]
) -> list[dict[str, Any]]:
    """Return one row for each combination of keys, in order of appearance.

    Columns: the keys, `n` seeds, and for each measure its mean and `<measure>_se`.
    """
    groups: dict[tuple[Hashable, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    summary = []
    for values, members in groups.items():
        result: dict[str, Any] = dict(zip(keys, values, strict=True))
        result["n"] = len(members)
        for measure in measures:
            mean = mean_of(member.get(measure) for member in members)
            result[measure] = None if mean is None else mean.value
            result[f"{measure}_se"] = None if mean is None else mean.standard_error
        summary.append(result)
    return summary


def compare(
    rows: Sequence[Row],
    keys: Sequence[str],
    measures: Mapping[str, bool],
    *,
    base: str,
    other: str,
) -> list[dict[str, Any]]:
    """Return other - base for each setting and measure, paired by seed.

    `keys` are the columns of a setting without `method`; `measures` says of each whether more
    is better. The verdict needs two standard errors.
    """
    by_place: dict[tuple[tuple[Hashable, ...], str], dict[int, Row]] = {}
    for row in rows:
        place = (tuple(row[key] for key in keys), str(row["method"]))
        by_place.setdefault(place, {})[int(row["seed"])] = row
    result = []
    for (setting, method), base_rows in by_place.items():
        other_rows = by_place.get((setting, other), {})
        if method != base or not other_rows:
            continue
        for measure, more_is_better in measures.items():
            pairs = [
                (base_rows[seed].get(measure), other_rows[seed].get(measure))
                for seed in base_rows
                if seed in other_rows
            ]
            line = _compare_pairs(pairs, more_is_better)
            if line is not None:
                result.append({**dict(zip(keys, setting, strict=True)), "measure": measure, **line})
    return result


def _compare_pairs(
    pairs: Sequence[tuple[float | None, float | None]], more_is_better: bool
) -> dict[str, Any] | None:
    whole = [(one, two) for one, two in pairs if one is not None and two is not None]
    difference = mean_of(two - one for one, two in whole)
    base, other = mean_of(one for one, _ in whole), mean_of(two for _, two in whole)
    if difference is None or base is None or other is None:
        return None
    return {
        "n": difference.n,
        "base": base.value,
        "other": other.value,
        "difference": difference.value,
        "difference_se": difference.standard_error,
        "verdict": _verdict(difference, more_is_better),
    }


def _verdict(difference: Mean, more_is_better: bool) -> str:
    if difference.standard_error is None:
        return "one seed"
    if abs(difference.value) <= _SIGNIFICANT * difference.standard_error:
        return "no difference"
    return "better" if (difference.value > 0) == more_is_better else "worse"
