"""The figures and tables of the papers' evaluations as studies (JPC19 section 4, SEC17 section 4).

Only numbers and statements that stand in the papers' texts are here. Most of their plots have no
printed values, and nothing was read off an image.
"""

from dataclasses import replace

from hybriddp.params import HIGH_UTILITY, PAPER
from hybriddp.studies.blender.settings import PREFIXES, TOP_QUERIES
from tasks.studies.blender.figures_groups import (
    EPSILONS,
    GROUPS,
    SIZE_LIMIT,
    YANDEX_SHARES,
    group_contributions,
    tiny_optin,
)
from tasks.studies.blender.published import FIGURE_9
from tasks.studies.model import (
    AOL_DEFAULTS,
    HIGH_UTILITY_SERIES,
    PAPER_SERIES,
    YANDEX_DEFAULTS,
    Plot,
    Published,
    Series,
    Study,
    Sweep,
)

_SHARES = tuple(x / 200 for x in range(2, 21))  # 1 % to 10 % in steps of a half

_top_queries = Study(
    name="top-queries",
    title="Estimates of the most popular queries",
    figures=("JPC19 figure 9", "SEC17 figure 9"),
    question="Which probabilities do the groups give to the first nine queries, and the blend?",
    reading="Each row is the mean over all seeds, where the papers show one run. Summing the "
    "clients' records over the urls gives their query estimate again, as in JPC19; the very "
    "different sums of SEC17 come from its wrong formula.",
    sweeps=(
        Sweep(
            "top",
            "AOL-like, M = 50",
            replace(AOL_DEFAULTS, kind=TOP_QUERIES),
            "epsilon",
            (3, 4),
        ),
    ),
    plots=(
        Plot(
            "errors",
            "Error of each query's probability",
            "abs_error",
            ("top",),
            is_over_parts=True,
        ),
    ),
    published=FIGURE_9,
    statements=(
        "JPC19 section 4.2: the published numbers are similar to the true ones, with one "
        "estimate out of order.",
    ),
)

_budget_split = Study(
    name="budget-split",
    title="How a client splits its budget between query and url (f_C)",
    figures=("JPC19 figure 10", "SEC17 figure 11"),
    question="Which share of a client's budget should its query get?",
    reading="More budget for the query lowers the L1 of queries; the urls pay for it. Strategy "
    "high-utility reports in one stage and has no such split: its line is flat but for noise.",
    sweeps=(
        Sweep(
            "split",
            "AOL-like, M = 50",
            AOL_DEFAULTS,
            "query_budget_fraction",
            tuple(x / 100 for x in range(55, 100, 5)),
        ),
    ),
    plots=(
        Plot("l1", "L1 by budget split", "l1_queries", ("split",), GROUPS),
        Plot("ndcg", "NDCG by budget split", "ndcg_of_ndcgs", ("split",), GROUPS),
    ),
    published=(
        Published(
            "split", 0.85, "ndcg_of_ndcgs", 0.990157725, "JPC19 figure 10b, the only label in it"
        ),
    ),
    statements=(
        "JPC19 section 4.3.1: the L1 of clients and blend falls with the query's share; the "
        "clients' NDCG peaks at 0.85, and the blended NDCG drops significantly above it.",
        "SEC17 section 4.2.1: the blended NDCG is nearly that of the opt-in group and hardly "
        "depends on the split.",
    ),
)

_defaults = Study(
    name="defaults",
    title="The papers' default parameters",
    figures=("JPC19 figure 8", "JPC19 figure 11", "SEC17 figure 8", "SEC17 figure 10"),
    question="How good is a release at the parameters that the papers settle on?",
    reading="Epsilon 4, f_O 0.95, f_C 0.85, one record a user; AOL: delta 1e-5, 5 % opt-in users, "
    "M = 50; Yandex: delta 1e-7, M = 500, 3 % opt-in users in JPC19 and 2.5 % in SEC17.",
    sweeps=(
        Sweep("aol", "AOL-like, M = 50", AOL_DEFAULTS, "optin_fraction", (0.05,)),
        Sweep("yandex", "Yandex-like, M = 500", YANDEX_DEFAULTS, "optin_fraction", (0.025, 0.03)),
    ),
    plots=(
        Plot("l1", "L1 of records at the defaults", "l1_records", ("aol", "yandex")),
        Plot("ndcg", "NDCG at the defaults", "ndcg_of_ndcgs", ("aol", "yandex")),
    ),
    statements=(
        "JPC19 figure 8: AOL has 4,811,646 queries, 519,371 clients, 1,620,064 urls; Yandex "
        "13,171,961 queries, 4,970,073 clients, 12,702,350 urls. The synthetic populations have "
        "these very numbers of queries, users and urls to draw from.",
    ),
    limits=SIZE_LIMIT,
)

