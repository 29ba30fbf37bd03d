"""What releases about people's numbers ask for: a log's columns, and one number of each person."""

from fractions import Fraction

from pydantic import Field

from hybriddp.exact import exact
from hybriddp.randomizers.numbers.grid import DEFAULT_STEPS, ValueGrid
from tasks.products.numbers.parameters import NumberParameters, PerPerson
from tasks.products.request import Form, LogRequest, Share

COUNT = "count"


class PersonNumber(Form):
    """One number of each person: how their rows of a column become it, and what it may be."""

    column: str = Field(min_length=1, description="Column of the log.")
    per_person: PerPerson = Field(
        "sum", description="A person's rows: their sum, mean or max, or count of those not empty."
    )
    upper: float = Field(
        ge=1e-12,
        le=1e15,
        description="Largest number that counts fully; choose it without looking at the log.",
    )

    @property
    def grid(self) -> ValueGrid:
        """The grid on which the number is measured."""
        return ValueGrid(self.upper, DEFAULT_STEPS)

    def parameters(self) -> NumberParameters:
        """Return what decides the number, exactly."""
        return NumberParameters(
            column=self.column, per_person=self.per_person, upper=exact(self.upper, "upper")
        )


class NumbersRequest(LogRequest):
    """One release about numbers of people, from any log that has rows of people."""

    optin_fraction: Share = Field(
        0.05, description="Share of people opted in by keyed hash, if no roster or column says who."
    )

    @property
    def numbers(self) -> tuple[PersonNumber, ...]:
        """The numbers of each person."""
        raise NotImplementedError

    @property
    def optin_groups(self) -> tuple[str, ...]:
        """The groups of an opt-in person."""
        raise NotImplementedError

    @property
    def client_groups(self) -> tuple[str, ...]:
        """The groups of a client."""
        raise NotImplementedError

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of numbers that the log must have, too."""
        return tuple(number.column for number in self.numbers)

    @property
    def roster_columns(self) -> tuple[str, ...]:
        """The columns that a roster must have."""
        return (*super().roster_columns, *((self.key_column,) if self.key_column else ()))

    @property
    def optin_source(self) -> str:
        """Who counts as opted in, in words that name no person."""
        return self.named_optin or f"hash {self.optin_share}"

    @property
    def optin_share(self) -> Fraction:
        """The share of people who are opted in by hash, exactly."""
        return exact(self.optin_fraction, "optin_fraction")
