"""Steps of a release by their titles, as a test takes them one by one or leaves one out."""

from typing import Any

from tasks.products.product import Product
from tasks.release.run import LogRun
from tasks.release.step import Step

# What a head list needs before its budget is reserved, and what measures it.
TO_THE_CHARGE = ("ingest", "judge the log", "choose cohorts", "reserve budget")
ALL_DRAWS = (
    "draw head list", "draw opt-in histogram", "trim head list", "collect client reports",
)  # fmt: skip


def step_of(product: Product, title: str) -> Step:
    """Return a step of a product."""
    (found,) = (step for step in product.working.STEPS if step.title == title)
    return found


def do(run: LogRun, *titles: str) -> LogRun:
    """Do these steps, and nothing between them."""
    for title in titles:
        step_of(run.product, title).work(run)
    return run


def leave_out(product: Product, title: str, patch: Any) -> None:
    """Let releases of a product leave a step out, as a defect would."""
    left = tuple(step for step in product.working.STEPS if step.title != title)
    patch.setattr(product.working, "STEPS", left)
