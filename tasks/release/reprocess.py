"""Post-processing again, from stored measurements: free, and a new revision only if it differs."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from hybriddp.errors import InvalidParameter
from tasks.gates.collapse import doubt_about
from tasks.gates.quality import GateRefused, Verdict
from tasks.ledger.payloads import Publication
from tasks.ledger.rules import Kind
from tasks.products.registry import PRODUCTS
from tasks.products.request import Form
from tasks.products.together import settings_of_any
from tasks.publish.publish import refuse_closed, revise
from tasks.publish.withdraw import published_release
from tasks.release.refusals import fields_at_fault
from tasks.release.run import Release
from tasks.store.home import Home


class ReprocessRequest(settings_of_any(PRODUCTS)):  # type: ignore[misc]  # no base can name them
    """Which release, and what is to be different; what is left out stays as it was."""

    release_id: str = Field(description="A published release.")
    accept_collapse: bool = Field(
        False, description="Publish although the list is empty, or has lost half of the last one."
    )

    @classmethod
    def fields_in_order(cls) -> list[str]:
        """Begin with the release, and end with what one agrees to."""
        ends = ("release_id", "accept_collapse")
        settings = [name for name in cls.model_fields if name not in ends]
        return [ends[0], *settings, ends[1]]


@dataclass(frozen=True)
class Again(Release):
    """A release that is processed again; pages show nothing that this request blocks."""

    request: ReprocessRequest


def settings_for(release: Release, request: ReprocessRequest) -> Form:
    """Return the settings of the newest publication, with what the request changes."""
    publications = [
        entry for entry in release.state.entries if entry.kind in (Kind.PUBLISHED, Kind.REVISED)
    ]
    changed = request.model_dump(exclude={"release_id", "accept_collapse"}, exclude_none=True)
    settings = {**publications[-1].said(Publication).settings, **changed}
    form = release.product.settings
    try:
        checked: Form = form.model_validate(settings)
    except ValidationError as error:  # which Prefect's tasks would take for unforeseen
        raise InvalidParameter(fields_at_fault(error)) from None
    return checked


def judge(release: Release, settings: Form, *, accept_collapse: bool) -> Verdict:
    """Judge what would be published; raise GateRefused."""
    verdict = release.product.judge(release, settings)
    doubt = "" if accept_collapse else doubt_about(release, settings)
    if doubt:
        raise GateRefused(
            f"release {release.release_id}: {doubt} Nothing was changed; if that is what you want, "
            "say --accept-collapse (accept_collapse)."
        )
    return verdict


def find(request: ReprocessRequest, home: Home) -> Again:
    """Find the release that is to be processed again."""
    release = published_release(home, request.release_id)
    refuse_closed(release)
    return Again(release.home, release.release_id, release.attempt, request)


def run_reprocess(request: ReprocessRequest, home: Home) -> Path:
    """Run every step in this process, without Prefect."""
    release = find(request, home)
    settings = settings_for(release, request)
    for step in release.product.working.ESTIMATION:
        if step.applies(release):
            step.work(release)
    judge(release, settings, accept_collapse=request.accept_collapse)
    return revise(release, settings)
