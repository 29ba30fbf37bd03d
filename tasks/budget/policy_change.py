"""What the ledger promises everybody, and what another policy means for promises that were made."""

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from tasks.budget.paid import parts_in_words
from tasks.budget.policy import Policy, current_policy
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Entry, live_reservations
from tasks.publish.shelf import published_caps, published_packages
from tasks.store.home import Home


def promised_policy(entries: list[Entry]) -> Policy:
    """Return what holds for everybody: who was ever charged, and who is from now on.

    Labels and packages state it. A cap that was never used and holds no more changes nothing, and
    parts are inside the cap: until there is a Gaussian loss nothing needs them, and none is stated.
    """
    charged, policy = _charged(entries), current_policy(entries)
    if not _has_gaussian(charged):
        policy = replace(policy, with_gaussian=None)
    return weakest([*charged, policy])


def weakest(policies: Iterable[Policy]) -> Policy:
    """Return what all of these kept together: the largest cap, over the shortest window.

    Take any days as long as the shortest window, and the last charge in them: the policy of that
    moment looked back at least so far, and allowed no more than its cap. Parts for Gaussian losses
    that were changed count with the largest of each, whose cap may be above all of theirs: whoever
    changes them knows what was published meanwhile.
    """
    known = list(policies)
    windows = [policy.window_days for policy in known if policy.window_days is not None]
    window, max_refusals = min(windows, default=None), known[-1].max_refusals
    cap = Charge.largest(policy.cap for policy in known)
    parts = [policy.with_gaussian for policy in known if policy.with_gaussian is not None]
    if not parts:
        return Policy(cap, window, max_refusals, None)
    most = Charge.largest(parts)
    if any((policy.cap, policy.with_gaussian) == (cap, most) for policy in known):
        return Policy(cap, window, max_refusals, most)
    from hybriddp.accounting.filters import least_epsilon

    converting = max(policy.converting_delta for policy in known if policy.with_gaussian)
    rho, delta = Fraction(most.rho, RHO_UNITS), Fraction(converting, DELTA_UNITS)
    epsilon = most.epsilon + math.ceil(least_epsilon(rho, delta) * EPSILON_UNITS)
    covering = Charge.largest([cap, Charge(epsilon, most.delta + converting)])
    most = Charge(most.epsilon, covering.delta - converting, most.rho)
    return Policy(covering, window, max_refusals, most)


def _charged(entries: list[Entry]) -> list[Policy]:
    """Return the policies under which anybody was charged.

    Their parts count from the first Gaussian loss on: before it they kept nobody from anything.
    """
    policies, has_gaussian = [], False
    for entry in live_reservations(entries):
        reserved = entry.said(Reserved)
        has_gaussian |= any(terms.rho_pico > 0 for terms in reserved.groups.values())
        policy = Policy.stated(reserved.policy)
        policies.append(policy if has_gaussian else replace(policy, with_gaussian=None))
    return policies


def _has_gaussian(charged: list[Policy]) -> bool:
    """Whether anybody has a Gaussian loss: it was charged under a policy with parts."""
    return any(policy.with_gaussian is not None for policy in charged)


def price_of_change(home: Home, old: Policy, new: Policy) -> str:
    """Say what a change does, and to how many published labels and packages."""
    sentences = [
        f"The policy becomes {_words(new)}; it was {_words(old)}. The change is on record for ever "
        "and holds from the next reservation on."
    ]
    kept = new
    if new.with_gaussian != old.with_gaussian:
        charged = _charged(Ledger(home.ledger).entries())
        kept = _kept_with(charged, new)
        sentences += [parts_in_words(new), f"Until now: {parts_in_words(old)}"]
        sentences += _price_of_parts(charged, new, kept)
    labels = [Policy.stated(cap) for cap in published_caps(home)]
    sentences += _price(kept, labels, "published labels promise")
    packages = _stated_to_devices(home)
    sentences += _price(kept, packages, "collection packages promise devices")
    if any(_allows_more(kept, promised) for promised in packages):
        sentences.append("Devices that heard nothing newer would count with too small a cap.")
    if new.max_refusals > old.max_refusals:
        sentences.append(
            "More verdicts on raw logs let somebody find out more about them without noise."
        )
    return " ".join(sentences)


def _kept_with(charged: list[Policy], new: Policy) -> Policy:
    """Return the new policy, with a larger cap if changed parts let people lose more than any."""
    together = weakest([*charged, new])
    if together.cap.fits(Charge.largest(policy.cap for policy in (*charged, new))):
        return new
    return replace(together, window_days=new.window_days)


def _price_of_parts(charged: list[Policy], new: Policy, kept: Policy) -> list[str]:
    """Say what it means to change parts now."""
    if not _has_gaussian(charged):
        return ["Nobody has a Gaussian loss yet, so changing the parts costs no privacy."]
    sentences = [
        "People have Gaussian losses already. To change the parts now is dangerous: whoever has "
        "seen what was published can trade one kind of loss for the other."
    ]
    if kept != new:
        sentences.append(
            f"Old and new parts together keep people below {kept.cap} only, and not below the cap: "
            "labels and packages say so from then on."
        )
    if new.with_gaussian is None:
        sentences.append("Whoever has a Gaussian loss takes part in nothing any more.")
    return sentences


def _stated_to_devices(home: Home) -> list[Policy]:
    """Return the caps for life of packages; some state none, and promise nothing."""
    statements = [package.curator for package in published_packages(home)]
    caps = [stated.lifetime_cap for stated in statements if stated is not None]
    return [
        Policy(Charge(int(cap.epsilon * EPSILON_UNITS), int(cap.delta * DELTA_UNITS)))
        for cap in caps
        if cap is not None
    ]


def _price(new: Policy, promises: list[Policy], who_promise: str) -> list[str]:
    """Say how many promised something else, and to how many of them the new policy is untrue."""
    others = [p for p in promises if (p.cap, p.window_days) != (new.cap, new.window_days)]
    if not others:
        return []
    n_broken = sum(_allows_more(new, promised) for promised in others)
    kept = (
        f", and this one is looser than {n_broken} of them: their promise would be broken."
        if n_broken
        else "; this one keeps what they promise."
    )
    return [f"{len(others)} {who_promise} another cap{kept}"]


def _allows_more(new: Policy, promised: Policy) -> bool:
    """Whether somebody may spend more than was promised."""
    is_larger = not new.cap.fits(promised.cap)
    refills_sooner = new.window_days is not None and (
        promised.window_days is None or new.window_days < promised.window_days
    )
    return is_larger or refills_sooner


def _words(policy: Policy) -> str:
    window = f"any {policy.window_days} days" if policy.window_days else "a lifetime"
    return f"{policy} over {window}, {policy.max_refusals} fruitless verdicts an epoch or log"
