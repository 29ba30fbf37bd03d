"""Figures 4 and 5 of MEAN20: what happens to KVH if the groups' variances or means differ."""

from hybriddp.studies.means.data import HIGH_TRUSTED, LOW_TRUSTED, SHIFTS, VARIANCE_SKEWED
from tasks.studies.means.summary import Row, Summary, extreme, rows_of, share_of
from tasks.studies.means.sweeps import FRACTIONS, KVH, by_users, over_users
from tasks.studies.model import Study

_TITLES = {
    LOW_TRUSTED: "T Beta(10, 10), L Beta(.1, .1)",
    HIGH_TRUSTED: "T Beta(.1, .1), L Beta(10, 10)",
    **{name: f"shift {shift:g}, means {2 * shift:g} apart" for name, shift in SHIFTS.items()},
}
_SHIFTED = tuple(name for name, shift in SHIFTS.items() if shift)


def _conclude_heterogeneous(summary: Summary) -> str:
    return " ".join((_say_variances(summary), *(_say_means(summary, name) for name in _SHIFTED)))


def _say_variances(summary: Summary) -> str:
    measure = "skew_change"
    rows = [row for name in VARIANCE_SKEWED for row in rows_of(summary, measure, item_kind=name)]

    def is_small(row: Row) -> bool:
        return bool(abs(row[measure]) < 0.01)

    return (
        "If only the trusted users' variance is as in the homogeneous case, R differs by "
        f"{extreme(min, rows, measure, '+.3f')} to {extreme(max, rows, measure, '+.3f')}, and by "
        f"less than .01 at {share_of(rows, is_small)} of the points."
    )


def _say_means(summary: Summary, name: str) -> str:
    measure = "improvement_best"
    rows = rows_of(summary, measure, item_kind=name)
    ratios = rows_of(summary, "skew_ratio", item_kind=name)
    below = share_of(rows, lambda row: bool(row[measure] < 1))
    return (
        f"With shift {SHIFTS[name]:g} KVH falls behind the better baseline at {below} of the "
        f"points, and R is {extreme(min, ratios, 'skew_ratio', '.1e')} to "
        f"{extreme(max, ratios, 'skew_ratio')} times what it is without."
    )


heterogeneous = Study(
    name="mean-heterogeneous",
    title="Hybrid means: groups that are not alike",
    figures=("MEAN20 figure 4", "MEAN20 figure 5"),
    question="How much does KVH lose if the groups' variances or means differ?",
    reading="Above, one group's values (T: trusted, L: local) have the low variance and the "
    "other's the high one, and the weight knows both (definition 6.1). Below, both groups' Beta(1, "
    "1) values, centred at 1, are moved by the shift in opposite directions, m = 2 throughout, and "
    "the weight knows nothing of that: it is the homogeneous one. Baselines have the true "
    "variances and means, too. n goes from 1,000 to 100,000.",
    sweeps=tuple(
        sweep
        for fraction in FRACTIONS
        for data in (VARIANCE_SKEWED, tuple(SHIFTS))
        for sweep in by_users(data, fraction, titles=_TITLES)
    ),
    plots=(
        *over_users(
            "improvement_best",
            "Figure 4: R of KVH, variances differ",
            VARIANCE_SKEWED,
            KVH,
            limits=(0.95, 2.1),
            prefix="variances-",
        ),
        *over_users(
            "skew_change",
            "Figure 4 less figure 1: change of R",
            VARIANCE_SKEWED,
            KVH,
            limits=(-0.11, 0.11),
            prefix="variances-",
        ),
        *over_users(
            "improvement_best",
            "Figure 5: R of KVH, means differ",
            SHIFTS,
            KVH,
            limits=(0, 2.1),
            prefix="means-",
        ),
        *over_users(
            "skew_ratio",
            "Figure 5: R of KVH, over that without a shift",
            _SHIFTED,
            KVH,
            limits=(0, 1.3),
            prefix="means-",
        ),
    ),
    statements=(
        "MEAN20 section 6, figure 4: the difference in R from the homogeneous case with the "
        "trusted users' variance does not vary by more than 0.1, and typically varies by less than "
        "0.01.",
        "MEAN20 section 6, figure 5: a clear negative impact on R as the means diverge.",
    ),
    limits=(
        "Errors depend on the difference of the means alone, so that one direction of the shift "
        "stands for both.",
    ),
    item_word="data",
    outcome=_conclude_heterogeneous,
)
