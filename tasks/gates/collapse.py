"""Is a list empty, or a shadow of the one that it takes the place of? Then a person decides.

The rule: no row at all; or, in some table, fewer than half of the rows of the list before, or
rows that had less than half of its mass. Only published numbers decide, of the list that the
ledger says is latest. Whether its folder holds what was published is seen; else a person decides.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tasks.gates.blocklist import left_out
from tasks.gates.lists import Texts, weights_of
from tasks.gates.quality import GateRefused
from tasks.ledger.payloads import Publication
from tasks.ledger.rules import Entry, Kind
from tasks.products.request import Form, SearchRequest
from tasks.publish.publication import folder_of, standing_of
from tasks.publish.publish import newest_publication
from tasks.publish.standing import folder_name
from tasks.release.run import LogRun, Release
from tasks.store.keys import Keyring
from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import known_release

LEAST_SHARE = 0.5
# The rows of each table by their texts, with what each weighs.
Lists = Mapping[str, Mapping[Texts, float]]


def doubt_about(release: Release, settings: Form) -> str:
    """Say why a person should look at a list before readers are pointed to it; empty if fine."""
    names = release.product.lists
    if not names:
        return ""
    now = _lists_of(names, release.product.propose(release, settings).tables)
    if not any(now.values()):
        return "the list is empty."
    before = _list_before(release)
    if before is None:
        return ""
    try:
        then = _lists_of(names, _tables_of(release, before))
    except VerificationFailed as error:
        return (
            f"whether the list collapsed cannot be seen: {folder_name(before)}, which the ledger "
            f"says is latest, is not what was published there: {error} Restore its folder from the "
            f"backup of the public zone; if it is gone, run release {before.release_id} again, "
            "which makes it again for free."
        )
    # What somebody blocks, now or before devices were asked, is missing by their own word.
    hidden = left_out(release).union(release.product.making.blocked(release, settings))
    doubts = losses(now, then, hidden)
    return (
        f"the list collapsed against {folder_name(before)}: {'; '.join(doubts)}." if doubts else ""
    )


def doubt_of(run: LogRun) -> str:
    """Say why a run needs a person's word; empty if it does not, or has it."""
    request = run.request
    if not isinstance(request, SearchRequest) or request.accept_collapse:
        return ""
    return "" if run.state.has(Kind.PUBLISHED) else doubt_about(run, request.settings)


def require_a_word(run: LogRun) -> None:
    """Refuse a list that nobody has agreed to, where nobody can be asked."""
    doubt = doubt_of(run)
    if doubt:
        raise GateRefused(refusal(run, doubt))


def refusal(release: Release, doubt: str) -> str:
    """Say why nothing was published, and how to go on."""
    return (
        f"release {release.release_id}: {doubt} Readers are not pointed to such a list without a "
        "person's word. Everything is drawn and stored, and nothing was published. Look at it and "
        "decide with --sign-off in a terminal, or run again with --accept-collapse "
        "(accept_collapse); both are free."
    )


def losses(now: Lists, then: Lists, hidden: frozenset[str]) -> list[str]:
    """Say what the lists have lost beyond what somebody hides."""
    found = []
    for name in now:
        if name not in then:
            continue  # it was not asked for then
        rows = {texts: then[name][texts] for texts in then[name] if hidden.isdisjoint(texts)}
        mass, kept = sum(rows.values()), sum(rows[texts] for texts in rows if texts in now[name])
        if len(now[name]) < LEAST_SHARE * len(rows):
            found.append(f"{name} has {len(now[name])} rows, and had {len(rows)}")
        elif kept < LEAST_SHARE * mass:
            found.append(f"what {name} lists now had {kept / mass:.0%} of its mass then")
    return found


def _list_before(release: Release) -> Entry | None:
    """Return what the list takes the place of: its own last revision, else the latest list."""
    if release.state.has(Kind.PUBLISHED):
        return newest_publication(release)
    return standing_of(release).newest()


def _tables_of(release: Release, publication: Entry) -> Mapping[str, Any]:
    """Return what was published, whoever may write to the shelf; raise VerificationFailed."""
    if publication.key == (release.release_id, release.attempt):
        said = publication.said(Publication)  # of our own measurements
        hidden = frozenset(said.blocked)
        return release.product.make(release, said.settings, hidden, said.schema_version).tables
    folder, home = folder_of(release, publication), release.home
    return known_release(home, folder, Keyring.open(home).public_key).tables


def _lists_of(names: Iterable[str], tables: Mapping[str, Any]) -> Lists:
    return {name: weights_of(tables[name].to_pylist()) for name in names if name in tables}
