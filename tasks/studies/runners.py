"""Which code draws the people of a seed and runs a setting: one for each type of setting."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hybriddp.mean_study import MeanStudySetting, run_mean_study
from hybriddp.mean_study_amplification import AmplificationSetting, run_amplification
from hybriddp.mean_study_kmeans import KMeansStudySetting, draw_block, run_block
from hybriddp.mean_study_reports import ReportSetting, run_reports
from hybriddp.study_runs import Row, run_setting
from hybriddp.study_settings import Setting
from hybriddp.study_users import draw_users
from hybriddp.zealous_study import draw_log_of, run_zealous
from hybriddp.zealous_study_parameters import ParameterSetting, run_parameters
from hybriddp.zealous_study_settings import ZealousSetting

AnySetting = (
    Setting
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

    first_module: str  # of the library: results depend on it and on whatever it imports
    draw: Callable[..., Any]  # population, seed, is_quick -> what all settings of a seed share
    run: Callable[..., list[Row]]  # study, setting, seed, what is shared


def _draw_nobody(population: str, seed: int, *, is_quick: bool) -> None:
    """Draw nothing: closed forms need no people."""


_RUNNERS: dict[type, Runner] = {
    Setting: Runner("study_runs", draw_users, run_setting),
    ZealousSetting: Runner("zealous_study", draw_log_of, run_zealous),
    ParameterSetting: Runner("zealous_study_parameters", _draw_nobody, run_parameters),
    MeanStudySetting: Runner("mean_study", _draw_nobody, run_mean_study),
    ReportSetting: Runner("mean_study_reports", _draw_nobody, run_reports),
    AmplificationSetting: Runner("mean_study_amplification", _draw_nobody, run_amplification),
    KMeansStudySetting: Runner("mean_study_kmeans", draw_block, run_block),
}


def runner_of(setting: AnySetting) -> Runner:
    """Return who runs this setting."""
    return _RUNNERS[type(setting)]
