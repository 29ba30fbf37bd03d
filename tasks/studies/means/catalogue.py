"""The studies of hybrid means, in the order of MEAN20's sections; reports are ours."""

from tasks.studies.means.amplification import amplification
from tasks.studies.means.groups import heterogeneous
from tasks.studies.means.kmeans import kmeans
from tasks.studies.means.known import known_variance
from tasks.studies.means.reports import reports
from tasks.studies.means.unknown import unknown_variance

MEAN_STUDIES = (
    known_variance, unknown_variance, heterogeneous, reports, kmeans, amplification,
)  # fmt: skip
