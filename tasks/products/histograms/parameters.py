"""What decides the measurements of histograms, exactly, and what people pay for them."""

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hybriddp.params import Budget
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS
from tasks.products.parameters import MeasurementParameters, Short
from tasks.verify.form import fitting, whole

Kind = Literal["keywords", "queries", "pairs", "clicks"]
Relaxation = Literal["probabilistic", "indistinguishable"]


def _once(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    if len(set(kinds)) < len(kinds):
        raise ValueError("a kind that is named twice")
    return kinds


class ZealousParameters(MeasurementParameters):
    """What histograms are asked for."""

    strategy: Literal["zealous"]
    mechanism_version: Literal["zealous-1"]
    normalisation: Short | None = None
    relaxation: Relaxation
    # In the order of their draws.
    histograms: Annotated[
        tuple[Kind, ...], Field(strict=False, min_length=1), AfterValidator(_once)
    ]
    items_per_user: Annotated[int, fitting(whole(1, 1_000))]
    session_gap_minutes: Annotated[int, fitting(whole(1, 10**6))] | None = None

    @property
    def prices(self) -> dict[str, Budget]:
        """What each histogram costs a person: equal parts."""
        part = part_of(Budget(self.epsilon, self.delta), len(self.histograms))
        return dict.fromkeys(self.histograms, part)


def part_of(whole: Budget, n_parts: int) -> Budget:
    """Return one of equal parts of a budget, in whole units of the ledger: their sum fits."""
    return Budget(
        Fraction(int(whole.epsilon * EPSILON_UNITS / n_parts), EPSILON_UNITS),
        Fraction(int(whole.delta * DELTA_UNITS / n_parts), DELTA_UNITS),
    )
