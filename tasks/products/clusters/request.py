"""What an operator asks of clusters: a point of numbers of each person, grouped by k-means."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from pydantic import Field, model_validator

from hybriddp.exact import exact
from hybriddp.params import MAX_EPSILON, Budget
from tasks.products.clusters import ANSWERS, KMEANS, POINTS
from tasks.products.clusters.parameters import ClusterParameters
from tasks.products.numbers.request import NumbersRequest, PersonNumber
from tasks.products.request import Form, Name

# Raise it whenever a mechanism's law or the meaning of a measurement changes.
MECHANISM_VERSION: Final = "kmeans-1"


class ClusterSettings(Form):
    """Post-processing settings: they can change without a new charge."""

    decimals: int = Field(4, ge=0, le=12, description="Decimals of published numbers.")
    valid_days: int = Field(14, ge=1, le=3_650, description="Days until the release expires.")
    max_bytes: int = Field(
        5_000_000, ge=1, le=100_000_000, description="Largest file that readers will load."
    )


class KMeansRequest(NumbersRequest, ClusterSettings):
    """One release of the clusters that people's points form."""

    product: Name = Field("clusters", description="Product that the clusters belong to.")
    points: tuple[PersonNumber, ...] = Field(
        min_length=1, max_length=16, description="The numbers of each person, one a dimension."
    )
    n_clusters: int = Field(4, ge=1, le=100, description="K: how many clusters to find.")
    n_iterations: int = Field(
        3, ge=1, le=50, description="How often centres move; each time needs a part of epsilon."
    )
    debias: bool = Field(
        True, description="Undo on average what clients' false answers do; for thousands of people."
    )
    epsilon: float = Field(4.0, gt=0, le=MAX_EPSILON, description="Privacy loss of each person.")

    @model_validator(mode="after")
    def _parameters_fit_together(self) -> "KMeansRequest":
        columns = [number.column for number in self.points]
        if len(set(columns)) < len(columns):
            raise ValueError("points must name each column once")
        _ = self.parameters().design.mechanism  # refuses what cannot be drawn
        return self

    @property
    def numbers(self) -> tuple[PersonNumber, ...]:
        """The numbers of each person: a point's coordinates."""
        return self.points

    @property
    def settings(self) -> ClusterSettings:
        """The settings of post-processing alone."""
        return self.picked(ClusterSettings)

    def prices(self) -> Mapping[str, Budget]:
        """Return what a member of each group pays: the same."""
        return self.parameters().prices

    @property
    def optin_groups(self) -> tuple[str, ...]:
        """The groups of an opt-in person."""
        return (POINTS,)

    @property
    def client_groups(self) -> tuple[str, ...]:
        """The groups of a client."""
        return (ANSWERS,)

    def parameters(self) -> ClusterParameters:
        """Return everything that decides what is measured, exactly."""
        return ClusterParameters(
            strategy=KMEANS,
            mechanism_version=MECHANISM_VERSION,
            points=tuple(number.parameters() for number in self.points),
            grid=self.points[0].grid.n_steps,
            n_clusters=self.n_clusters,
            n_iterations=self.n_iterations,
            debias=self.debias,
            epsilon=exact(self.epsilon, "epsilon"),
            delta=Fraction(0),
            optin=self.optin_source,
            rotation=self.rotation,
            times=self.times,
            clients="simulate",
        )
