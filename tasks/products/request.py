"""What every release from a search log asks for, whatever it publishes.

Fields are public: they stand in run records and manifests. Nothing private may become one.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from hybriddp.accounting.price import Price
from hybriddp.params import Budget
from tasks.log.epochs import LAST, TIMES_CHECKED, TIMES_MISSING, Epoch
from tasks.log.raw.addresses import in_a_store
from tasks.products.form import Form as Form
from tasks.products.form import Place
from tasks.products.parameters import MeasurementParameters

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
Share = Annotated[float, Field(gt=0, lt=1)]

# What lies in the public zone beside the products' folders.
RESERVED_NAMES = ("collections",)


class PersonColumns(Form):
    """Which columns of the log say whose row it is; the defaults are those of AOL's log."""

    person: str = Field("AnonID", description="The person's id.")
    optin: str | None = Field(None, description="Whether the person opted in, if the log says so.")
    time: str | None = Field(
        "QueryTime", description="When, in UTC if it does not say; empty if the log has no times."
    )


class LogColumns(PersonColumns):
    """Which column of a search log holds what."""

    query: str = Field("Query", description="The query as typed.")
    url: str = Field("ClickURL", description="The clicked url; an empty one means no click.")


# What an operator decides first, and at last; and what they agree to although it looks wrong.
_FIRST = ("log", "epoch")
_LAST = ("sign_off", "new_attempt", "pay_again")
_AGREED = ("ignore_plan", "accept_collapse", "new_attempt", "pay_again")


