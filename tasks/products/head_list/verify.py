"""Is a published head list what its measurements give? From public facts alone."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from hybriddp.accounting.price import Price
from hybriddp.params import Budget
from tasks.ledger.rules import Attempt
from tasks.products.head_list import CLIENTS, FINDING, OF_A_WEEK
from tasks.products.head_list.estimation.columns import CHANGES, HEAD_LIST, TRENDS
from tasks.products.head_list.label import (
    HeadListManifest,
    head_list_words,
    second_guarantee,
    write_label,
)
from tasks.products.head_list.measuring import left_out_file
from tasks.products.head_list.measuring.left_out_file import LISTED, without
from tasks.products.head_list.parameters import groups_of, prices_of
from tasks.verify.checks import LeftOut, VerificationFailed, require_prices
from tasks.verify.manifest import Words

MANIFEST = HeadListManifest
# Versions that stated no second guarantee.
_WITHOUT_SECOND = ("0.1.0", "0.2.0")


def schemas(manifest: HeadListManifest) -> dict[str, pa.Schema]:
    """Return the columns of every published table."""
    changes = {} if manifest.season is None else {"changes": CHANGES}
    return {"head_list": HEAD_LIST, "trends": TRENDS, **changes}


def groups(manifest: HeadListManifest) -> tuple[str, ...]:
    """Return the groups whose measurements the list was made from."""
    if manifest.season is not None:
        return OF_A_WEEK
    return groups_of(manifest.parameters.params)


def earlier(manifest: HeadListManifest) -> Iterator[tuple[str, str, int, str, str]]:
    """Return the measurements of the weeks before: key, release, attempt, group and digest."""
    if manifest.season is None:
        return iter(())
    from tasks.products.head_list.series.verify import earlier_files

    return earlier_files(manifest)


def check_promise(manifest: HeadListManifest, tables: Mapping[str, pa.Table]) -> None:
    """See that the guarantees are what the parameters cost."""
    params = manifest.parameters.params
    require_prices(manifest, _prices(manifest))
    _require_who_was_asked(manifest)
    if manifest.second_guarantee is None and manifest.code_version in _WITHOUT_SECOND:
        return
    people = manifest.guarantees[CLIENTS].people if CLIENTS in manifest.guarantees else 0
    if manifest.second_guarantee != second_guarantee(params, people):
        raise VerificationFailed("the second guarantee is not the one that is proved.")


def _require_who_was_asked(manifest: HeadListManifest) -> None:
    """See that a list is settled before devices are asked, and only then; 0.1.0 settled none."""
    asks_devices, is_week = not manifest.parameters.is_simulated, manifest.season is not None
    is_settled = LISTED in manifest.measurements
    if is_settled > asks_devices or (is_week and asks_devices > is_settled):
        raise VerificationFailed("a list is settled where devices are asked, and nowhere else.")


def _prices(manifest: HeadListManifest) -> Mapping[str, Budget | Price]:
    if (manifest.season is None) != (manifest.parameters.series is None):
        raise VerificationFailed("a series without a season, or a season without a series.")
    if manifest.season is None:
        return prices_of(manifest.parameters.params)
    # What seasons draw with takes long to import, and most releases are none.
    from tasks.products.head_list.series.verify import season_prices

    return season_prices(manifest)


def words(manifest: HeadListManifest) -> Words:
    """Return what is said of each group."""
    said = head_list_words(manifest.parameters)
    return {group: said[group] for group in groups(manifest)}


def label(manifest: HeadListManifest) -> str:
    """Write the label again."""
    return write_label(manifest)


def decision_digests(state: Attempt) -> dict[str, str]:
    """Return the digest of what devices were not asked about, if that was decided."""
    return left_out_file.decision_digests(state)


def decided(
    measured: Mapping[str, pa.Table], decisions: Mapping[str, Any]
) -> Mapping[str, pa.Table]:
    """Return the measurements without the queries that devices were not asked about."""
    left_out = decisions[LISTED]["left_out"]
    finding = [group for group in FINDING if group in measured]
    return {**measured, **{group: without(measured[group], left_out) for group in finding}}


def recomputed_files(
    manifest: HeadListManifest,
    tables: Mapping[str, pa.Table],
    measured: Mapping[str, pa.Table],
    left_out: LeftOut,
) -> dict[str, bytes]:
    """Do the whole post-processing again; compare what is no file, return what is."""
    # Consumers have no measurements, and estimating takes long to import.
    from tasks.products.head_list.estimation.recompute import recomputed_files as again

    return again(manifest, tables, measured, left_out)