_prior_work = Study(
    name="prior-work",
    title="Against a local protocol that finds its own list",
    figures=("JPC19 figure 12", "SEC17 figure 12"),
    question="What do a few trusting users buy, compared with trusting nobody?",
    reading="The local protocol extends prefixes of hashed query ids (PEM), with all users as "
    "reporters; it stands in for Qin et al. (CCS 2016), whose code and data are not at hand. It "
    "names queries only, so the plot of all three is the NDCG of queries.",
    sweeps=(
        Sweep(
            "epsilon",
            "AOL-like, M = 10",
            replace(AOL_DEFAULTS, max_head_size=10),
            "epsilon",
            (1, 2, 3, 4, 5),
            methods=(PAPER, HIGH_UTILITY, PREFIXES),
        ),
    ),
    plots=(
        Plot(
            "ndcg-queries",
            "NDCG of queries by epsilon",
            "ndcg_queries",
            ("epsilon",),
            (PAPER_SERIES, HIGH_UTILITY_SERIES, Series(PREFIXES, label="local, finds its list")),
        ),
        Plot("ndcg", "NDCG of NDCGs by epsilon", "ndcg_of_ndcgs", ("epsilon",)),
    ),
    published=tuple(
        Published("epsilon", x, "ndcg_of_ndcgs", value, "JPC19 figure 12, Blender")
        for x, value in enumerate((0.974, 0.980, 0.984, 0.987, 0.990), start=1)
    ),
    statements=(
        "JPC19 figure 12 also prints five values of Qin et al.: 0.175, 0.295, 0.315, 0.360 and "
        "0.385. Which epsilon each belongs to was lost in our copy of the text, so they are not "
        "plotted; their NDCG scores ranks, not probabilities, and is not comparable as it is.",
        "JPC19 section 4.3.2: the NDCG is above 95 % throughout; that of Qin et al. is in the "
        "30 % range at best.",
    ),
)

_optin_share = Study(
    name="optin-share",
    title="How many users must opt in",
    figures=("JPC19 figure 13", "JPC19 figure 15", "SEC17 figure 13", "SEC17 figure 14"),
    question="How do L1 (figure 13) and NDCG (figure 15) depend on the share of opt-in users?",
    reading="More opt-in users find a longer list, and measure it better.",
    sweeps=(
        Sweep(
            "aol",
            "AOL-like",
            AOL_DEFAULTS,
            "optin_fraction",
            _SHARES,
            line="max_head_size",
            lines=(10, 25, 50),
        ),
        Sweep(
            "yandex",
            "Yandex-like",
            YANDEX_DEFAULTS,
            "optin_fraction",
            YANDEX_SHARES,
            line="max_head_size",
            lines=(10, 50, 100, 500),
        ),
    ),
    plots=(
        Plot("figure-13-l1", "L1 by share of opt-in users", "l1_queries", ("aol", "yandex")),
        Plot("figure-15-ndcg", "NDCG by share of opt-in users", "ndcg_of_ndcgs", ("aol", "yandex")),
        Plot("list-size", "Queries found", "n_queries", ("aol", "yandex"), is_logarithmic=True),
    ),
    statements=(
        "JPC19 figure 13: AOL's line for M = 50 begins at 5 % (SEC17: at 4.5 %), for a list of 50 "
        "is not found with fewer opt-in users.",
        "JPC19 section 4.3.3: AOL needs about 5 % opt-in users for an NDCG above 95 %; Yandex is "
        "above 95 % at 1 % for all but the largest list (SEC17: at 1.5 %).",
        "JPC19: 3 % of Yandex's users are enough for lists of 500 (SEC17: 2.5 %).",
    ),
    limits=SIZE_LIMIT,
)

_epsilon = Study(
    name="epsilon",
    title="How much privacy costs",
    figures=("JPC19 figure 14", "JPC19 figure 16", "SEC17 figure 15", "SEC17 figure 16"),
    question="How do L1 (figure 14) and NDCG (figure 16) depend on epsilon?",
    reading="A larger epsilon promises less and tells more.",
    sweeps=(
        Sweep(
            "aol",
            "AOL-like, 5 % opt-in",
            AOL_DEFAULTS,
            "epsilon",
            EPSILONS,
            line="max_head_size",
            lines=(10, 25, 50),
        ),
        Sweep(
            "yandex",
            "Yandex-like, 3 % opt-in",
            YANDEX_DEFAULTS,
            "epsilon",
            EPSILONS,
            line="max_head_size",
            lines=(10, 50, 100, 500),
        ),
    ),
    plots=(
        Plot("figure-14-l1", "L1 by epsilon", "l1_queries", ("aol", "yandex")),
        Plot("figure-16-ndcg", "NDCG by epsilon", "ndcg_of_ndcgs", ("aol", "yandex")),
        Plot("list-size", "Queries found", "n_queries", ("aol", "yandex"), is_logarithmic=True),
    ),
    statements=(
        "JPC19 section 4.3.3: L1 falls steadily with epsilon for both logs; Yandex's is under 0.1 "
        "from epsilon 1 on.",
        "JPC19: Yandex reaches an NDCG of 95 % at epsilon 1 for all but the two largest lists.",
        "SEC17 section 4.2.3: AOL's line for M = 50 begins at epsilon 3.",
    ),
    limits=SIZE_LIMIT,
)

FIGURE_STUDIES = (
    _top_queries, _budget_split, _defaults, _prior_work, _optin_share, _epsilon,
    group_contributions, tiny_optin,
)  # fmt: skip
