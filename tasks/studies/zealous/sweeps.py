"""What several studies of ZEALOUS sweep: epsilons, and beside them k and the raw log."""

from dataclasses import replace

from hybriddp.studies.zealous.settings import K_QUERY, NO_PROMISE, RAW, ZealousSetting
from hybriddp.zealous.item_kinds import CLICKS, KEYWORDS, PAIRS, QUERIES
from tasks.studies.model import Sweep

KIND_TITLES = {
    KEYWORDS: "Keywords",
    QUERIES: "Queries",
    PAIRS: "Query pairs",
    CLICKS: "Clicks",
}
# ZEAL section 8.1: a k-query anonymous log is not designed to publish clicks.
ANONYMOUS_KINDS = (KEYWORDS, QUERIES, PAIRS)
EPSILONS = (1, 2, 3, 4, 5, 6, 8, 10)
CROWDS = (10, 20, 40, 60, 80, 100)
NOT_PRIVATE = "K-anonymity protects nobody (docs/anonymity.md); it is drawn over k, above."


def with_crowds(name: str, base: ZealousSetting, panel: str) -> Sweep:
    """Return k-query anonymity over k, drawn into the panel of another sweep."""
    base = replace(base, epsilon=NO_PROMISE)
    return Sweep(name, "k-anonymous", base, "min_users", CROWDS, (K_QUERY,), panel=panel)


def raw_level(name: str, base: ZealousSetting, panel: str) -> Sweep:
    """Return what the raw log gives, drawn into the panel of another sweep."""
    return Sweep(name, "Raw log", base, "epsilon", (NO_PROMISE,), (RAW,), panel=panel)
