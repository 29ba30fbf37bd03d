"""The privacy label of a release, in plain words, made from its manifest alone."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hybriddp.params import BlenderParams
from hybriddp.rounding import rounded_up
from tasks.groups import GROUPS
from tasks.label_people import epoch_promise, membership_limits
from tasks.policy import DELTA_UNITS, EPSILON_UNITS, Policy

# Over how many years the worst case of a refilling cap is stated.
HORIZON_YEARS = 10


def write_label(facts: Mapping[str, Any], params: BlenderParams) -> str:
    """Return the label as Markdown; `facts` is the manifest before its files are known."""
    groups = facts["guarantees"]
    rows = "\n".join(
        f"| {terms['people']:,} people, who {terms['role']} | {terms['trusts']} | "
        f"{number_of(terms['epsilon_nano'], EPSILON_UNITS)} | "
        f"{number_of(terms['delta_atto'], DELTA_UNITS)} |"
        for terms in (groups[group] for group in GROUPS if group in groups)
    )
    sections = [
        f"# Privacy label: {facts['product']}, {facts['locale']}, {facts['epoch']}",
        f"This list names {facts['rows']['head_list']} records of {facts['rows']['trends']} "
        "popular queries and estimates how likely each is. It was made from people's searches "
        "with noise, so that it says nearly the same whether or not any one person searched for "
        "what they did.",
        "| group | who saw their searches | epsilon | delta |\n|---|---|---|---|\n" + rows,
        "**What the numbers mean.** Whatever one person had searched for instead, no list would "
        "have become more than e^epsilon times as likely, but for a chance of delta. The promise "
        f"compares {facts['guarantees']['S']['neighbours']}.",
        _membership(facts["parameters"]),
        *epoch_promise(facts["parameters"]),
        lifetime_promise(facts["cap"]),
        limits_of_the_promise("what a person searched for", "search"),
        f"**Intervals** are {facts['interval_method']}; they cover the probability in the whole "
        "population, one at a time, and ranks among the listed likewise.",
        _agreement(facts["cross_check"]),
        *(f"**Note.** {note}" for note in params.notes),
    ]
    return "\n\n".join(sections) + "\n"


def _agreement(check: Mapping[str, Any]) -> str:
    return (
        "**Cross-check.** Opt-in people and clients were asked independently; that they differ as "
        f"much as they do has p = {check['p_value']} over {check['records']} records, of which "
        f"{check['suspicious_records']} look suspicious."
    )


def _membership(parameters: Mapping[str, Any]) -> str:
    sentences = membership_limits(parameters)
    if parameters["clients"] == "simulate":
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
        if parameters["optin"] == "everybody in the log":
            sentences.append("Everybody in the log opted in, as the curator states.")
    return "**Who took part.** " + " ".join(sentences)


def lifetime_promise(cap: Mapping[str, Any], what: str = "searches") -> str:
    """Say what the ledger keeps for everybody, over all releases."""
    policy = Policy.of_payload(cap)
    if policy.window_days is None:
        return (
            f"**Over a lifetime** nobody's {what} are used beyond {policy.cap} in all releases "
            "of all products of this curator together."
        )
    return (
        f"**Over any {policy.window_days} days** nobody's {what} are used beyond {policy.cap}; "
        f"the budget refills, so over {HORIZON_YEARS} years the worst case is "
        f"{policy.worst_case(HORIZON_YEARS)}."
    )


def limits_of_the_promise(hidden: str, people_who: str, first: str = "") -> str:
    """Say what no release promises."""
    return (
        f"**What it does not promise.** {first}It hides {hidden}, not that there are people who "
        f"{people_who}; a fact about very many people can be learnt without learning about one. "
        "How long the computation took is not hidden. A quality gate refuses bad logs before any "
        "noise is drawn, and that it passed is one bit that is not noisy."
    )


def number_of(units: int, per_one: int) -> str:
    """Return whole units of the ledger as the number that they stand for, never a smaller one."""
    return rounded_up(Fraction(units, per_one))
