"""What an operator asks of a mean: one number of each person, averaged over both groups."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from hybriddp.exact import exact
from hybriddp.mean.clients import GAUSSIAN
from hybriddp.mean.estimate import ESTIMATED, KNOWN, PRIVACY
from hybriddp.params import MAX_EPSILON, Budget
from tasks.ledger.charges import EPSILON_UNITS
from tasks.products.mean import MEAN, NUMBERS, SQUARES, SUMS
from tasks.products.mean.parameters import MeanParameters, Noise, Report, Weight
from tasks.products.numbers.parameters import PerPerson
from tasks.products.numbers.request import NumbersRequest, PersonNumber
from tasks.products.request import Form, Name

# Raise it whenever a mechanism's law or the meaning of a measurement changes.
MECHANISM_VERSION: Final = "mean-1"

# What is filled in where an operator says nothing; one number a key asks for other noise. Schemas
# do not show it: Prefect's form would send back what they show, as if the operator had said it.
_DEFAULTS = {"noise": "laplace", "report": "mixed", "weight": ESTIMATED}
_ONE_NUMBER_DEFAULTS = {"noise": GAUSSIAN, "report": GAUSSIAN, "weight": PRIVACY}
_VARIANCE_SHARE, _GAUSSIAN_DELTA = 0.05, 1e-5


class MeanSettings(Form):
    """Post-processing settings: they can change without a new charge."""

    decimals: int = Field(4, ge=0, le=12, description="Decimals of published numbers.")
    valid_days: int = Field(14, ge=1, le=3_650, description="Days until the release expires.")
    max_bytes: int = Field(
        5_000_000, ge=1, le=100_000_000, description="Largest file that readers will load."
    )
    min_agreement: float = Field(
        1e-6,
        ge=0,
        le=1,
        description="Withhold if opt-in people and clients agree less (p-value); 0 never does.",
    )


class MeanRequest(NumbersRequest, MeanSettings):
    """One release of the mean of a number that every person has."""

    product: Name = Field("mean", description="Product that the mean belongs to.")
    column: str = Field(min_length=1, description="Column of the log, such as DwellSeconds.")
    per_person: PerPerson = Field(
        "sum",
        description="One number of a person's rows: their sum, mean, max, or count if not empty.",
    )
    upper: float = Field(
        ge=1e-12,
        le=1e15,
        description="Largest number of a person that counts fully; chosen without the log.",
    )
    by: str | None = Field(
        None,
        min_length=1,
        description="Column of the roster, such as country: a result for each of its values. How "
        "many people have which is published, so who has which must not be private.",
    )
    epsilon: float = Field(1.0, gt=0, le=MAX_EPSILON, description="Privacy loss of each person.")
    delta: float = Field(
        default_factory=lambda: 0.0,
        ge=0,
        lt=1,
        description="Chance that the promise may fail; Gaussian noise needs one, by default 1e-5.",
    )
    one_number: bool = Field(
        False,
        description="Publish one number a key and nothing else of it, with Gaussian noise: then "
        "those who see only the release learn less than epsilon says.",
    )
    noise: Noise = Field(
        default_factory=lambda: "laplace",
        description="The curator's noise on opt-in people's sums.",
    )
    report: Report = Field(
        default_factory=lambda: "mixed",
        description="How clients report; mixed is the most exact.",
    )
    weight: Weight = Field(
        default_factory=lambda: "estimated-variance",
        description="How much the opt-in people's mean counts.",
    )
    variance_share: Annotated[float, Field(ge=0, lt=1)] = Field(
        default_factory=lambda: _VARIANCE_SHARE,
        description="Share of an opt-in person's epsilon that finds out how much numbers spread; "
        "only for a weight that asks for it.",
    )
    known_sd: float | None = Field(
        None, gt=0, description="The numbers' standard deviation, if you know it without the log."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        fitting = _ONE_NUMBER_DEFAULTS if given.get("one_number") else _DEFAULTS
        filled: dict[str, Any] = fitting | {k: v for k, v in given.items() if v is not None}
        is_gaussian = GAUSSIAN in (filled["noise"], filled["report"])
        filled.setdefault("delta", _GAUSSIAN_DELTA if is_gaussian else 0.0)
        filled.setdefault("variance_share", _VARIANCE_SHARE if filled["weight"] == ESTIMATED else 0)
        return filled

    @model_validator(mode="after")
    def _parameters_fit_together(self) -> "MeanRequest":
        if self.by is not None and self.roster is None:
            raise ValueError("by names a column of the roster: give a roster")
        is_gaussian = GAUSSIAN in (self.noise, self.report)
        if (self.delta == 0) == is_gaussian:
            need = "above 0 for Gaussian noise" if is_gaussian else "0 without Gaussian noise"
            raise ValueError(f"delta must be {need}")
        if (self.weight == KNOWN) != (self.known_sd is not None):
            raise ValueError("known_sd belongs to weight known-variance: give both or neither")
        if self.known_sd is not None and self.known_sd > self.upper / 2:
            raise ValueError("known_sd must be at most half of upper: no numbers spread more")
        if self.variance_share > 0 and self.weight != ESTIMATED:
            raise ValueError(f"variance_share must be 0 unless weight is {ESTIMATED}")
        if 0 < self.variance_share * self.epsilon < 1 / EPSILON_UNITS:
            raise ValueError(
                f"variance_share of epsilon must be at least {1 / EPSILON_UNITS:g}, the smallest "
                "loss that the ledger books: raise one of them, or take weight privacy"
            )
        if self.one_number:
            self._require_one_number()
        self.prices()  # refuses parts of the budget that are nothing
        return self

    def _require_one_number(self) -> None:
        """The second guarantee holds for one number whose weight nobody's data has changed."""
        if (self.noise, self.report) != (GAUSSIAN, GAUSSIAN):
            raise ValueError(
                "one_number needs noise gaussian and report gaussian: other noise does not add up"
            )
        if self.weight == ESTIMATED:
            raise ValueError("one_number needs a weight that does not depend on the log")

    @property
    def numbers(self) -> tuple[PersonNumber, ...]:
        """The numbers of each person: one."""
        return (PersonNumber(column=self.column, per_person=self.per_person, upper=self.upper),)

    @property
    def key_column(self) -> str | None:
        """The public column of the roster that there is a mean for each value of, if any."""
        return self.by

    @property
    def budget(self) -> Budget:
        """What every person pays."""
        return Budget(exact(self.epsilon, "epsilon"), exact(self.delta, "delta"))

    @property
    def settings(self) -> MeanSettings:
        """The settings of post-processing alone."""
        return self.picked(MeanSettings)

    def prices(self) -> Mapping[str, Budget]:
        """Return what a member of each group pays: opt-in people for the sums and the squares."""
        return self.parameters().prices

    @property
    def optin_groups(self) -> tuple[str, ...]:
        """The groups of an opt-in person."""
        return (SUMS, SQUARES) if self.variance_share > 0 else (SUMS,)

    @property
    def client_groups(self) -> tuple[str, ...]:
        """The groups of a client."""
        return (NUMBERS,)

    def parameters(self) -> MeanParameters:
        """Return everything that decides what is measured, exactly."""
        (number,) = self.numbers
        return MeanParameters(
            strategy=MEAN,
            mechanism_version=MECHANISM_VERSION,
            **dict(number.parameters()),
            by=self.by,
            min_group_size=self.min_group_size,
            grid=number.grid.n_steps,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            one_number=self.one_number,
            noise=self.noise,
            report=self.report,
            weight=self.weight,
            variance_share=exact(self.variance_share, "variance_share"),
            known_sd=None if self.known_sd is None else exact(self.known_sd, "known_sd"),
            optin=self.optin_source,
            rotation=self.rotation,
            times=self.times,
            clients="simulate",
        )
