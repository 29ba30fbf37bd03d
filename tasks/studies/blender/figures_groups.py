"""Figures 17 to 19 of JPC19: what each group contributes, also when few opt in."""

from dataclasses import replace

from hybriddp.params import PAPER
from hybriddp.studies.blender.runs import CLIENT_PART, OPTIN_PART
from tasks.studies.model import HIGH_UTILITY_SERIES, YANDEX_DEFAULTS, Plot, Series, Study, Sweep

YANDEX_SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)
EPSILONS = (1, 2, 3, 4, 5, 6)
_TINY_SHARES = tuple(x / 1000 for x in range(1, 11))
_YANDEX_100 = replace(YANDEX_DEFAULTS, max_head_size=100)
_YANDEX_10 = replace(YANDEX_DEFAULTS, max_head_size=10)

GROUPS = (
    Series(PAPER, label="paper, blended"),
    Series(PAPER, OPTIN_PART, "paper, opt-in group alone"),
    Series(PAPER, CLIENT_PART, "paper, clients alone"),
    HIGH_UTILITY_SERIES,
)
SIZE_LIMIT = (
    "The papers leave points out whose list was shorter than wanted; here their markers are "
    "hollow. Where no list was found at all there is no L1.",
    "The populations are synthetic. They have the published head of AOL's log; Yandex's has the "
    "same shape, and a list of 500 queries is not reached at 3 % opt-in users as it was there.",
)

group_contributions = Study(
    name="group-contributions",
    title="What each group contributes",
    figures=("JPC19 figure 17",),
    question="Does the small quiet group or the large noisy one decide the blend?",
    reading="Each group alone beside the blend, Yandex-like, M = 100.",
    sweeps=(
        Sweep("share", "Yandex-like, epsilon 4", _YANDEX_100, "optin_fraction", YANDEX_SHARES),
        Sweep("epsilon", "Yandex-like, 3 % opt-in", _YANDEX_100, "epsilon", EPSILONS),
    ),
    plots=(
        Plot("l1", "L1 of each group (17a, 17c)", "l1_queries", ("share", "epsilon"), GROUPS),
        Plot(
            "ndcg", "NDCG of each group (17b, 17d)", "ndcg_of_ndcgs", ("share", "epsilon"), GROUPS
        ),
    ),
    statements=(
        "JPC19 section 4.3.3: the blend is never worse than the worse group, and its L1 is better "
        "than both groups'; with more opt-in users their results improve and the clients' decline.",
    ),
    limits=("Each group's estimates are projected on the simplex, as if published alone.",),
)

tiny_optin = Study(
    name="tiny-optin",
    title="When the opt-in group is tiny",
    figures=("JPC19 figure 18", "JPC19 figure 19"),
    question="What is left with 0.1 % to 1 % opt-in users, and who contributes it?",
    reading="A long list cannot be found by few people, but what is found is estimated well: the "
    "blend leans on the clients.",
    sweeps=(
        Sweep(
            "sizes",
            "Yandex-like",
            _YANDEX_10,
            "optin_fraction",
            _TINY_SHARES,
            line="max_head_size",
            lines=(10, 25, 50),
        ),
        Sweep("groups", "Yandex-like, M = 10", _YANDEX_10, "optin_fraction", _TINY_SHARES),
    ),
    plots=(
        Plot("figure-18-l1", "L1 with few opt-in users", "l1_queries", ("sizes",)),
        Plot("figure-18-ndcg", "NDCG with few opt-in users", "ndcg_of_ndcgs", ("sizes",)),
        Plot(
            "figure-19-l1",
            "L1 of each group",
            "l1_queries",
            ("groups",),
            GROUPS,
            is_logarithmic=True,
        ),
        Plot("figure-19-ndcg", "NDCG of each group", "ndcg_of_ndcgs", ("groups",), GROUPS),
    ),
    statements=(
        "JPC19 section 4.3.3: once a list size is reached, estimating it is the easier task; the "
        "opt-in group's estimates have much lower utility than the clients', and the blend "
        "weighs them accordingly.",
    ),
    limits=(
        *SIZE_LIMIT,
        "The text does not say which list sizes figure 18 shows; 10, 25 and 50 are ours.",
    ),
)