class LogRequest(Form):
    """One release from one log: the log, who takes part, and what an operator agrees to."""

    log: Place = Field(
        description="AOL-format TSV, CSV or Parquet; plain or gzip; file or folder, here or on s3://."
    )
    epoch: str = Field(description="The period: 2026-W46, 2026-11, 2026-11-16, or last-week.")
    product: Name = Field("search", description="Product that the list belongs to.")
    locale: str = Field(
        "all", pattern=r"^[A-Za-z0-9-]{1,20}$", description="Locale of the list, such as en-US."
    )
    roster: Place | None = Field(
        None, description="Parquet or CSV with columns person, optin: who takes part."
    )
    rotation: int = Field(
        1, ge=1, le=10_000, description="R: each person serves in every R-th epoch only."
    )
    columns: PersonColumns = Field(PersonColumns(), description="The log's columns.")
    max_bad_row_share: float = Field(0.01, ge=0, le=1, description="More bad rows stop a release.")
    max_outside_epoch_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.999,
        description="More rows of other epochs stop a release; a folder may hold years of them.",
    )
    exact_ids: bool = Field(
        False,
        description="Ids are exact tokens: Ab and ab, or 7 and 07, are two people and no mistake.",
    )
    min_group_size: int = Field(2, ge=1, description="Smallest group that a release is made with.")
    engine: Literal["duckdb", "spark"] = Field(
        "duckdb", description="Where SQL runs: spark is a cluster."
    )
    sign_off: bool = Field(False, description="Wait for a person's approval before publishing.")
    new_attempt: bool = Field(False, description="After a burnt draw: pay again for a new attempt.")
    pay_again: bool = Field(
        False, description="Pay for another release of an epoch that has one already."
    )

    @classmethod
    def fields_in_order(cls) -> list[str]:
        """Begin with what must be decided: the log, then what is measured, then the rest.

        What can change without a charge comes later, and what one agrees to at the end.
        """
        settings = {
            name
            for base in cls.__mro__[1:]
            if issubclass(base, Form) and not issubclass(base, LogRequest)
            for name in base.model_fields
        }
        shared = [name for name in LogRequest.model_fields if name not in _FIRST + _LAST]
        own = [name for name in cls.model_fields if name not in LogRequest.model_fields]
        own.sort(key=lambda name: name not in cls.__annotations__)  # only this product's first
        middle = [*(name for name in own if name not in settings), *shared]
        publishing = [name for name in own if name in settings]
        order = [*_FIRST, *middle, *publishing, *_LAST]
        return sorted(order, key=_AGREED.__contains__)

    @field_validator("product")
    @classmethod
    def _product_is_free(cls, name: str) -> str:
        if name in RESERVED_NAMES:
            raise ValueError(
                f"{name} is the folder of packages for devices; give the product another name"
            )
        return name

    @field_validator("epoch")
    @classmethod
    def _epoch_exists(cls, text: str) -> str:
        return text if text in LAST else str(Epoch.parse(text))

    @model_validator(mode="after")
    def _engine_reads_stores(self) -> Self:
        if self.engine == "duckdb" and (in_a_store(self.log) or in_a_store(self.roster)):
            raise ValueError(
                "the log or the roster is in a store, which --engine duckdb does not read: give "
                "--engine spark, or copy or mount the files and give their path"
            )
        return self

    @property
    def named_optin(self) -> str | None:
        """What says who opted in, if anything does."""
        if self.roster is not None:
            return "roster"
        return "column" if self.columns.optin is not None else None

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that the log must have, and whose values need one spelling."""
        named = (self.columns.person, self.columns.optin, self.columns.time)
        return tuple(name for name in named if name)

    @property
    def times(self) -> str:
        """Whether rows were seen to belong to the epoch, in words of the manifest."""
        return TIMES_CHECKED if self.columns.time else TIMES_MISSING

    @property
    def first_columns(self) -> Mapping[str, str | None]:
        """The columns as version 0.1.0 knew them, for the ids of its releases."""
        return self.columns.model_dump(include={"person", "optin"})

    @property
    def key_column(self) -> str | None:
        """The public column of the roster that there is a result for each value of, if any."""
        return None

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of numbers that the log must have, too."""
        return ()

    @property
    def roster_columns(self) -> tuple[str, ...]:
        """The columns that a roster must have."""
        return ("person", "optin")

    @property
    def settings(self) -> Any:
        """The settings of post-processing alone; each product has its own."""
        raise NotImplementedError

    @property
    def slot(self) -> tuple[str, str, str]:
        """What a release is for; there is one of each."""
        return self.product, self.epoch, self.locale

    def at(self, moment: datetime) -> Self:
        """Return the request with its epoch named, as a schedule means it at this moment."""
        return self.model_copy(update={"epoch": str(Epoch.resolve(self.epoch, moment))})

    def parameters(self) -> MeasurementParameters:
        """Return everything that decides what is measured, and nothing else.

        Rounding, expiry, limits and other settings of post-processing are not in it: they can
        change without a new charge.
        """
        raise NotImplementedError

    def measurement_parameters(self) -> dict[str, Any]:
        """Return the same as exact text, as ids, ledgers and manifests hold it."""
        return self.parameters().as_json()

    def prices(self) -> Mapping[str, Budget | Price]:
        """Return what a member pays for each group that they are in, in the order of the draws."""
        raise NotImplementedError

    @property
    def groups_in_the_log(self) -> tuple[str, ...]:
        """The groups whose members are in the log, and charged here."""
        return tuple(self.prices())

    @property
    def may_be_tried_again(self) -> bool:
        """Whether people may pay for another attempt after a burnt draw."""
        return True


class SearchRequest(LogRequest):
    """One release from a log of searches."""

    columns: LogColumns = Field(LogColumns(), description="The log's columns.")
    ignore_plan: bool = Field(
        False, description="Pay although the plan expects that the list will be empty."
    )
    accept_collapse: bool = Field(
        False, description="Publish although the list is empty, or has lost half of the last one."
    )

    @property
    def first_columns(self) -> Mapping[str, str | None]:
        """The columns as version 0.1.0 knew them, for the ids of its releases."""
        return self.columns.model_dump()

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that the log must have, and whose values need one spelling."""
        columns = self.columns
        named = (columns.person, columns.query, columns.time, columns.url, columns.optin)
        return tuple(name for name in named if name)
