"""How a run ended, for the command line and for Prefect's page."""

from pathlib import Path
from typing import Literal

from tasks.collection import collection_id
from tasks.log_request import Form
from tasks.publish import published_folder
from tasks.run import LogRun, Run


class Outcome(Form):
    """What became of a release."""

    status: Literal["published", "collecting"]
    release_id: str
    attempt: int
    folder: Path

    @classmethod
    def published(cls, run: LogRun) -> "Outcome":
        """The list is on the public shelf."""
        return cls._of(run, "published", published_folder(run))

    @classmethod
    def collecting(cls, run: Run) -> "Outcome":
        """Devices can report now; the release goes on with their reports."""
        return cls._of(run, "collecting", run.home.collection(collection_id(run)))

    @classmethod
    def _of(
        cls, run: LogRun, status: Literal["published", "collecting"], folder: Path
    ) -> "Outcome":
        return cls(
            status=status,
            release_id=run.release_id,
            attempt=run.attempt,
            folder=folder,
        )
