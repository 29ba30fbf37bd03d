"""Walk a product's steps as Prefect tasks, each taking what the one before it passed on."""

from typing import Any

from flows.walking.list_sign_off import wait_for_list_sign_off
from flows.walking.sign_off import wait_for_sign_off
from tasks.orchestration.tasks import identify, task_of
from tasks.products.product import Product
from tasks.products.request import LogRequest
from tasks.release.outcome import Outcome
from tasks.release.steps import THE_LIST, THE_RELEASE

# A question may suspend the run, which only a flow can do.
_ASK: dict[str, Any] = {THE_LIST: wait_for_list_sign_off, THE_RELEASE: wait_for_sign_off}


def walk(product: Product, request: LogRequest) -> Outcome:
    """Make a release; say how it ended."""
    passed = identify(product.name, request)
    run = passed.release
    for step in product.working.STEPS:
        if not step.applies(run):
            continue
        if step.asks:
            _ASK[step.asks](run)
        else:
            passed = task_of(step)(passed)
    return Outcome.collecting(run) if run.is_collecting else Outcome.published(run)
