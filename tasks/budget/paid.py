"""What people have paid and may lose, in words: for a release that failed, and for rho."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from hybriddp.errors import HybridDPError
from hybriddp.rounding import rounded_up
from tasks.budget.policy import Policy
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Charge
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Attempt, Kind

if TYPE_CHECKING:
    from tasks.release.run import Release

# What steps say that usually come before the charge; a resumed release knows better.
_NOBODY = " Nobody was charged."


@contextmanager
def saying_what_was_paid(release: "Release") -> Iterator[None]:
    """Add one sentence to an error that comes after the charge: who paid what, and what to do."""
    try:
        yield
    except HybridDPError as error:
        words = what_was_paid(release)
        if words and words not in str(error):
            error.args = (f"{str(error).replace(_NOBODY, '')} {words}",)
        raise


def what_was_paid(release: "Release") -> str:
    """Say what was charged to whom by an attempt that is not published; empty if nobody was."""
    state = release.state
    reserved = state.reserved
    if reserved is None or state.has(Kind.PUBLISHED) or state.has(Kind.VOIDED):
        return ""
    parts = [
        f"{terms.members:,} people {Charge.of_terms(terms)} each ({group})"
        for group, terms in reserved.groups.items()
        if terms.members is not None
    ]
    return f"Charged for this release: {', '.join(parts)}. {_what_to_do(release, state)}"


def _what_to_do(release: "Release", state: Attempt) -> str:
    if state.has(Kind.WITHHELD) or state.has(Kind.WITHDRAWN):
        return "They stay charged."
    if state.burnt_draws:
        assert state.reserved is not None
        return f"A draw was begun and not finished: {after_a_burn(state.reserved)}."
    if state.unfinished_sealings:
        return (
            "Sealing the reports of devices was begun and not finished: run it again with "
            "--reports (reports) when the cause is mended; that is free."
        )
    if any(entry.kind is Kind.DRAW_STARTED for entry in state.entries):
        return "Run it again when the cause is mended: what was drawn is kept, and that is free."
    return (
        "Nothing is drawn yet: run it again for free when the cause is mended, or give the charge "
        f"back with `hybriddp ledger void {release.release_id}`."
    )


def after_a_burn(reserved: Reserved) -> str:
    """Say what can be done after a draw that was started and never finished."""
    if reserved.place is not None:
        return "go on with the next epoch: this one is missing from its series"
    return "pay for a new attempt with --new-attempt (new_attempt)"


def parts_in_words(policy: Policy) -> str:
    """Say what whoever has a Gaussian loss may lose of each kind, all of it inside the cap."""
    part = policy.with_gaussian
    if part is None:
        return "No Gaussian loss fits it: nobody can take part in what is charged in rho."
    rest = Charge(part.epsilon, part.delta)
    rho = rounded_up(Fraction(part.rho, RHO_UNITS))
    epsilon = rounded_up(Fraction(policy.cap.epsilon - part.epsilon, EPSILON_UNITS))
    return (
        "Whoever has a Gaussian loss, which is charged in rho and adds up in it, may lose at most "
        f"rho {rho}, which is epsilon {epsilon} at delta {_converting(policy)}, and {rest} of all "
        "else: together no more than the cap."
    )


def rho_in_words(policy: Policy, charge: Charge) -> str:
    """Say which epsilon the rho of a charge is; empty if it has none."""
    if charge.rho == 0:
        return ""
    from hybriddp.accounting.filters import least_epsilon  # only Gaussian losses need scipy

    rho, delta = Fraction(charge.rho, RHO_UNITS), policy.converting_delta
    if delta == 0:
        return f"The Gaussian loss of rho {rounded_up(rho)} is no epsilon without a delta."
    epsilon = rounded_up(least_epsilon(rho, Fraction(delta, DELTA_UNITS)))
    return (
        f"The Gaussian loss of rho {rounded_up(rho)} is epsilon {epsilon} at delta "
        f"{_converting(policy)}."
    )


def _converting(policy: Policy) -> str:
    return rounded_up(Fraction(policy.converting_delta, DELTA_UNITS))
