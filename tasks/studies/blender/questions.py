"""Our own studies: what the papers only mention, and every alternative at equal privacy."""

from dataclasses import replace

from hybriddp.params import HIGH_UTILITY
from hybriddp.studies.blender.local_baselines import K_RR, OLH, OUE
from hybriddp.studies.blender.runs import CLIENT_PART, OPTIN_PART
from hybriddp.studies.blender.settings import METHODS, PREFIXES, SUBSET, Setting
from tasks.studies.model import (
    AOL_DEFAULTS,
    HIGH_UTILITY_SERIES,
    MEASURES,
    PAPER_SERIES,
    YANDEX_DEFAULTS,
    Plot,
    Series,
    Study,
    Sweep,
)

_YANDEX_100 = replace(YANDEX_DEFAULTS, max_head_size=100)
_BOTH = ("aol", "yandex")


def _two_sweeps(
    x: str, aol: tuple[float, ...], yandex: tuple[float, ...], base: Setting = _YANDEX_100
) -> tuple[Sweep, ...]:
    return (
        Sweep("aol", _title("AOL-like", x, 50), AOL_DEFAULTS, x, aol),
        Sweep("yandex", _title("Yandex-like", x, base.max_head_size), base, x, yandex),
    )


def _title(population: str, x: str, size: int) -> str:
    return population if x == "max_head_size" else f"{population}, M = {size}"


def _three_plots(title: str) -> tuple[Plot, ...]:
    return (
        Plot("l1-records", f"L1 of records by {title}", "l1_records", _BOTH),
        Plot("l1-queries", f"L1 of queries by {title}", "l1_queries", _BOTH),
        Plot("ndcg", f"NDCG by {title}", "ndcg_of_ndcgs", _BOTH),
        Plot("list-size", f"Queries found by {title}", "n_queries", _BOTH),
    )


_HEADLIST_SPLIT = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
_headlist_split = Study(
    name="optin-split",
    title="How many opt-in users find the list, and how many measure it (f_O)",
    question="Which share of the opt-in users should find the list?",
    reading="Those who find the list make it longer. In strategy paper they tell nothing else; "
    "in high-utility their noisy counts are kept, so few need to measure.",
    sweeps=_two_sweeps("headlist_user_fraction", _HEADLIST_SPLIT, _HEADLIST_SPLIT),
    plots=_three_plots("f_O"),
    statements=(
        "JPC19 section 4.3.1 chooses f_O = 0.95 by argument, without a figure.",
        "SEC17 section 4.2.1: above 95 % the list grows little, and a small group that measures "
        "gains much utility.",
    ),
)

_head_size = Study(
    name="head-size",
    title="How long a list to publish (M)",
    question="How does the error grow with the list?",
    reading="L1 adds up over the list, so it grows with M until no more queries are found.",
    sweeps=_two_sweeps("max_head_size", (5, 10, 25, 50, 75, 100), (10, 25, 50, 100, 250, 500)),
    plots=_three_plots("list size"),
    statements=(
        "JPC19 section 4.3.1: the larger M, the more useful the list and the less accurate the "
        "estimates; M = 50 for AOL and 500 for Yandex.",
    ),
)

_DELTAS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_delta = Study(
    name="delta",
    title="What delta costs",
    question="How much shorter does a smaller delta make the list?",
    reading="Delta decides the threshold that a record must pass to be named; the estimates "
    "hardly depend on it.",
    sweeps=_two_sweeps("delta", _DELTAS, _DELTAS, YANDEX_DEFAULTS),
    plots=_three_plots("delta"),
    statements=("The papers use 1e-5 for AOL and 1e-7 for Yandex and vary neither.",),
)

_METHOD_SERIES = (
    PAPER_SERIES,
    HIGH_UTILITY_SERIES,
    Series(HIGH_UTILITY, OPTIN_PART, "opt-in users only"),
    Series(HIGH_UTILITY, CLIENT_PART, "clients only, list from S"),
    Series(K_RR, label="all local, k-RR, list free"),
    Series(OUE, label="all local, OUE, list free"),
    Series(OLH, label="all local, OLH, list free"),
    Series(SUBSET, label="all local, subset, list free"),
)
_WITH_SEARCH = (*_METHOD_SERIES, Series(PREFIXES, label="all local, finds its list"))


def _comparison_plots(sweep: str, title: str) -> tuple[Plot, ...]:
    panels = (f"aol-{sweep}", f"yandex-{sweep}")
    return tuple(
        Plot(
            f"{sweep}-{name}",
            f"{words} by {title}",
            measure,
            panels,
            series,
            is_logarithmic=True,
            is_loss=MEASURES[measure].more_is_better,
        )
        for name, words, measure, series in (
            ("l1-records", "L1 of records", "l1_records", _METHOD_SERIES),
            ("l1-top", "L1 over the true top", "l1_top_queries", _WITH_SEARCH),
            ("ndcg-queries", "Missing NDCG of queries", "ndcg_queries", _WITH_SEARCH),
            ("ndcg", "Missing NDCG of NDCGs", "ndcg_of_ndcgs", _METHOD_SERIES),
        )
    )


_equal_privacy = Study(
    name="equal-privacy",
    title="Every alternative at equal privacy",
    question="Same users, same epsilon, same delta: who publishes the better list?",
    reading="Opt-in users only: what S and T say in strategy high-utility, published without "
    "clients. Clients only: their reports on the list that S found. All local: every user "
    "reports with the whole epsilon on the list of strategy paper, which these methods get for "
    "free though somebody had to be trusted to find it. The last one finds its list itself.",
    sweeps=tuple(
        Sweep(f"{short}-{name}", f"{title}{rest}", base, x, xs, METHODS)
        for short, title, base, sizes in (
            ("aol", "AOL-like", AOL_DEFAULTS, (10, 25, 50, 100)),
            ("yandex", "Yandex-like", _YANDEX_100, (10, 50, 100, 500)),
        )
        for name, x, xs, rest in (
            ("epsilon", "epsilon", (0.5, 1, 2, 4, 6), f", M = {base.max_head_size}"),
            (
                "share",
                "optin_fraction",
                (0.01, 0.025, 0.05, 0.1),
                f", M = {base.max_head_size}, epsilon 4",
            ),
            ("size", "max_head_size", sizes, ", epsilon 4"),
        )
    ),
    plots=(
        *_comparison_plots("epsilon", "epsilon"),
        *_comparison_plots("share", "share of opt-in users"),
        *_comparison_plots("size", "list size"),
    ),
    statements=(
        "JPC19 section 4.3.2 compares with Qin et al. (CCS 2016) only; see the study prior-work.",
    ),
    limits=(
        "The L1 of records is taken over each method's own list, as in the papers: a shorter list "
        "has less to be wrong about. The L1 over the true top counts what is missing with "
        "probability 0 and does not reward short lists.",
        "Opt-in users only: a query's probability is the sum of its listed urls.",
        "The prefix protocol reports 48-bit ids and no urls.",
    ),
)

QUESTION_STUDIES = (_headlist_split, _head_size, _delta, _equal_privacy)
