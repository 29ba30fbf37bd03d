"""How a run that fails says why: the reason first, in the form's words, and no traceback.

Prefect's page shows the state's message and the run's log. Both would begin with the class of an
exception, and the log would show it three times with all frames of Prefect itself.
"""

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from prefect.context import TaskRunContext
from prefect.states import Failed

from hybriddp.errors import HybridDPError
from tasks.refusals import in_the_forms_words

P = ParamSpec("P")
R = TypeVar("R")


def reasoned(function: Callable[P, R]) -> Callable[P, R]:
    """End a flow that refuses with its reason; whoever called it gets the exception.

    For flows only: a task that returns a failed state does not stop its flow.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except HybridDPError as error:
            if TaskRunContext.get() is not None:
                raise
            return cast(R, Failed(message=in_the_forms_words(str(error)), data=error))

    return run


class _Reason(logging.Filter):
    """Keeps the reason of an error that was raised on purpose, and drops its frames."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if not isinstance(error, HybridDPError):
            return True
        if record.getMessage().startswith("Engine execution"):
            return False  # said already, and nothing unexpected
        record.msg, record.args = in_the_forms_words(str(error)), ()
        record.exc_info = record.exc_text = None
        return True


def quieten(*names: str) -> None:
    """Let Prefect's loggers of runs say reasons instead of tracebacks."""
    for name in names:
        logger: Any = logging.getLogger(name)
        if not any(isinstance(f, _Reason) for f in logger.filters):
            logger.addFilter(_Reason())


quieten("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
