"""How a run that fails says why: the reason first, in the form's words, and no traceback.

Prefect's page shows the states' messages and the run's log. Both would begin with the class of an
exception, and the log would show it three times with all frames of Prefect itself.
"""

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast, get_type_hints

from prefect import Flow, Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Failed
from pydantic import BaseModel, ValidationError

from hybriddp.errors import HybridDPError
from tasks.release.refusals import BadInput, fields_at_fault, in_the_forms_words

P = ParamSpec("P")
R = TypeVar("R")


def form_flow(function: Callable[..., R]) -> Flow[..., R]:
    """Make a flow of a function of one form, `request`; one that refuses ends with its reason.

    Prefect shows the form's fields, but does not check them when a run begins: it would fail with
    pydantic's words and a traceback. Whoever calls the flow gets the exception.
    """
    form: type[BaseModel] = get_type_hints(function)["request"]

    @_ending_with_a_reason
    @functools.wraps(function)
    def run(request: object) -> R:
        return function(filled_in(form, request))

    return Flow(
        cast(Callable[..., R], run),
        name=function.__name__,
        persist_result=False,
        validate_parameters=False,
    )


def filled_in(form: type[BaseModel], request: object) -> BaseModel:
    """Return a form with these values; say which fields are wrong, and how."""
    try:
        return form.model_validate(request)
    except ValidationError as error:
        raise BadInput(
            f"{fields_at_fault(error)} Correct the form's fields and run it again; nothing was "
            "done, and nobody was charged."
        ) from None


class ReasonedTask(Task[P, R]):
    """A task whose refusals are states with a reason, and still stop the flow that calls it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[override]
        """Run the task; raise what it refused with."""
        result: Any = super().__call__(*args, **kwargs)
        return cast(R, result.result() if isinstance(result, State) else result)


def reasoned_task(**options: Any) -> Callable[[Callable[P, R]], ReasonedTask[P, R]]:
    """Make a task, never cached or stored, whose state says its reason if it refuses."""

    def decorate(function: Callable[P, R]) -> ReasonedTask[P, R]:
        run = _ending_with_a_reason(function)
        return ReasonedTask(run, cache_policy=NO_CACHE, persist_result=False, **options)

    return decorate


def _ending_with_a_reason(function: Callable[P, R]) -> Callable[P, R]:
    """Return a failed state, with the reason as its message, where a function refuses."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except HybridDPError as error:
            return cast(R, Failed(message=in_the_forms_words(str(error)), data=error))

    return run


class _Reason(logging.Filter):
    """Keeps what a run that refuses says of itself, and drops what Prefect says about it."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, HybridDPError):
            return False  # its state has said so, and it is nothing unexpected
        if record.levelno < logging.ERROR and isinstance(record.args, tuple):
            record.args = tuple(_shown(value) for value in record.args)
        # The line that follows it, "Finished in state", says it without class names.
        return not str(record.msg).startswith("Task run failed with state")


def _shown(value: object) -> object:
    return value.message if isinstance(value, State) else value


def quieten(*names: str) -> None:
    """Let Prefect's loggers of runs say reasons instead of tracebacks."""
    for name in names:
        logger: Any = logging.getLogger(name)
        if not any(isinstance(f, _Reason) for f in logger.filters):
            logger.addFilter(_Reason())


quieten("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
