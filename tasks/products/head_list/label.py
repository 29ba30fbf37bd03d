"""The manifest of a head list, and the privacy label that says it in plain words."""

from typing import TYPE_CHECKING, Annotated, Any

from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS
from tasks.products.head_list import CLIENTS, HEAD_LIST, HEADLIST, HISTOGRAM
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.label import lifetime_promise, limits_of_the_promise, number_of
from tasks.products.label_people import epoch_promise, membership_limits
from tasks.products.parameters import Short
from tasks.store.reading import is_text
from tasks.verify.form import fields, fitting, keyed, number
from tasks.verify.manifest import Decimals, Manifest, Part, Size, Words, words_of

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
    """What the manifest of a head list says."""

    parameters: HeadListParameters
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
        f"| {promised.people:,} people, who {promised.role} | {promised.trusts} | "
        f"{number_of(promised.epsilon_nano, EPSILON_UNITS)} | "
        f"{number_of(promised.delta_atto, DELTA_UNITS)} |"
        for promised in (groups[group] for group in HEAD_LIST.in_order(groups))
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
    return words_of(_ROLES | both, trusts)
