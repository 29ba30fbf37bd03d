"""The manifest of a head list, and the privacy label that says it in plain words."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from hybriddp.params import BlenderParams
from hybriddp.randomizers.laws import client_budget
from hybriddp.rounding import rounded_up
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS
from tasks.products.head_list import CLIENTS, HEAD_LIST, HEADLIST, HISTOGRAM, JOINING
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.head_list.series.manifest import NEIGHBOURS, SeasonStated, season_promise
from tasks.products.label import (
    ALL_DIGITS,
    COALITIONS,
    coalition_words,
    in_decimals,
    lifetime_promise,
    limits_of_the_promise,
    number_of,
)
from tasks.products.label_people import epoch_promise, membership_limits
from tasks.products.parameters import Short
from tasks.store.reading import is_text
from tasks.verify.form import fields, fitting, keyed, listed, maybe, name, number, short
from tasks.verify.manifest import Decimals, Guarantee, Manifest, Part, Size, Words, words_of

if TYPE_CHECKING:
    from hybriddp.blender.estimation.crosscheck import CrossCheck

_TRUSTS = {
    HEADLIST: "the curator",
    HISTOGRAM: "the curator",
    CLIENTS: "their own device",
}
_ROLES = {HEADLIST: "found the list", HISTOGRAM: "measured it", CLIENTS: "reported on it"}


class Agreement(Part):
    """How far opt-in people and clients are apart."""

    records: Size
    chi_square: Short
    p_value: Short
    suspicious_records: Size


_SECOND = maybe(listed(keyed(name, short, 10), 10))


class Masses(Part):
    """What is on no row: the wildcards' probabilities."""

    query_wildcards: dict[str, float]  # <q,*>: the query with another url
    other_records: float  # <*,*>: every other query, blocked ones included
    other_queries: float


_MASSES = fields(
    {
        "query_wildcards": keyed(is_text, number, 10_000),
        "other_records": number,
        "other_queries": number,
    }
)


class HeadListManifest(Manifest):
    """What the manifest of a head list says; version 0.2.0 stated no second guarantee."""

    parameters: HeadListParameters
    second_guarantee: Annotated[list[dict[str, str]] | None, fitting(_SECOND)] = None
    season: SeasonStated | None = None  # of a week of a series
    interval_method: Short
    cross_check: Agreement
    decimals: Decimals
    masses: Annotated[Masses, fitting(_MASSES)]
    blocked_queries: Size

    @property
    def n_blocked(self) -> int:
        """How many queries a blocklist left out."""
        return self.blocked_queries


def write_label(manifest: HeadListManifest) -> str:
    """Return the label as Markdown; it says nothing of the files."""
    parameters, groups = manifest.parameters, manifest.guarantees
    rows = "\n".join(
        f"| {promised.people:,} people, who {promised.role} | {promised.trusts} | {numbers} |"
        for promised, numbers in _promised(manifest)
    )
    sections = [
        f"# Privacy label: {manifest.product}, {manifest.locale}, {manifest.epoch}",
        f"This list names {manifest.rows['head_list']} records of {manifest.rows['trends']} "
        "popular queries and estimates how likely each is. It was made from people's searches "
        "with noise, so that it says nearly the same whether or not any one person searched for "
        "what they did.",
        "| group | who saw their searches | epsilon | delta |\n|---|---|---|---|\n" + rows,
        "**What the numbers mean.** Whatever one person had searched for instead, no list would "
        "have become more than e^epsilon times as likely, but for a chance of delta. The promise "
        f"compares {groups[HEADLIST].neighbours}.",
        *_of_season(manifest),
        *_second(manifest.second_guarantee),
        _membership(parameters),
        *epoch_promise(parameters),
        lifetime_promise(manifest.cap),
        limits_of_the_promise("what a person searched for", "search"),
        f"**Intervals** are {manifest.interval_method}; they cover the probability in the whole "
        "population, one at a time, and ranks among the listed likewise.",
        _agreement(manifest.cross_check),
        *(f"**Note.** {note}" for note in parameters.params.notes),
    ]
    return "\n\n".join(sections) + "\n"


def _promised(manifest: HeadListManifest) -> Iterator[tuple[Guarantee, str]]:
    """Return every group with its epsilon and delta; those of a season are for all of its weeks."""
    parameters, groups = manifest.parameters, manifest.guarantees
    season = " | ".join(rounded_up(part) for part in (parameters.epsilon, parameters.delta))
    for group in HEAD_LIST.in_order(groups):
        stated = groups[group]
        if group == JOINING:  # who are among the others
            continue
        is_of_season = group == HEADLIST and manifest.season is not None
        paid = (stated.epsilon_nano, EPSILON_UNITS), (stated.delta_atto, DELTA_UNITS)
        yield stated, season if is_of_season else " | ".join(number_of(*part) for part in paid)


