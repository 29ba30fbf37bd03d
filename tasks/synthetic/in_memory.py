"""A whole release on a synthetic population, in memory: what `hybriddp simulate` shows.

No file is read or written and nobody's data is touched; the product's release does the same
steps on a real log, with a ledger.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.blender.headlist import count_records
from hybriddp.blender.metrics import Utility, evaluate
from hybriddp.blender.simulate import simulate
from hybriddp.errors import require
from hybriddp.params import BlenderParams
from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import POPULATIONS
from tasks.synthetic.generate import spell_queries, spell_urls


@dataclass(frozen=True, slots=True)
class Row:
    """One published record."""

    query: str
    url: str
    probability: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class InMemoryRelease:
    """The head list, likeliest record first, and how good it is."""

    rows: tuple[Row, ...]
    n_queries: int
    other_mass: float
    n_headlist_users: int
    n_histogram_users: int
    n_clients: int
    utility: Utility
    notes: tuple[str, ...]


def release_in_memory(
    kind: str, n_users: int | None, optin_fraction: float, params: BlenderParams, seed: int
) -> InMemoryRelease:
    """Draw a population and its users from the seed, and run one release on them."""
    require(kind in POPULATIONS, f"kind must be one of {', '.join(POPULATIONS)}", kind, "pick one")
    require(
        0 < optin_fraction < 1,
        "optin_fraction must be strictly between 0 and 1",
        optin_fraction,
        "the hybrid model needs both groups; the paper uses 0.05",
    )
    rng = study_rng(seed)
    population = POPULATIONS[kind](rng=rng)
    n_users = population.n_users if n_users is None else n_users
    query_ids, url_ids = population.sample_records(n_users, rng=rng)
    is_optin = rng.random(n_users) < optin_fraction
    release = simulate(query_ids, url_ids, is_optin, params, rng=rng)
    head_list, shown = release.head_list, release.records.projected
    cells = head_list.record_cells[np.argsort(-shown[head_list.record_cells], kind="stable")]
    record = np.searchsorted(head_list.record_cells, cells)
    queries = head_list.query_ids[head_list.query_of_record[record]]
    rows = zip(
        spell_queries(queries).to_pylist(),
        spell_urls(queries, head_list.url_ids[record], population.n_urls).to_pylist(),
        shown[cells].tolist(),
        release.records.low[cells].tolist(),
        release.records.high[cells].tolist(),
        strict=True,
    )
    return InMemoryRelease(
        rows=tuple(Row(*row) for row in rows),
        n_queries=head_list.n_queries,
        other_mass=float(1 - shown[cells].sum()),
        n_headlist_users=release.n_headlist_users,
        n_histogram_users=release.n_histogram_users,
        n_clients=release.n_clients,
        utility=evaluate(
            head_list,
            shown,
            release.queries.projected,
            count_records(query_ids, url_ids),
            n_users,
            params.max_head_size,
        ),
        notes=params.notes,
    )
