"""Post-processing again, from stored measurements: free, and a new revision only if it differs."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from hybriddp.errors import InvalidParameter
from tasks.collapse import doubt_about
from tasks.home import Home
from tasks.ledger_rules import Kind
from tasks.log_request import Form
from tasks.processing import (
    blend_estimates,
    check_groups_agree,
    denoise_reports,
    estimate_intervals,
    project_estimates,
    trim_head_list,
)
from tasks.products import Settings, is_head_list, product_of, settings_of
from tasks.publish import refuse_closed, revise
from tasks.quality import GateRefused, Verdict
from tasks.refusals import fields_at_fault
from tasks.run import Release
from tasks.withdraw import published_release


class ReprocessRequest(Form):
    """Which release, and what is to be different; what is left out stays as it was."""

    release_id: str
    decimals: int | None = None
    valid_days: int | None = None
    max_bytes: int | None = None
    blocklist: Path | None = None
    min_agreement: float | None = None
    accept_collapse: bool = False


@dataclass(frozen=True)
class Again(Release):
    """A release that is processed again; pages show nothing that this request blocks."""

    request: ReprocessRequest


def settings_for(release: Release, request: ReprocessRequest) -> Settings:
    """Return the settings of the newest publication, with what the request changes."""
    publications = [
        entry for entry in release.state.entries if entry.kind in (Kind.PUBLISHED, Kind.REVISED)
    ]
    changed = request.model_dump(exclude={"release_id", "accept_collapse"}, exclude_none=True)
    settings = {**publications[-1].payload["settings"], **changed}
    form = settings_of(release.reservation["parameters"])
    try:
        checked: Settings = form.model_validate(settings)
    except ValidationError as error:  # which Prefect's tasks would take for unforeseen
        raise InvalidParameter(fields_at_fault(error)) from None
    return checked


def has_estimates(release: Release) -> bool:
    """Whether a release has steps of its own between measurements and tables: head lists have."""
    return is_head_list(release.reservation["parameters"])


def judge(release: Release, settings: Settings, *, accept_collapse: bool) -> Verdict:
    """Judge what would be published; raise GateRefused."""
    verdict = product_of(release.reservation["parameters"]).judge_release(release, settings)
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
    if has_estimates(release):
        trim_head_list(release)
        denoise_reports(release)
        blend_estimates(release)
        project_estimates(release)
        estimate_intervals(release)
        check_groups_agree(release)
    judge(release, settings, accept_collapse=request.accept_collapse)
    return revise(release, settings)
