"""A local protocol that finds its own list: prefixes of ids, extended group by group (PEM).

Wang, Li, Jha: *Locally Differentially Private Heavy Hitter Identification* (2019). A baseline for
studies: what all users could publish if nobody trusted a curator. It stands in for Qin et al.
(2016), with which JPC19 figure 12 compares.

Each user is in one group and reports once, with the whole epsilon, through optimised local hashing:
group 1 the first bits of their query's id, the next groups more bits each, the last group all of
them. After each group only the most frequent prefixes are extended.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.studies.blender.local_baselines import OLH, FrequencyOracle

ID_BITS = 48
# Candidates that a server counts in one round: 2^16.
_CANDIDATE_BITS = 16
_MASK = np.uint64((1 << ID_BITS) - 1)
_FACTOR = 0x9E3779B97F4B  # odd, so multiplication modulo 2^48 can be undone
_HALF = np.uint64(ID_BITS // 2)

Ids = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class FoundQueries:
    """The queries that were found, most frequent first, and their estimated probabilities."""

    query_ids: IntArray
    probabilities: FloatArray


def scramble(query_ids: IntArray) -> Ids:
    """Give every query a 48-bit id that looks random; one to one.

    Populations number queries by rank, and prefixes of ranks would give the answer away.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    ids = np.asarray(query_ids).astype(np.uint64) & _MASK
    for _ in range(2):
        ids = (ids * np.uint64(_FACTOR)) & _MASK
        ids = ids ^ (ids >> _HALF)  # its own inverse, since the shift is half the width
    return ids


def unscramble(ids: Ids) -> IntArray:
    """Return the queries that have these ids.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    inverse = np.uint64(pow(_FACTOR, -1, 1 << ID_BITS))
    for _ in range(2):
        ids = ids ^ (ids >> _HALF)
        ids = (ids * inverse) & _MASK
    return ids.astype(np.int64)


def prefix_lengths(max_head_size: int) -> list[int]:
    """Return the bits that each group reports.

    Twice the wanted number of prefixes survive a round; the next one extends them by as many
    bits as keep the candidates at 2^16, so that there are few groups, and these are large.
    """
    require(max_head_size >= 1, "max_head_size must be >= 1", max_head_size, "ask for a list")
    kept_bits = (2 * max_head_size - 1).bit_length()
    step = max(_CANDIDATE_BITS - kept_bits, 1)
    return [*range(_CANDIDATE_BITS, ID_BITS, step), ID_BITS]


def find_queries(
    query_ids: IntArray, epsilon: float, max_head_size: int, *, rng: np.random.Generator
) -> FoundQueries:
    """Let all users (n_users,) report in groups; return at most `max_head_size` queries.

    Published are the likeliest of the last round whose estimate exceeds what noise alone would
    exceed for one candidate on average: the plain top of 2^16 noisy zeros would be noise.

    Privacy claim: none; for studies and tests, whose data is synthetic. On devices each user's
    one report would be (epsilon, 0)-locally private.
    """
    lengths = prefix_lengths(max_head_size)
    ids = scramble(query_ids)
    group = rng.integers(len(lengths), size=len(ids))
    n_kept = 1 << (2 * max_head_size - 1).bit_length()
    prefixes, known = np.zeros(1, dtype=np.uint64), 0
    estimates = np.zeros(1)
    for number, length in enumerate(lengths):
        candidates = _extend(prefixes, length - known)
        members = ids[group == number] >> np.uint64(ID_BITS - length)
        estimates = _estimate(candidates, members, epsilon, rng)
        best = np.argsort(-estimates, kind="stable")[:n_kept]
        if length == ID_BITS:
            n_members, n_candidates = max(len(members), 1), len(candidates)
            break
        prefixes, known = np.sort(candidates[best]), length
    oracle = FrequencyOracle.for_epsilon(OLH, epsilon, n_candidates)
    z = float(stats.norm.isf(1 / n_candidates))
    is_real = estimates[best] > z * np.sqrt(oracle.rare_variance / n_members)
    best = best[is_real][:max_head_size]
    return FoundQueries(unscramble(candidates[best]), np.clip(estimates[best], 0, 1))


def _extend(prefixes: Ids, n_bits: int) -> Ids:
    endings = np.arange(1 << n_bits, dtype=np.uint64)
    return ((prefixes[:, None] << np.uint64(n_bits)) | endings).reshape(-1)


def _estimate(
    candidates: Ids, members: Ids, epsilon: float, rng: np.random.Generator
) -> FloatArray:
    """Estimate the sorted candidates' shares; whoever holds none of them reports all the same."""
    position = np.searchsorted(candidates, members)
    is_candidate = np.append(candidates, _MASK)[position] == members
    counts = np.bincount(position[is_candidate], minlength=len(candidates))
    oracle = FrequencyOracle.for_epsilon(OLH, epsilon, len(candidates) + 1)
    # One more value stands for everything else; its support is not looked at.
    supports = oracle.simulate(np.append(counts, len(members) - counts.sum()), rng=rng)[:-1]
    return oracle.estimate(supports, max(len(members), 1))
