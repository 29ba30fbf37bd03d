"""How a run ended, for the command line and for Prefect's page."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tasks.products.request import Form
from tasks.publish.publication import folder_of
from tasks.publish.publish import newest_publication
from tasks.release.replay import not_applied
from tasks.release.run import LogRun, collection_id


class Outcome(Form):
    """What became of a release."""

    status: Literal["published", "collecting"]
    release_id: str
    attempt: int
    folder: Path
    not_applied: dict[str, Any] = Field(
        default_factory=dict, description="Settings asked for that the publication does not have."
    )

    @classmethod
    def published(cls, run: LogRun) -> "Outcome":
        """The list is on the public shelf."""
        newest = newest_publication(run)
        return cls._of(run, "published", folder_of(run, newest), not_applied(run, newest))

    @classmethod
    def collecting(cls, run: LogRun) -> "Outcome":
        """Devices can report now; the release goes on with their reports."""
        return cls._of(run, "collecting", run.home.collection(collection_id(run)))

    @classmethod
    def _of(
        cls,
        run: LogRun,
        status: Literal["published", "collecting"],
        folder: Path,
        settings: dict[str, Any] | None = None,
    ) -> "Outcome":
        return cls(
            status=status,
            release_id=run.release_id,
            attempt=run.attempt,
            folder=folder,
            not_applied=settings or {},
        )
