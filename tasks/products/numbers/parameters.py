"""What decides a number of each person, as ledgers and manifests hold it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict

from tasks.products.parameters import Column, Exact, MeasurementParameters, Short
from tasks.verify.form import fitting, whole

PerPerson = Literal["sum", "mean", "max", "count"]


class NumberParameters(BaseModel):
    """One number of each person: how their rows of a column become it, and what it may be."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    column: Column
    per_person: PerPerson
    upper: Exact


class NumbersParameters(MeasurementParameters):
    """What every release about numbers is asked for."""

    grid: Annotated[int, fitting(whole(1, 2**20))]
    clients: Short | None = None

    @property
    def key_column(self) -> str | None:
        """The public column of the roster that there is a result for each value of, if any."""
        return None
