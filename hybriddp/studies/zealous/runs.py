"""One run of a study of ZEALOUS: a setting on the log of a seed, measured against that log."""

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.studies.applications.index_caching import cached_keywords, hit_probability
from hybriddp.studies.applications.measures import Histogram, average_count_difference, top_measures
from hybriddp.studies.applications.ranking import compare_rankings
from hybriddp.studies.applications.substitution import Rankings, SubstitutionRules, substitutions
from hybriddp.studies.zealous.attacks import attack_rows
from hybriddp.studies.zealous.logs import StudyLog, draw_study_log
from hybriddp.studies.zealous.records import record_rows
from hybriddp.studies.zealous.settings import (
    ACTIVE,
    CACHING,
    CONTRIBUTIONS,
    DIFFERENCES,
    DISTRIBUTION,
    HOMOGENEITY,
    K_QUERY,
    RAW,
    RECORDS,
    TOWN,
    ZealousSetting,
)
from hybriddp.zealous.item_kinds import KEYWORDS, PAIRS, QUERIES
from hybriddp.zealous.mechanism import ZealousMechanism

# A row of results: measures by name, None where there is none, and the `part` that they are of.
Row = dict[str, float | str | None]

WHOLE = "all"  # the part that is the whole publication; others are its top j, or counts of c
TOP_SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)  # ZEAL's j
RANKING_LENGTHS = (2, 5)  # ZEAL figure 7
N_TARGETS = 100_000  # ZEAL section 8.3: the most frequent queries of the original log

# A pair of two users who alone asked both queries has a ratio of about 4 + 4 ln(all pairs / 2),
# 61 among the 3.5 million pairs of the largest log, and a pair of one user 32. So this is the least
# that two people must agree on, in any log of ZEAL's size or below.
RULES = SubstitutionRules(least_ratio=40.0)

_BINS_PER_DECADE = 8


def run_zealous(study: str, setting: ZealousSetting, seed: int, log: StudyLog | None) -> list[Row]:
    """Run a setting once; one row for each part that is measured.

    The same study, setting and seed give the same rows. Attacks need no log.
    """
    rng = setting.rng(study, seed)
    if setting.kind in (ACTIVE, HOMOGENEITY):
        return [{"part": WHOLE, **attack_rows(setting, rng=rng)}]
    assert log is not None, "only attacks bring their own log"
    if setting.kind == RECORDS:
        return record_rows(setting, log, rng=rng)
    measure = {
        CONTRIBUTIONS: _contributions,
        DIFFERENCES: _differences,
        DISTRIBUTION: _distribution,
        CACHING: _caching,
    }.get(setting.kind, _substitution)
    return measure(setting, log, rng)


def draw_log_of(population: str, seed: int, *, is_quick: bool) -> StudyLog | None:
    """Draw the log that the settings of this seed share, if the population has one."""
    return None if population == TOWN else draw_study_log(population, seed, is_quick=is_quick)


def published(
    setting: ZealousSetting, kind: str, log: StudyLog, *, rng: np.random.Generator
) -> Histogram:
    """Return the histogram of one kind that the setting's method publishes.

    Privacy claim: none; synthetic data.
    """
    if setting.method == RAW:
        return log.original(kind)
    if setting.method == K_QUERY:
        return log.anonymous(setting.min_users)[kind]
    given = log.items(kind).histogram(setting.items_per_user)
    return publish(setting.mechanism(log.n_users), given, rng=rng)


def publish(
    mechanism: ZealousMechanism, given: Histogram, *, rng: np.random.Generator
) -> Histogram:
    """Simulate ZEALOUS steps 3 to 6 on what users give.

    Privacy claim: none; synthetic data.
    """
    named = mechanism.simulate(given.counts, rng=rng)
    return Histogram(given.items[named.is_named], named.noisy_counts)


