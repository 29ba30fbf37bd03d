"""Let an interrupt end a long statement: DuckDB 2.0 looks at no signal until it is done."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


def stoppable(call: Callable[[], Answer], interrupt: Callable[[], None]) -> Answer:
    """Make a call in a thread of its own; if a signal raises here, interrupt it until it ends."""
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals come to the main thread
    answer: Future[Answer] = Future()
    is_over = threading.Event()

    def work() -> None:
        if is_over.is_set():
            return
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    thread = threading.Thread(target=work)
    try:
        thread.start()
        return answer.result()
    finally:
        is_over.set()  # the signal may have come while the thread began: then it does nothing
        while thread.is_alive() and not answer.done():  # only if a signal has raised
            interrupt()  # the statement may not have begun yet, so ask until it has ended
            thread.join(0.05)
