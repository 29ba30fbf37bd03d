"""What the steps show that all releases from a log of searches have."""

from typing import Any

from hybriddp.device.normalise import NORMALISATION
from tasks.gates.forecast import Forecast
from tasks.publish.showing import in_markdown
from tasks.release.artifacts import Artifacts, Words
from tasks.release.run import SearchRun


def show_ingest(run: SearchRun, _: Any) -> Artifacts:
    """Say what was read, without how much of it."""
    name = in_markdown(run.request.log.name)
    yield Words("ingest", f"Read {name} into DuckDB; texts will be `{NORMALISATION}`.")


def show_forecast(_run: SearchRun, forecast: Forecast | None) -> Artifacts:
    """Say what the release is expected to list."""
    if forecast is not None:
        yield Words("forecast", f"Before anybody pays: {forecast.words}.")
