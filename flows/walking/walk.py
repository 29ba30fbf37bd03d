"""Walk a product's steps as Prefect tasks, each taking what the one before it passed on."""

from collections.abc import Callable, Mapping
from typing import Any

from flows.walking.sign_off import wait_for_sign_off
from tasks.orchestration.tasks import identify, task_of
from tasks.products.product import Product
from tasks.products.request import LogRequest
from tasks.release.outcome import Outcome
from tasks.release.steps import THE_RELEASE

# A question may suspend the run, which only a flow can do.
Ask = Callable[[Any], None]


def walk(product: Product, request: LogRequest, asks: Mapping[str, Ask] = {}) -> Outcome:
    """Make a release; say how it ended.

    Args:
        asks: How a product asks what others do not, by the name that its step gives the question.
    """
    ask = {THE_RELEASE: wait_for_sign_off, **asks}
    passed = identify(product.name, request)
    run = passed.release
    for step in product.working.STEPS:
        if not step.applies(run):
            continue
        if step.asks:
            ask[step.asks](run)
        else:
            passed = task_of(step)(passed)
    return Outcome.collecting(run) if run.is_collecting else Outcome.published(run)
