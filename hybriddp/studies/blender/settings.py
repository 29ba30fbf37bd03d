"""What one run of a study is: its setting, and the seed that follows from it."""

import hashlib
import json
from dataclasses import asdict, dataclass

from hybriddp.errors import require, require_one_of
from hybriddp.params import HIGH_UTILITY, PAPER, BlenderParams
from hybriddp.planning.profiles import POPULATIONS
from hybriddp.studies.blender.local_baselines import ORACLES

SUBSET, PREFIXES = "subset", "prefixes"
LOCAL_METHODS = (*ORACLES, SUBSET, PREFIXES)
METHODS = (PAPER, HIGH_UTILITY, *LOCAL_METHODS)

# What is measured: how good the whole list is, the estimates of the first queries, intervals and
# distance from the floor, or what the cross-check finds.
UTILITY, TOP_QUERIES = "utility", "top-queries"
CALIBRATION, AGREEMENT = "calibration", "agreement"
# The whole list, and the queries that both strategies list.
COMMON = "common"

# Populations in which people have many records each, of which strategy high-utility uses five.
MANY = "-many"
STUDY_POPULATIONS = (*POPULATIONS, f"aol-like{MANY}")
_MANY_RECORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything that decides a run, but the seed."""

    population: str
    delta: float
    optin_fraction: float
    max_head_size: int
    epsilon: float = 4.0
    headlist_user_fraction: float = 0.95
    query_budget_fraction: float = 0.85
    method: str = PAPER
    kind: str = UTILITY
    plant: str = ""
    is_quick: bool = False

    def __post_init__(self) -> None:
        # 4 and 4.0 are one setting and must have one seed.
        for name in ("delta", "optin_fraction", "epsilon", "headlist_user_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "query_budget_fraction", float(self.query_budget_fraction))
        for name, known in (("population", STUDY_POPULATIONS), ("method", METHODS)):
            require_one_of(getattr(self, name), name, known)
        require(
            0 < self.optin_fraction < 1,
            "optin_fraction must be strictly between 0 and 1",
            self.optin_fraction,
            "the hybrid model needs both groups",
        )

    def params(self, strategy: str) -> BlenderParams:
        """Return the parameters of a release in this setting."""
        has_many = strategy == HIGH_UTILITY and self.population.endswith(MANY)
        return BlenderParams(
            self.epsilon,
            self.delta,
            strategy=strategy,
            max_head_size=self.max_head_size,
            headlist_user_fraction=self.headlist_user_fraction,
            query_budget_fraction=self.query_budget_fraction,
            max_records_optin=_MANY_RECORDS if has_many else 1,
        )


def derived_seed(*parts: object) -> int:
    """Return a seed of 128 bits that depends on all parts, and on nothing else.

    So a run draws the same numbers whichever worker does it, and whatever ran before.
    """
    text = json.dumps(parts, sort_keys=True, default=_as_fields)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def _as_fields(part: object) -> object:
    require(isinstance(part, Setting), "parts must be settings, text or numbers", type(part), "fix")
    return asdict(part)  # type: ignore[call-overload]
