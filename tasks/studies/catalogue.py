"""All studies by name; a figure of the paper is a name, too."""

import re
from collections.abc import Mapping

from hybriddp.errors import require
from tasks.studies.blender.checks import CHECK_STUDIES
from tasks.studies.blender.figures import FIGURE_STUDIES
from tasks.studies.blender.finding import FINDING_STUDY
from tasks.studies.blender.questions import QUESTION_STUDIES
from tasks.studies.blender.series import SERIES_STUDY
from tasks.studies.means.catalogue import MEAN_STUDIES
from tasks.studies.model import Study
from tasks.studies.zealous.catalogue import ZEALOUS_STUDIES

STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        *FIGURE_STUDIES,
        *QUESTION_STUDIES,
        *CHECK_STUDIES,
        FINDING_STUDY,
        SERIES_STUDY,
        *ZEALOUS_STUDIES,
        *MEAN_STUDIES,
    )
}


def aliases() -> dict[str, str]:
    """Return other names of studies: `figure-13` (JPC19), `zeal-table-3`, `mean20-figure-1`."""
    names = {}
    for study in STUDIES.values():
        for figure in study.figures:
            paper, what = re.fullmatch(
                r"(JPC19|SEC17|ZEAL|MEAN20) ((?:figure|table) \d+)", figure
            ).groups()  # type: ignore[union-attr]
            prefix = "" if paper == "JPC19" else f"{paper.lower()}-"
            names[f"{prefix}{what.replace(' ', '-')}"] = study.name
    return names


def find_study(name: str) -> Study:
    """Return the study of this name, or of this figure."""
    known = aliases()
    require(
        name in STUDIES or name in known,
        f"study must be one of {', '.join(STUDIES)}, or figure-8 to figure-19, or zeal-table-1 to "
        "zeal-figure-8, or mean20-figure-1 to mean20-figure-8",
        repr(name),
        "`hybriddp study --list` describes them",
    )
    return STUDIES[known.get(name, name)]
