"""The studies of ZEALOUS: the tables and figures of ZEAL, its attacks, and BLENDER beside it."""

from tasks.studies.zealous.applications import caching, substitution
from tasks.studies.zealous.comparisons import attacks, records
from tasks.studies.zealous.contributions import contributions
from tasks.studies.zealous.counts import counts
from tasks.studies.zealous.parameters import parameters

ZEALOUS_STUDIES = (
    parameters, contributions, counts, caching, substitution, attacks, records,
)  # fmt: skip