def _contributions(setting: ZealousSetting, log: StudyLog, rng: np.random.Generator) -> list[Row]:
    """Measure tables 3 and 4, and for figures 2 and 3 the most frequent items."""
    kind = setting.item_kind
    original, shown = log.original(kind), published(setting, kind, log, rng=rng)
    whole: Row = {
        "part": WHOLE,
        "n_distinct": float(len(shown)),
        "total_thousands": shown.total / 1_000,
        "items_each": len(log.items(kind).items) / log.n_users,
        "original_thousands": len(original) / 1_000,
        "second_threshold": float(setting.mechanism(log.n_users).threshold),
    }
    # The measures read these items only, and sorting all of them for each would take longest.
    top = log.once(("top", kind), lambda: _head(original, max(TOP_SIZES)))
    rows = [whole]
    for size in TOP_SIZES:
        if size > len(original):
            continue  # ZEAL section 7.2: never more than there are
        measured = top_measures(top, shown, size)
        rows.append(
            {
                "part": str(size),
                "average_l1": measured.average_l1,
                "kl_divergence": measured.kl_divergence,
                "n_missing": float(measured.n_missing),
                "missing": 1 - measured.coverage,
            }
        )
    return rows


def _head(histogram: Histogram, n_items: int) -> Histogram:
    items = np.sort(histogram.top(n_items))
    return Histogram(items, histogram.counts_of(items))


def _differences(setting: ZealousSetting, log: StudyLog, rng: np.random.Generator) -> list[Row]:
    """Measure the average count difference (ZEAL figure 5)."""
    kind = setting.item_kind
    original, shown = log.original(kind), published(setting, kind, log, rng=rng)
    return [
        {
            "part": WHOLE,
            "count_difference": average_count_difference(original, shown),
            "n_distinct": float(len(shown)),
            "total_thousands": shown.total / 1_000,
        }
    ]


def _distribution(setting: ZealousSetting, log: StudyLog, rng: np.random.Generator) -> list[Row]:
    """Count the items of each count, in bins of equal width on a logarithmic axis (figure 4)."""
    counts = published(setting, setting.item_kind, log, rng=rng).counts
    edges = _bin_edges(int(log.original(setting.item_kind).counts.max()))
    n_items, _ = np.histogram(counts, edges)
    widths = np.diff(edges)
    centres = np.sqrt(edges[:-1] * (edges[1:] - 1.0)).astype(np.int64)
    return [
        {"part": str(count), "items_of_count": float(n / width)}
        for count, n, width in zip(centres, n_items, widths, strict=True)
    ]


def _bin_edges(most: int) -> IntArray:
    """Return whole edges from 1 on, each bin of one count at least, so far that `most` fits in."""
    n_steps = int(np.ceil(_BINS_PER_DECADE * np.log10(2 * most + 10))) + 1
    edges = np.round(10.0 ** (np.arange(n_steps + 1) / _BINS_PER_DECADE)).astype(np.int64)
    return np.unique(edges)


def _caching(setting: ZealousSetting, log: StudyLog, rng: np.random.Generator) -> list[Row]:
    """Measure which share of look-ups a cache answers that was filled by what is published."""
    shown = published(setting, KEYWORDS, log, rng=rng)
    cached = cached_keywords(shown, log.world.document_counts)
    hits = hit_probability(log.original(KEYWORDS), cached)
    return [{"part": WHOLE, "hit_probability": hits, "n_cached": float(len(cached))}]


def _substitution(setting: ZealousSetting, log: StudyLog, rng: np.random.Generator) -> list[Row]:
    """Compare the substitutes learned from what is published with those of the raw log."""
    targets = log.once("targets", lambda: np.sort(log.original(QUERIES).top(N_TARGETS)))
    raw = log.once(
        "substitutes", lambda: _rank(log, targets, log.original(QUERIES), log.original(PAIRS))
    )
    queries, pairs = (published(setting, kind, log, rng=rng) for kind in (QUERIES, PAIRS))
    shown = _rank(log, targets, queries, pairs)
    rows: list[Row] = []
    for length in RANKING_LENGTHS:
        quality = compare_rankings(raw.top(length), shown.top(length)).averaged()
        measured = {
            "ranking_ndcg": quality.ndcg,
            "ranking_map": quality.average_precision,
            "ranking_precision": quality.precision,
            "ranking_recall": quality.recall,
            "ranking_coverage": quality.coverage,
            "ranking_answered": quality.answered,
            "n_pairs": float(len(pairs)),
        }
        # An average over no query is none.
        present = {name: None if np.isnan(x) else x for name, x in measured.items()}
        rows.append({"part": str(length), **present})
    return rows


def _rank(log: StudyLog, targets: IntArray, queries: Histogram, pairs: Histogram) -> Rankings:
    return substitutions(targets, queries, pairs, log.log.words, max(RANKING_LENGTHS), RULES)
