"""Figures 4 and 5 of ZEAL as a study: are counts preserved?"""

from dataclasses import replace

from hybriddp.studies.zealous.runs import WHOLE
from hybriddp.studies.zealous.settings import (
    DIFFERENCES,
    DISTRIBUTION,
    K_QUERY,
    RAW,
    ZEAL_SIZE,
    ZEALOUS,
    ZealousSetting,
)
from tasks.studies.model import Plot, Series, Study, Sweep
from tasks.studies.zealous.summary import Summary, found, shown
from tasks.studies.zealous.sweeps import (
    ANONYMOUS_KINDS,
    EPSILONS,
    KIND_TITLES,
    NOT_PRIVATE,
    raw_level,
    with_crowds,
)

_COUNTS = ZealousSetting(population=ZEAL_SIZE, kind=DISTRIBUTION)
_DIFFERENCES = ZealousSetting(population=ZEAL_SIZE, kind=DIFFERENCES)


def _conclude_counts(summary: Summary) -> str:
    parts = []
    for kind in ANONYMOUS_KINDS:
        of_kind = {"item_kind": kind, "kind": DIFFERENCES, "part": WHOLE}
        ours = found(summary, "count_difference", epsilon=10, method=ZEALOUS, **of_kind)
        crowd = found(summary, "count_difference", min_users=100, method=K_QUERY, **of_kind)
        parts.append(f"{kind} {shown(ours, '.2f')} and {shown(crowd, '.2f')}")
    return f"Average difference at epsilon 10 and at k = 100: {', '.join(parts)}."


counts = Study(
    name="zealous-counts",
    title="ZEALOUS: are counts preserved?",
    figures=("ZEAL figure 4", "ZEAL figure 5"),
    question="How are counts distributed, and how far are they from the original ones?",
    reading="Figure 4: epsilon 5 and m = 1 beside a 10-query-anonymous log, whose thresholds "
    "are alike; each point is the number of items per count, in bins of an eighth of a decade. "
    "Figure 5: published counts are scaled up to the original total, and the absolute difference "
    f"is averaged over all items of the original, m = 1. {NOT_PRIVATE}",
    sweeps=(
        *(
            Sweep(
                f"{kind}-counts",
                title,
                replace(_COUNTS, item_kind=kind),
                "epsilon",
                (5,),
                (ZEALOUS,),
            )
            for kind, title in KIND_TITLES.items()
        ),
        *(
            raw_level(f"{kind}-raw", replace(_COUNTS, item_kind=kind), f"{kind}-counts")
            for kind in KIND_TITLES
        ),
        *(
            Sweep(
                f"{kind}-ten",
                "10-query anonymous",
                replace(_COUNTS, item_kind=kind),
                "min_users",
                (10,),
                (K_QUERY,),
                panel=f"{kind}-counts",
            )
            for kind in ANONYMOUS_KINDS
        ),
        *(
            Sweep(
                kind, title, replace(_DIFFERENCES, item_kind=kind), "epsilon", EPSILONS, (ZEALOUS,)
            )
            for kind, title in KIND_TITLES.items()
        ),
        *(
            with_crowds(f"{kind}-k", replace(_DIFFERENCES, item_kind=kind), kind)
            for kind in ANONYMOUS_KINDS
        ),
    ),
    plots=(
        Plot(
            "figure-4",
            "Figure 4: distribution of counts",
            "items_of_count",
            tuple(f"{kind}-{what}" for what in ("counts", "raw") for kind in KIND_TITLES)
            + tuple(f"{kind}-ten" for kind in ANONYMOUS_KINDS),
            (
                Series(RAW, label="original log"),
                Series(ZEALOUS, label="ZEALOUS, epsilon 5"),
                Series(K_QUERY, label="10-query anonymous"),
            ),
            is_logarithmic=True,
            is_over_parts=True,
            parts_label="count (users)",
        ),
        Plot(
            "figure-5",
            "Figure 5: average difference of counts",
            "count_difference",
            (*KIND_TITLES, *(f"{kind}-k" for kind in ANONYMOUS_KINDS)),
            (
                Series(ZEALOUS, WHOLE, "ZEALOUS, by epsilon (below)"),
                Series(K_QUERY, WHOLE, "k-anonymous, by k (above)"),
            ),
        ),
    ),
    statements=(
        "ZEAL section 8.1: the power law is well preserved; total frequencies are lower.",
        "ZEAL section 8.1: for keywords ZEALOUS is more accurate than any k for epsilon > 2; for "
        "queries k = 60 and epsilon 6 are about alike; for pairs k-anonymity is better.",
    ),
    limits=(
        "ZEAL does not say whether items that are missing count in the average; ours do, with "
        "their whole count, because it says that the measure takes coverage into account.",
    ),
    outcome=_conclude_counts,
)
