"""Post-processing again from the measurements: free."""

from pathlib import Path

from tasks.orchestrated import (
    blend,
    check_groups_agree,
    denoise,
    estimate_intervals,
    find_release,
    judge_and_revise,
    project,
)
from tasks.reasons import form_flow
from tasks.reprocess import ReprocessRequest, has_estimates


@form_flow
def reprocess(request: ReprocessRequest) -> Path:
    """Do the post-processing of a published release again; publish a revision if it differs."""
    release = find_release(request)
    if has_estimates(release):
        denoise(release)
        blend(release)
        project(release)
        estimate_intervals(release)
        check_groups_agree(release)
    folder: Path = judge_and_revise(release, request)
    return folder