def _of_season(manifest: HeadListManifest) -> list[str]:
    season = manifest.season
    if season is None:
        return []
    return [season_promise(manifest.parameters, season, manifest.guarantees)]


def second_guarantee(params: BlenderParams, n_clients: int) -> list[dict[str, str]] | None:
    """Return what clients are promised against those who see only counts; None if nothing more.

    One row for each size of a coalition, at the delta of the release.
    """
    # Whoever reads a label computes nothing, and scipy takes long to import.
    from hybriddp.randomizers.shuffling import shuffled_epsilon

    local, delta = client_budget(params), params.budget.delta
    if local.delta > 0 or n_clients == 0:
        return None  # FMT21 is for reports that need no delta
    stated = []
    for share in COALITIONS:
        n_honest = n_clients - int(share * n_clients)
        epsilon = shuffled_epsilon(local.epsilon, delta, n_honest)
        stated.append(
            {
                "coalition": f"{float(share):g}",
                "epsilon_clients": in_decimals(epsilon),
                "delta": rounded_up(delta, ALL_DIGITS),
            }
        )
    return stated if Fraction(stated[0]["epsilon_clients"]) < local.epsilon else None


def _second(stated: Sequence[Mapping[str, str]] | None) -> list[str]:
    """State the second guarantee, if there is one."""
    if stated is None:
        return []
    rows = "\n".join(
        f"| {coalition_words(row['coalition'])} | {row['epsilon_clients']} | {row['delta']} |"
        for row in stated
    )
    return [
        "**Clients, against those who see only the release** (the second guarantee, beside the "
        "first, which it does not replace). Of the clients' reports only how often each cell was "
        "reported is kept, so one client's report hides among the others'. Whoever sees nothing "
        "but the release, or these counts, learns less of a client. It does not hold against the "
        "curator, nor against anybody who sees a report and knows whose it is.",
        "| clients who share what they reported | epsilon, other clients | delta |\n"
        f"|---|---|---|\n{rows}",
    ]


def _agreement(check: Agreement) -> str:
    return (
        "**Cross-check.** Opt-in people and clients were asked independently; that they differ as "
        f"much as they do has p = {check.p_value} over {check.records} records, of which "
        f"{check.suspicious_records} look suspicious."
    )


def _membership(parameters: HeadListParameters) -> str:
    sentences = membership_limits(parameters)
    if parameters.is_simulated:
        sentences.append(
            "The clients were simulated: their searches were in the curator's log, and they "
            "trusted the curator to run the program that their devices would have run."
        )
    else:
        sentences.append(
            "The clients' devices sent noisy reports only; nobody saw their searches. Devices of "
            "opt-in people stay silent, so that nobody is counted on both sides, and count the "
            "curator's cap as spent; this rests on the device software, and on people who tell "
            "their device before they opt in."
        )
        if parameters.optin == "everybody in the log":
            sentences.append("Everybody in the log opted in, as the curator states.")
    return "**Who took part.** " + " ".join(sentences)


def describe_check(check: "CrossCheck") -> dict[str, Any]:
    """Return the cross-check in numbers that print the same everywhere."""
    return {
        "records": check.n_records,
        "chi_square": f"{check.chi_square:.3g}",
        "p_value": f"{check.p_value:.3g}",
        "suspicious_records": int(check.is_suspicious.sum()),
    }


def head_list_words(parameters: HeadListParameters) -> Words:
    """Return what is said of each group of a head list."""
    is_simulated = parameters.is_simulated
    trusts = _TRUSTS | ({CLIENTS: "the curator (simulated)"} if is_simulated else {})
    both = {HEADLIST: "found the list and measured it"} if parameters.params.is_weighted else {}
    if parameters.series is None:
        return words_of(_ROLES | both, trusts)
    joined = {JOINING: "joined the season in this week"}
    said = words_of(_ROLES | both | joined, trusts | {JOINING: _TRUSTS[HEADLIST]})
    # A device promises it by its own account; simulated clients are promised a week.
    in_all_weeks = (HEADLIST, JOINING) if is_simulated else (HEADLIST, JOINING, CLIENTS)
    return {
        group: {**words, **({"neighbours": NEIGHBOURS} if group in in_all_weeks else {})}
        for group, words in said.items()
    }
