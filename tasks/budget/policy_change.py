"""What the ledger promises everybody, and what another policy means for promises that were made."""

from tasks.budget.policy import Policy, current_policy, weakest
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Entry, live_reservations
from tasks.publish.shelf import published_caps, published_packages
from tasks.store.home import Home


def promised_policy(entries: list[Entry]) -> Policy:
    """Return what holds for everybody: who was ever charged, and who is from now on.

    Labels and packages state it. A cap that was never used and holds no more changes nothing.
    """
    charged = [Policy.stated(e.said(Reserved).policy) for e in live_reservations(entries)]
    return weakest([*charged, current_policy(entries)])


def price_of_change(home: Home, old: Policy, new: Policy) -> str:
    """Say what a change does, and to how many published labels and packages."""
    sentences = [
        f"The policy becomes {_words(new)}; it was {_words(old)}. The change is on record for ever "
        "and holds from the next reservation on."
    ]
    labels = [Policy.stated(cap) for cap in published_caps(home)]
    sentences += _price(new, labels, "published labels promise")
    packages = _stated_to_devices(home)
    sentences += _price(new, packages, "collection packages promise devices")
    if any(_allows_more(new, promised) for promised in packages):
        sentences.append("Devices that heard nothing newer would count with too small a cap.")
    if new.max_refusals > old.max_refusals:
        sentences.append(
            "More verdicts on raw logs let somebody find out more about them without noise."
        )
    return " ".join(sentences)


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
