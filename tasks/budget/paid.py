"""What a release that failed has cost, in words for whoever reads the error."""

from collections.abc import Iterator
from contextlib import contextmanager

from hybriddp.errors import HybridDPError
from tasks.ledger.charges import Charge
from tasks.ledger.rules import Attempt, Kind
from tasks.release.run import Release

# What steps say that usually come before the charge; a resumed release knows better.
_NOBODY = " Nobody was charged."


@contextmanager
def saying_what_was_paid(release: Release) -> Iterator[None]:
    """Add one sentence to an error that comes after the charge: who paid what, and what to do."""
    try:
        yield
    except HybridDPError as error:
        words = what_was_paid(release)
        if words and words not in str(error):
            error.args = (f"{str(error).replace(_NOBODY, '')} {words}",)
        raise


def what_was_paid(release: Release) -> str:
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


def _what_to_do(release: Release, state: Attempt) -> str:
    if state.has(Kind.WITHHELD) or state.has(Kind.WITHDRAWN):
        return "They stay charged."
    if state.burnt_draws:
        return "A draw was begun and not finished: --new-attempt (new_attempt) pays once more."
    if any(entry.kind is Kind.DRAW_STARTED for entry in state.entries):
        return "Run it again when the cause is mended: what was drawn is kept, and that is free."
    return (
        "Nothing is drawn yet: run it again for free when the cause is mended, or give the charge "
        f"back with `hybriddp ledger void {release.release_id}`."
    )
