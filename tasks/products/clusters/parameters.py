"""What decides the measurements of clusters, exactly, and what people pay for them."""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from hybriddp.kmeans.estimation import ClusterDesign
from hybriddp.params import Budget
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.numbers.parameters import NumberParameters, NumbersParameters
from tasks.verify.form import fitting, one_of, whole


class ClusterParameters(NumbersParameters):
    """What clusters are asked for."""

    strategy: Literal["kmeans"]
    mechanism_version: Literal["kmeans-1"]
    points: Annotated[
        tuple[NumberParameters, ...], Field(strict=False, min_length=1, max_length=16)
    ]
    n_clusters: Annotated[int, fitting(whole(1, 100))]
    n_iterations: Annotated[int, fitting(whole(1, 50))]
    debias: Annotated[bool, fitting(one_of(True, False))]

    @property
    def columns(self) -> list[str]:
        """The columns of a point, in order."""
        return [point.column for point in self.points]

    @property
    def prices(self) -> dict[str, Budget]:
        """What a member of each group pays: the same."""
        return dict.fromkeys((POINTS, ANSWERS), Budget(self.epsilon))

    @cached_property
    def design(self) -> ClusterDesign:
        """The mechanism, as the library knows it."""
        return ClusterDesign(
            budget=Budget(self.epsilon),
            uppers=tuple(point.upper for point in self.points),
            grid=self.grid,
            n_clusters=self.n_clusters,
            n_iterations=self.n_iterations,
            debias=self.debias,
        )
