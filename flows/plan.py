"""Plan a release from Prefect's page: predict, suggest, price. Spends nothing, reads no log."""

from typing import Any

from prefect.artifacts import create_markdown_artifact

from tasks.orchestration.reasons import form_flow, reasoned_task
from tasks.plan.page import as_markdown, headline
from tasks.plan.plan import Plan, make_plan
from tasks.plan.request import PlanRequest
from tasks.store.home import Home


@reasoned_task(name="predict a release")
def predict_release(request: PlanRequest) -> Plan:
    """Rehearse what was asked for; the home is asked for its policy and runway only."""
    return make_plan(request, Home.at().root)


@reasoned_task(name="show the plan")
def show_plan(plan: Plan) -> None:
    """Put the plan on a page."""
    create_markdown_artifact(as_markdown(plan), key="hybriddp-plan", description=headline(plan))


@form_flow
def plan(request: PlanRequest) -> dict[str, Any]:
    """Predict a release and suggest its parameters, from public data."""
    found = predict_release(request)
    show_plan(found)
    return found.as_json()
