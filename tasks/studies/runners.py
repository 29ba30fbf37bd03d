"""Which code draws the people of a seed and runs a setting: one for each type of setting."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hybriddp.studies.blender.finding import FindingSetting, draw_shared_law, run_finding
from hybriddp.studies.blender.runs import Row, run_setting
from hybriddp.studies.blender.settings import Setting
from hybriddp.studies.blender.users import draw_users
from hybriddp.studies.means.amplification import AmplificationSetting, run_amplification
from hybriddp.studies.means.kmeans_runs import KMeansStudySetting, draw_block, run_block
from hybriddp.studies.means.reports import ReportSetting, run_reports
from hybriddp.studies.means.runs import MeanStudySetting, run_mean_study
from hybriddp.studies.series.runs import run_series
from hybriddp.studies.series.settings import SeriesSetting
from hybriddp.studies.zealous.parameters import ParameterSetting, run_parameters
from hybriddp.studies.zealous.runs import draw_log_of, run_zealous
from hybriddp.studies.zealous.settings import ZealousSetting

AnySetting = (
    Setting
    | FindingSetting
    | SeriesSetting
    | ZealousSetting
    | ParameterSetting
    | MeanStudySetting
    | ReportSetting
    | AmplificationSetting
    | KMeansStudySetting
)


@dataclass(frozen=True, slots=True)
class Runner:
    """How settings of one type are run."""

    draw: Callable[..., Any]  # population, seed, is_quick -> what all settings of a seed share
    run: Callable[..., list[Row]]  # study, setting, seed, what is shared

    @property
    def first_module(self) -> str:
        """The module whose code, and whatever it imports, results depend on."""
        return self.run.__module__


def _draw_nobody(population: str, seed: int, *, is_quick: bool) -> None:
    """Draw nothing: closed forms need no people."""


_RUNNERS: dict[type, Runner] = {
    Setting: Runner(draw_users, run_setting),
    FindingSetting: Runner(draw_shared_law, run_finding),
    SeriesSetting: Runner(draw_shared_law, run_series),
    ZealousSetting: Runner(draw_log_of, run_zealous),
    ParameterSetting: Runner(_draw_nobody, run_parameters),
    MeanStudySetting: Runner(_draw_nobody, run_mean_study),
    ReportSetting: Runner(_draw_nobody, run_reports),
    AmplificationSetting: Runner(_draw_nobody, run_amplification),
    KMeansStudySetting: Runner(draw_block, run_block),
}


def runner_of(setting: AnySetting) -> Runner:
    """Return who runs this setting."""
    return _RUNNERS[type(setting)]
