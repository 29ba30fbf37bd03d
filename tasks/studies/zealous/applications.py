"""Figures 6 to 8 of ZEAL as studies: what published histograms are good for."""

from hybriddp.studies.zealous.runs import WHOLE
from hybriddp.studies.zealous.settings import (
    CACHING,
    K_QUERY,
    RAW,
    SUBSTITUTION,
    ZEAL_SIZE,
    ZEALOUS,
    ZealousSetting,
)
from tasks.studies.model import Column, Plot, Published, Series, Study, Sweep
from tasks.studies.zealous.summary import Summary, found, shown
from tasks.studies.zealous.sweeps import EPSILONS, NOT_PRIVATE, raw_level, with_crowds

# ---- figure 6 ----

_CACHE = ZealousSetting(population=ZEAL_SIZE, kind=CACHING)


def _conclude_caching(summary: Summary) -> str:
    raw = found(summary, "hit_probability", method=RAW)
    ours = found(summary, "hit_probability", method=ZEALOUS, epsilon=10, items_per_user=1)
    crowd = found(summary, "hit_probability", method=K_QUERY, min_users=10)
    return (
        f"Hit probability {shown(ours, '.3f')} with ZEALOUS (epsilon 10, m = 1), "
        f"{shown(crowd, '.3f')} with k = 10, {shown(raw, '.3f')} with the raw log."
    )


caching = Study(
    name="zealous-caching",
    title="ZEALOUS: filling a cache of posting lists",
    figures=("ZEAL figure 6",),
    question="Which share of keyword look-ups does memory answer, if a histogram filled it?",
    reading="1 GB, 8 bytes a posting, lists cut at 200,000 documents; keywords by falling count "
    f"over documents. {NOT_PRIVATE}",
    sweeps=(
        Sweep("epsilon", "m = 1", _CACHE, "epsilon", EPSILONS, (ZEALOUS,)),
        with_crowds("crowd", _CACHE, "epsilon"),
        raw_level("raw", _CACHE, "epsilon"),
        Sweep(
            "m",
            "By m",
            _CACHE,
            "items_per_user",
            (1, 2, 4, 6, 10, 20, 40),
            (ZEALOUS,),
            line="epsilon",
            lines=(10, 5, 2),
        ),
        raw_level("raw-m", _CACHE, "m"),
    ),
    plots=(
        Plot(
            "figure-6a",
            "Figure 6a: hit probability by epsilon and k",
            "hit_probability",
            ("epsilon", "crowd", "raw"),
            (
                Series(ZEALOUS, WHOLE, "ZEALOUS, by epsilon (below)"),
                Series(K_QUERY, WHOLE, "k-anonymous, by k (above)"),
                Series(RAW, WHOLE, "raw log"),
            ),
        ),
        Plot(
            "figure-6b",
            "Figure 6b: hit probability by m",
            "hit_probability",
            ("m", "raw-m"),
            (Series(ZEALOUS, WHOLE, short="ZEALOUS"), Series(RAW, WHOLE, "raw log")),
        ),
    ),
    published=(
        Published("m", 1, "hit_probability", 0.33, "ZEAL section 8.2, less than", WHOLE),
        Published("m", 6, "hit_probability", 0.36, "ZEAL section 8.2, above", WHOLE),
    ),
    statements=(
        "ZEAL section 8.2: ZEALOUS is better than the k-anonymous log for a range of "
        "parameters, and neither suffers much from stronger parameters.",
        "ZEAL section 8.2: larger m are more accurate, until the hit probability falls again.",
    ),
    limits=(
        "How many documents hold a word is synthetic, and words of all frequencies share it.",
        "ZEAL names no epsilon for figure 6b.",
    ),
    columns=tuple(
        Column(f"ours, epsilon {epsilon}", (("epsilon", float(epsilon)), ("method", ZEALOUS)))
        for epsilon in (10, 5, 2)
    ),
    outcome=_conclude_caching,
)

# ---- figures 7 and 8 ----

_REPHRASED = ZealousSetting(population=ZEAL_SIZE, kind=SUBSTITUTION)


def _conclude_substitution(summary: Summary) -> str:
    top = {"part": "5"}
    values = [
        found(summary, measure, **top, **who)
        for who in (
            {"method": ZEALOUS, "epsilon": 10.0, "items_per_user": 1},
            {"method": K_QUERY, "min_users": 100},
        )
        for measure in ("ranking_ndcg", "ranking_coverage")
    ]
    ours, covered, crowd, crowd_covered = (shown(value, ".3f") for value in values)
    return (
        f"Top 5, ZEALOUS with epsilon 10 and m = 1: NDCG {ours}, coverage {covered}; k = 100: "
        f"{crowd} and {crowd_covered}."
    )


substitution = Study(
    name="zealous-substitution",
    title="ZEALOUS: substitutes for queries",
    figures=("ZEAL figure 7", "ZEAL figure 8"),
    question="How good are substitutes that are learned from published queries and pairs?",
    reading="For the 100,000 most frequent queries, against what the raw log teaches. NDCG, MAP, "
    "precision and recall are averages over queries for which something is found; coverage over "
    "those for which the raw log finds something. Epsilon is that of each of the two histograms: "
    f"publishing both costs twice as much. {NOT_PRIVATE}",
    sweeps=(
        Sweep("epsilon", "m = 1", _REPHRASED, "epsilon", EPSILONS, (ZEALOUS,)),
        with_crowds("crowd", _REPHRASED, "epsilon"),
        Sweep(
            "m",
            "By epsilon",
            _REPHRASED,
            "epsilon",
            EPSILONS,
            (ZEALOUS,),
            line="items_per_user",
            lines=(1, 6),
        ),
    ),
    plots=(
        *(
            Plot(
                f"figure-7-{name}",
                f"Figure 7{title}",
                f"ranking_{name}",
                ("epsilon", "crowd"),
                tuple(
                    Series(method, part, f"{who}, top {part}")
                    for method, who in (
                        (ZEALOUS, "ZEALOUS, by epsilon (below)"),
                        (K_QUERY, "k-anonymous, by k (above)"),
                    )
                    for part in ("2", "5")
                ),
                is_logarithmic=name == "coverage",
            )
            for name, title in (
                ("ndcg", "a: NDCG of substitutes"),
                ("map", "b: MAP of substitutes"),
                ("precision", "c: precision of substitutes"),
                ("recall", "d: recall of substitutes"),
                ("coverage", ", coverage, not in ZEAL"),
            )
        ),
        Plot(
            "figure-8",
            "Figure 8: coverage by epsilon",
            "ranking_coverage",
            ("m",),
            tuple(Series(ZEALOUS, part, short=f"top {part}") for part in ("2", "5")),
        ),
    ),
    statements=(
        "ZEAL section 8.3: epsilon and k hardly matter for the precision measures; ZEALOUS is "
        "comparable to k-anonymity on them, but its coverage is not good, because rare pairs "
        "that together make frequent phrase pairs are lost.",
        "ZEAL section 8.3: m = 6 covers less than m = 1.",
    ),
    limits=(
        "A pair counts as a rephrasing from a log-likelihood ratio of 40 on: one user's only pair "
        "of two rare queries has 2 + 2 ln(all pairs), 32 in the raw log, and two users' 61. So "
        "two people must agree, in a log of any size from 10,000 users on.",
        "MAP is average precision; the formula that is printed for it is not (docs/anonymity.md "
        "and hybriddp/studies/applications/ranking.py).",
    ),
    outcome=_conclude_substitution,
)
