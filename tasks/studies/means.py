"""The studies of hybrid means, in the order of MEAN20's sections; reports are ours."""

from tasks.studies.means_amplification import amplification
from tasks.studies.means_groups import heterogeneous
from tasks.studies.means_kmeans import kmeans
from tasks.studies.means_known import known_variance
from tasks.studies.means_reports import reports
from tasks.studies.means_unknown import unknown_variance

MEAN_STUDIES = (
    known_variance, unknown_variance, heterogeneous, reports, kmeans, amplification,
)  # fmt: skip
