"""Post-processing again from the measurements: free."""

from pathlib import Path

from tasks.orchestration.reasons import form_flow
from tasks.orchestration.tasks import find_release, judge_and_revise, task_of
from tasks.release.reprocess import ReprocessRequest


@form_flow
def reprocess(request: ReprocessRequest) -> Path:
    """Do the post-processing of a published release again; publish a revision if it differs."""
    passed = find_release(request)
    for step in passed.release.product.working.ESTIMATION:
        if step.applies(passed.release):
            passed = task_of(step)(passed)
    folder: Path = judge_and_revise(passed, request)
    return folder
