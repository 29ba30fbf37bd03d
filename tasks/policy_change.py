"""What another policy means for those who were promised the old one."""

from tasks.home import Home
from tasks.policy import Policy
from tasks.shelf import published_manifests


def price_of_change(home: Home, old: Policy, new: Policy) -> str:
    """Say what a change does, and to how many published labels."""
    n_others = n_broken = 0
    for _, manifest in published_manifests(home):
        promised = Policy.of_payload(manifest["cap"])
        n_others += (promised.cap, promised.window_days) != (new.cap, new.window_days)
        n_broken += _allows_more(new, promised)
    sentences = [
        f"The policy becomes {_words(new)}; it was {_words(old)}. The change is on record for ever "
        "and holds from the next reservation on."
    ]
    if n_others:
        kept = (
            f", and this one is looser than {n_broken} of them: their promise would be broken."
            if n_broken
            else "; this one keeps what they promise."
        )
        sentences.append(f"{n_others} published labels promise another cap{kept}")
    if new.max_refusals > old.max_refusals:
        sentences.append(
            "More verdicts on raw logs let somebody find out more about them without noise."
        )
    return " ".join(sentences)


def _allows_more(new: Policy, promised: Policy) -> bool:
    """Whether somebody may spend more than was promised."""
    is_larger = new.cap.epsilon > promised.cap.epsilon or new.cap.delta > promised.cap.delta
    refills_sooner = new.window_days is not None and (
        promised.window_days is None or new.window_days < promised.window_days
    )
    return is_larger or refills_sooner


def _words(policy: Policy) -> str:
    window = f"any {policy.window_days} days" if policy.window_days else "a lifetime"
    return f"{policy.cap} over {window}, {policy.max_refusals} fruitless verdicts an epoch or log"
