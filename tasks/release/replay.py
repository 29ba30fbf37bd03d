"""A published release is asked for again: it is found as it is, and nothing asked goes unsaid."""

import shlex
from collections.abc import Iterable
from typing import Any

from tasks.ledger.payloads import Publication
from tasks.ledger.rules import Entry
from tasks.log.raw.files import BadInput
from tasks.products.request import Form
from tasks.release.run import LogRun, Release


def settings_of(release: Release, publication: Entry) -> dict[str, Any]:
    """Return what a publication was made with, as this version reads it: with its defaults."""
    form = release.product.settings
    read = form.model_validate(publication.said(Publication).settings)
    settings: dict[str, Any] = read.model_dump(exclude={"blocklist"})
    return settings


def refuse_if_it_names(
    release: Release, publication: Entry, blocked: Iterable[str], settings: Form
) -> None:
    """Refuse to find a publication again that names a text of today's blocklist."""
    if set(blocked) <= set(publication.said(Publication).blocked):
        return
    path = shlex.quote(str(getattr(settings, "blocklist", None) or "FILE"))
    raise BadInput(
        f"release {release.release_id} is published, and names texts that the blocklist holds. "
        f"`hybriddp reprocess {release.release_id} --blocklist {path}` takes them down, which is "
        "free; until then they stay public. Nothing was paid or changed."
    )


def not_applied(run: LogRun, publication: Entry) -> dict[str, Any]:
    """Return the settings that somebody asked for and that the publication does not have."""
    published, asked = settings_of(run, publication), run.request
    return {
        name: getattr(asked, name)
        for name, value in published.items()
        if name in asked.model_fields_set and getattr(asked, name) != value
    }
