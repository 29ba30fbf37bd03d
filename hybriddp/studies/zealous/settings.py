"""What one run of a study of ZEALOUS is: its setting, and the seed that follows from it."""

import math
from dataclasses import asdict, dataclass

import numpy as np

from hybriddp.errors import require_one_of
from hybriddp.params import Budget
from hybriddp.planning.populations import study_rng
from hybriddp.studies.blender.settings import derived_seed
from hybriddp.zealous.events import PROBABILISTIC, RELAXATIONS
from hybriddp.zealous.item_kinds import ITEM_KINDS, QUERIES
from hybriddp.zealous.mechanism import ZealousMechanism

# The log of ZEAL section 7, the same at a fifth, and the town in which attackers live.
ZEAL_SIZE, FIFTH, TOWN = "zeal-500k", "zeal-100k", "town"
LOG_SIZES = {ZEAL_SIZE: (500_000, 1_600_000), FIFTH: (100_000, 320_000)}  # users, size of world
QUICK_SIZE = (10_000, 32_000)

# Who publishes: nobody protects the raw log, and nobody is really protected by k-anonymity.
RAW, ZEALOUS, BLENDER, ZEALOUS_OPTIN = "raw", "zealous", "blender", "zealous-optin"
K_QUERY, K_SESSION, K_KEYWORD = "k-query", "k-session", "k-keyword"
ZEALOUS_METHODS = (RAW, ZEALOUS, ZEALOUS_OPTIN, BLENDER, K_QUERY, K_SESSION, K_KEYWORD)

# What is measured.
CONTRIBUTIONS, DIFFERENCES, DISTRIBUTION = "contributions", "differences", "distribution"
CACHING, SUBSTITUTION, RECORDS = "caching", "substitution", "records"
ACTIVE, HOMOGENEITY = "active", "homogeneity"
ZEALOUS_KINDS = (
    CONTRIBUTIONS, DIFFERENCES, DISTRIBUTION, CACHING, SUBSTITUTION, RECORDS, ACTIVE, HOMOGENEITY,
)  # fmt: skip

NO_PROMISE = math.inf  # the epsilon of whatever is not differentially private


@dataclass(frozen=True, slots=True, kw_only=True)
class ZealousSetting:
    """Everything that decides a run, but the seed; what does not matter keeps its default."""

    population: str
    kind: str
    method: str = ZEALOUS
    item_kind: str = QUERIES
    items_per_user: int = 1  # ZEAL's m
    epsilon: float = NO_PROMISE  # of each histogram
    delta: float = 0.001  # ZEAL section 7, "Privacy Parameters": in all experiments
    relaxation: str = PROBABILISTIC
    min_users: int = 1  # ZEAL's k
    optin_fraction: float = 1.0
    is_quick: bool = False

    def __post_init__(self) -> None:
        # 4 and 4.0 are one setting and must have one seed.
        for name in ("epsilon", "delta", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, known in (
            ("population", (*LOG_SIZES, TOWN)),
            ("kind", ZEALOUS_KINDS),
            ("method", ZEALOUS_METHODS),
            ("item_kind", ITEM_KINDS),
            ("relaxation", RELAXATIONS),
        ):
            require_one_of(getattr(self, name), name, known)

    @property
    def budget(self) -> Budget:
        """What is promised for each histogram."""
        return Budget(self.epsilon, self.delta)

    def mechanism(self, n_users: int) -> ZealousMechanism:
        """Return the ZEALOUS of this setting for a log of so many users."""
        return ZealousMechanism.for_budget(
            self.budget, self.relaxation, self.items_per_user, n_users
        )

    def rng(self, study: str, seed: int) -> np.random.Generator:
        """Return the generator of one run: it depends on study, setting and seed only."""
        return study_rng(derived_seed(study, asdict(self), seed))
