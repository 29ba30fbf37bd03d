"""The studies of ZEALOUS: the tables and figures of ZEAL, its attacks, and BLENDER beside it."""

from tasks.studies.zealous_applications import caching, substitution
from tasks.studies.zealous_comparisons import attacks, records
from tasks.studies.zealous_contributions import contributions
from tasks.studies.zealous_counts import counts
from tasks.studies.zealous_parameters import parameters

ZEALOUS_STUDIES = (
    parameters, contributions, counts, caching, substitution, attacks, records,
)  # fmt: skip
