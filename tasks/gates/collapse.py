"""Is a list empty, or a shadow of the one that it takes the place of? Then a person decides.

The rule: no row at all; or, in some table, fewer than half of the rows of the list before, or
rows that had less than half of its mass. Only published numbers decide.
"""

from collections.abc import Mapping
from pathlib import Path

from tasks.gates.blocklist import left_out
from tasks.gates.lists import Texts, latest_folder, read_list, weights_of
from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.products.request import Form, SearchRequest
from tasks.publish.publish import published_folder
from tasks.release.run import LogRun, Release

LEAST_SHARE = 0.5


def doubt_about(release: Release, settings: Form) -> str:
    """Say why a person should look at a list before readers are pointed to it; empty if fine."""
    names = release.product.lists
    if not names:
        return ""
    tables = release.product.propose(release, settings).tables
    lists = {name: weights_of(tables[name].to_pylist()) for name in names if name in tables}
    if not any(lists.values()):
        return "the list is empty."
    before = _list_before(release)
    # What somebody blocks, now or before devices were asked, is missing by their own word.
    hidden = left_out(release).union(release.product.making.blocked(release, settings))
    doubts = [] if before is None else _losses(lists, before, hidden)
    if before is None or not doubts:
        return ""
    return f"the list collapsed against {before.name}: {'; '.join(doubts)}."


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


def _list_before(release: Release) -> Path | None:
    """Return what the list takes the place of: its own last revision, else the latest list."""
    if release.state.has(Kind.PUBLISHED):
        return published_folder(release)
    reserved = release.reservation
    return latest_folder(release.home, reserved.product, reserved.locale)


def _losses(
    lists: Mapping[str, Mapping[Texts, float]], before: Path, hidden: frozenset[str]
) -> list[str]:
    found = []
    for name, now in lists.items():
        if not (before / f"{name}.jsonl").exists():
            continue  # it was not asked for then
        try:
            rows = read_list(before, name)
        except (BadInput, ValueError, TypeError, IndexError):
            found.append(f"{name} of then cannot be read")
            continue
        then = {texts: rows[texts] for texts in rows if hidden.isdisjoint(texts)}
        mass, kept = sum(then.values()), sum(then[texts] for texts in then if texts in now)
        if len(now) < LEAST_SHARE * len(then):
            found.append(f"{name} has {len(now)} rows, and had {len(then)}")
        elif kept < LEAST_SHARE * mass:
            found.append(f"what {name} lists now had {kept / mass:.0%} of its mass then")
    return found
