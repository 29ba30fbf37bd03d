"""The draw with weights: everybody who opted in finds the list, and measures what they found.

All that either needs is a sum over records, so the log is read once, before anything is drawn.
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hybriddp.arrays import IntArray
from hybriddp.blender.mechanisms import weighted_mechanism
from hybriddp.blender.weighted.weights import weights_up_to
from tasks.log.cohorts import read_participants
from tasks.log.engine import Engine
from tasks.log.warehouse import open_warehouse
from tasks.measured.drawing import draw_once
from tasks.products.head_list import HEADLIST
from tasks.products.head_list.estimation.listing import CONCENTRATION, Cell, Listing
from tasks.products.head_list.run import HeadListRun, params_of

_DRAWN = pa.schema(
    [
        ("query", pa.string()),
        ("url", pa.string()),  # null: the query with any other url
        ("noisy_count", pa.int64()),  # of weights; null where nothing was named
        ("noisy_share", pa.int64()),
    ]
)


def draw_weighted_list(run: HeadListRun) -> pa.Table:
    """Name the records that have enough weight, and measure their shares, as one draw."""
    mechanism = weighted_mechanism(params_of(run))

    def draw(sums: pa.Table) -> pa.Table:
        given = sums.filter(pa.array(sums["weight"].to_numpy() > 0))
        named = mechanism.finding.draw(given["weight"].to_numpy())
        records = given.select(["query", "url"]).filter(pa.array(named.is_named))
        listing = Listing.of(pairs_of(records))
        weight_of: dict[Cell, int] = dict(
            zip(pairs_of(records), named.noisy_counts.tolist(), strict=True)
        )
        shares = mechanism.measuring.draw(shares_on(listing, sums))
        return measured_table(listing, weight_of, shares)

    event = mechanism.event
    units = event.most_records, event.weight_units, event.share_units
    return draw_once(run, HEADLIST, event, lambda: sum_records(run, *units), draw)


def sum_records(
    run: HeadListRun, most_records: int, weight_units: int, share_units: int
) -> pa.Table:
    """Sum up weights, shares and concentrations by record, of everybody sealed into S. Private."""
    with open_warehouse(run) as engine:
        read_participants(engine, run)
        return sums_of_sealed(engine, most_records, weight_units, share_units)


def sums_of_sealed(
    engine: Engine, most_records: int, weight_units: int, share_units: int
) -> pa.Table:
    """Do the same where the participants were read. Private."""
    weights = weights_up_to(most_records, weight_units)
    given = pa.table({"n_records": np.arange(1, len(weights) + 1), "weight": weights})
    engine.put("weights", given)
    engine.step("head_list/weighted/own_records")
    engine.step(
        "head_list/weighted/record_sums",
        most_records=most_records,
        share_units=share_units,
    )
    return engine.fetch("record_sums")


def shares_on(listing: Listing, sums: pa.Table) -> IntArray:
    """Bring sums by record to the cells: what is not named lies on its query's wildcard. Private.

    The last entry is the concentration of the named records.
    """
    exact: dict[Cell, int] = defaultdict(int)
    # Few of many records are of listed queries.
    queries = pa.array(listing.listed_queries, pa.string())
    sums = sums.filter(pc.is_in(sums["query"], value_set=queries))
    cells = set(listing.cells)
    columns = (sums[name].to_pylist() for name in ("share", "concentration"))
    for (query, url), share, concentration in zip(pairs_of(sums), *columns, strict=True):
        is_named = (query, url) in cells
        exact[query, url if is_named else None] += share
        exact[None, CONCENTRATION] += concentration if is_named else 0
    wanted = [*listing.cells[:-1], (None, CONCENTRATION)]
    return np.array([exact[cell] for cell in wanted], dtype=np.int64)


def measured_table(listing: Listing, weight_of: Mapping[Cell, int], shares: IntArray) -> pa.Table:
    """Return what was measured of every cell but <*,*>, and last the concentration.

    Cells that are no record have no weight, nor has a record that a season has just named.
    """
    cells = [*listing.cells[:-1], (None, CONCENTRATION)]
    columns = {
        "query": [query for query, _ in cells],
        "url": [url for _, url in cells],
        "noisy_count": [weight_of.get(cell) for cell in cells],
        "noisy_share": shares,
    }
    return pa.table(columns, schema=_DRAWN)


def pairs_of(table: pa.Table) -> list[tuple[str, str]]:
    """Return the records of a table, in its order."""
    return list(zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True))
