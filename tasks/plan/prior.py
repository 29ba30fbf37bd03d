"""Where a plan's prior comes from: a synthetic profile, or a list that is already published.

A published folder is read as any consumer reads it. Nothing private is needed, and no log.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from hybriddp.errors import HybridDPError
from hybriddp.params import HIGH_UTILITY, BlenderParams, usual_finding
from hybriddp.planning.calibration import prior_of_release
from hybriddp.planning.populations import study_rng
from hybriddp.planning.prior import Prior, shares_of
from hybriddp.planning.profiles import POPULATIONS
from hybriddp.planning.season import found_by
from hybriddp.planning.setting import Setting
from hybriddp.series.season import Season
from tasks.log.raw.files import BadInput
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.label import HeadListManifest
from tasks.publish.notices import refuse_if_taken_down
from tasks.publish.shelf import list_rows, newest_folder
from tasks.store.reading import MAX_TABLE_BYTES, Unreadable, read_file
from tasks.verify.reading import Misfit, read_manifest

# The draw of a profile's urls: any other would do.
_PROFILE_SEED = 1
_READ = ("head_list.jsonl", "trends.jsonl")
_USUAL_OPTIN = Fraction(1, 20)
# A list that was made with less holds nothing but noise, and rehearsing it takes minutes.
_LEAST_EPSILON = Fraction(1, 100)
# Probabilities are rounded when they are published.
_ROUNDING = 1e-3
# What numbers raise that no release has.
_NONSENSE = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class PriorSource:
    """A prior, what to say about it, and what a plan takes over where nothing else is asked."""

    prior: Prior
    words: str
    assumptions: tuple[str, ...]
    params: BlenderParams
    n_users: int
    optin_fraction: Fraction
    rotation: int
    n_known: int = 0  # of the prior's queries, those that are published
    is_of_a_season: bool = False


def from_profile(kind: str, records_per_user: float = 1.0) -> PriorSource:
    """Return a synthetic profile, with the usual parameters."""
    finding, records = usual_finding(HIGH_UTILITY, records_per_user)
    population = POPULATIONS[kind](rng=study_rng(_PROFILE_SEED))
    return PriorSource(
        Prior.of_population(population),
        f"the synthetic profile {kind}",
        (
            f"Searches are distributed as in the synthetic profile {kind}: the published head of "
            "that log, a power-law tail, and url shares that are made up.",
        ),
        BlenderParams(strategy=HIGH_UTILITY, finding=finding, max_records_optin=records),
        population.n_users,
        _USUAL_OPTIN,
        1,
    )


def from_published(folder: Path, distinct_clicks: float = 1.0) -> PriorSource:
    """Return what a published list suggests, with its own parameters and people."""
    folder = newest_folder(folder)
    manifest = _manifest(folder)
    try:
        return _source(folder, manifest, distinct_clicks)
    except _NONSENSE as error:
        raise BadInput(
            f"{folder} says something that no head list says ({type(error).__name__}), so nothing "
            "can be planned from it; `hybriddp verify` says more."
        ) from None


def _source(folder: Path, manifest: HeadListManifest, distinct_clicks: float) -> PriorSource:
    queries, shares = _queries(folder, manifest)
    if not queries:
        raise BadInput(
            f"{folder} lists no query whose interval excludes 0, so it says nothing about the "
            "next release; plan with --log-profile."
        )
    params, people, rotation = _terms(folder, manifest)
    n_serving = sum(people.values())
    optin_fraction = Fraction(n_serving - people.get(CLIENTS, 0), max(n_serving, 1))
    setting = Setting(params, n_serving, optin_fraction, 1, distinct_clicks)
    prior, slope = prior_of_release(
        f"release {manifest.release_id}",
        queries,
        shares,
        setting=setting,
        n_listed=manifest.rows["trends"] + manifest.blocked_queries,
        count=_count_of_season(manifest, people, distinct_clicks),
    )
    return PriorSource(
        prior,
        f"the published list {manifest.release_id} of {manifest.epoch}",
        (
            f"The next log resembles the published list: its {len(queries)} queries whose interval "
            f"excludes 0 as they stand, then a tail that falls as rank^-{slope:.2f}, which "
            f"explains how many were found; {prior.dust:.0%} of all searches are too rare to "
            "matter.",
            "Opt-in people and clients are as many as then, unless given.",
        ),
        params,
        n_serving * rotation,
        optin_fraction,
        rotation,
        len(queries),
        manifest.season is not None,
    )


def _count_of_season(
    manifest: HeadListManifest, people: dict[str, int], distinct_clicks: float
) -> Callable[[Prior], float] | None:
    """Return how many queries the weeks so far find; with names from before, as many as all do."""
    if manifest.season is None:
        return None
    season = Season.of_numbers(manifest.season.numbers)
    found = [week for urls in manifest.season.found.values() for week in urls.values()]
    week = season.n_weeks if 0 in found else manifest.parameters.week or season.n_weeks
    return lambda prior: found_by(prior, season, week, people[HEADLIST], distinct_clicks)


def _terms(folder: Path, manifest: HeadListManifest) -> tuple[BlenderParams, dict[str, int], int]:
    """Return the release's parameters, its groups' sizes, and its rotation."""
    people = {group: promised.people for group, promised in manifest.guarantees.items()}
    try:
        params = manifest.parameters.params
    except (HybridDPError, TypeError):
        raise BadInput(f"{folder} has a manifest that this version cannot read.") from None
    if params.budget.epsilon < _LEAST_EPSILON:
        raise BadInput(
            f"{folder} was made with an epsilon below {_LEAST_EPSILON}, so it says nothing about "
            "the next release; plan with --log-profile."
        )
    rotation = manifest.parameters.rotation
    if manifest.season is None:
        return params, people, rotation
    # Who opted in serves every week, whoever joined among them; clients take turns.
    del people[JOINING]
    return params, {**people, CLIENTS: people[CLIENTS] * rotation}, 1


def _manifest(folder: Path) -> HeadListManifest:
    refuse_if_taken_down(folder)
    try:
        manifest = read_manifest(read_file(folder, "manifest.json"))
    except Unreadable as error:
        raise BadInput(f"{folder} is not the folder of a release: {error}") from None
    except Misfit:
        raise BadInput(f"{folder} has a manifest that this version cannot read.") from None
    if not isinstance(manifest, HeadListManifest) or not set(_READ) <= set(manifest.files):
        raise BadInput(f"{folder} holds no head list; plan from one, or --log-profile.")
    for file in _READ:
        try:
            data = read_file(folder, file, MAX_TABLE_BYTES)
            is_same = hashlib.sha256(data).hexdigest() == manifest.files[file].sha256
        except Unreadable:
            is_same = False
        if not is_same:
            raise BadInput(
                f"{folder / file} is not the file that the manifest describes; "
                "`hybriddp verify` says more."
            )
    return manifest


def _queries(folder: Path, manifest: HeadListManifest) -> tuple[list[float], list[list[float]]]:
    """Return the certain queries' probabilities, likeliest first, and their urls' shares."""
    urls: dict[str, list[float]] = {}
    for row in list_rows(folder, "head_list"):
        urls.setdefault(row["query"], []).append(row["probability"])
    wildcards = manifest.masses.query_wildcards
    rows = [row for row in list_rows(folder, "trends") if row["ci_low"] > 0]
    rows.sort(key=lambda row: -row["probability"])
    total = sum(row["probability"] for row in rows)
    if total > 1 + _ROUNDING:
        raise BadInput(
            f"{folder} lists queries whose probabilities are more than 1 together, as no list "
            "does; `hybriddp verify` says more."
        )
    shares = [
        shares_of(urls.get(row["query"], []), wildcards.get(row["query"], 0.0)) for row in rows
    ]
    return [row["probability"] / max(total, 1.0) for row in rows], shares
