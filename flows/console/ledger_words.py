"""How the ledger's sums are shown: in words for people, with named units for machines."""

import math
from typing import Any

from hybriddp.rounding import rounded_down, rounded_up
from tasks.budget.paid import parts_in_words, rho_in_words
from tasks.budget.policy import Policy
from tasks.budget.showing.overview import Balance, Runway
from tasks.budget.showing.seasons import SeasonRunway
from tasks.ledger.payloads import Reserved
from tasks.products.registry import product_of


def people_in(reserved: Reserved) -> str:
    """Return how many people are in the groups, those who are in several only once."""
    sharing = product_of(reserved.parameters).people_of(reserved.groups)
    sizes = [[reserved.groups[group].members for group in together] for together in sharing]
    return " + ".join(
        "devices" if None in size else str(max(filter(None, size), default=0)) for size in sizes
    )


def runway_text(reach: Runway) -> str:
    """Say how far the budget reaches."""
    policy = reach.policy
    window = f"any {policy.window_days} days" if policy.window_days else "a lifetime"
    lines = [f"\nCap for each person over {window}: {policy}."]
    if reach.has_gaussian or policy.has_set_parts:
        lines.append(parts_in_words(policy))
    if reach.asked is None:
        return "\n".join([*lines, "Nobody has been charged yet."])
    lines.append(
        f"{reach.n_accounts:,} people were charged; {_most_charged(reach)} "
        "(the sum, which is enforced)."
    )
    lines += [rho_in_words(policy, spent) for spent in reach.spent if spent.rho]
    if reach.worst is not None:
        exactly = "at most " if reach.worst.is_bound else ""
        lines.append(
            "By PLD accounting, at the cap's delta, the draws of whoever is most exposed compose "
            f"to epsilon {exactly}{composed_epsilon(reach.worst.epsilon)}."
        )
    else:
        lines.append("`hybriddp ledger show --pld` composes all draws more tightly, in seconds.")
    return "\n".join([*lines, reach.words])


def _most_charged(reach: Runway) -> str:
    """Say what was spent at most; people with a Gaussian loss and those without are told apart."""
    if len(reach.spent) < 2:
        return f"the most charged has spent {reach.largest}"
    without, with_gaussian = reach.spent
    return (
        f"the most charged without a Gaussian loss has spent {without}, and of those with one "
        f"nobody has spent more than {with_gaussian}"
    )


def runway_json(reach: Runway) -> dict[str, Any]:
    """Return the same for machines."""
    worst = reach.worst
    return {
        "policy": policy_json(reach.policy, is_needed=reach.has_gaussian),
        "accounts": reach.n_accounts,
        "largest": reach.largest.as_json(),
        **({"spent": [one.as_json() for one in reach.spent]} if reach.has_gaussian else {}),
        "asked": None if reach.asked is None else reach.asked.as_json(),
        "fits_largest": reach.fits_largest,
        "fits_newcomer": reach.fits_newcomer,
        **({} if reach.season is None else {"season": _season_json(reach.season)}),
        "pld_epsilon": None if worst is None else _json_epsilon(worst.epsilon),
        "pld_is_bound": None if worst is None else worst.is_bound,
    }


def _season_json(ahead: SeasonRunway) -> dict[str, Any]:
    return {
        "series": ahead.place.series,
        "season": ahead.place.season,
        "week": ahead.place.week,
        "weeks": ahead.n_weeks,
        "rest": ahead.rest.as_json(),
        "rest_is_covered": ahead.is_covered,
        "whole": {"member": ahead.member.as_json(), "client": ahead.client.as_json()},
        "more_seasons": {
            "members": ahead.fits_members,
            "clients": ahead.fits_clients,
            "newcomers": ahead.fits_newcomer,
        },
    }


def policy_json(policy: Policy, *, is_needed: bool = True) -> dict[str, Any]:
    """Return a policy for machines; the default's parts are told where somebody needs them."""
    part = policy.with_gaussian if is_needed or policy.has_set_parts else None
    return {
        "cap": policy.cap.as_json(),
        **({} if part is None else {"with_gaussian": part.as_json()}),
        "window_days": policy.window_days,
        "max_refusals": policy.max_refusals,
    }


def composed_epsilon(composed: float) -> str:
    """Return an epsilon of PLD accounting as text."""
    return rounded_up(composed) if math.isfinite(composed) else "without a bound"


def _json_epsilon(composed: float) -> float | None:
    return float(rounded_up(composed)) if math.isfinite(composed) else None


def balance_text(found: Balance) -> str:
    """Say what one person has spent and what is left; of Gaussian losses only where they are."""
    sentences = [
        f"Spent {found.spent} of {found.policy}; remaining {found.remaining.as_left}.",
        f"By PLD accounting: epsilon {composed_epsilon(found.pld_epsilon)}.",
    ]
    if found.spent.rho:
        sentences += [rho_in_words(found.policy, found.spent), parts_in_words(found.policy)]
    if found.is_stopped:
        sentences.append("Takes part in nothing any more.")
    return " ".join(sentences)


def balance_json(found: Balance) -> dict[str, Any]:
    """Return one person's account for machines."""
    return {
        "policy": policy_json(found.policy, is_needed=found.spent.rho > 0),
        "charges": [
            {
                "at": spent.at.isoformat(timespec="seconds"),
                "release_id": spent.release_id,
                "attempt": spent.attempt,
                "group": spent.group,
                **spent.charge.as_json(),
            }
            for spent in found.charges
        ],
        "spent": found.spent.as_json(),
        "remaining": found.remaining.as_json(rounded_down),
        "is_stopped": found.is_stopped,
        "pld_epsilon": _json_epsilon(found.pld_epsilon),
    }
