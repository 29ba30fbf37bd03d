"""What each kind of row says, typed: read once, when a row is read; nothing behind that indexes.

A row that lacks something, or says something that is not known here, is refused: it might be a
price. Fields that older versions did not write have the meaning that they had then; they are left
out again when a row is spelt, because its hash covers what was written.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Units = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]

# Verdicts on one epoch or log that no draw follows, if the policy does not say how many.
MAX_REFUSALS = 10
# In days, a century: more is for life.
LONGEST_WINDOW = 36_525


class Payload(BaseModel):
    """A part of what a row says, or all of it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is written: what was not said is not added."""
        return self.model_dump(exclude_unset=True)


class Row(Payload):
    """All that a row says beside its kind, its release and its date."""

    # Written from the first version that is not this one: then this program cannot read the row.
    version: Annotated[int, Field(ge=1, le=1)] = 1


class Cap(Payload):
    """A policy in whole units, as rows and manifests state it."""

    cap_epsilon_nano: Units
    cap_delta_atto: Units
    window_days: Annotated[int, Field(ge=1, le=LONGEST_WINDOW)] | None
    # 0.1.0 did not limit them.
    max_refusals: Annotated[int, Field(ge=1, lt=2**31)] = MAX_REFUSALS
    # What people with a Gaussian loss may lose of each kind; where none is stated, none fits.
    gaussian_epsilon_nano: Units | None = None
    gaussian_delta_atto: Units | None = None
    gaussian_rho_pico: Units | None = None

    @model_validator(mode="after")
    def _state_all_parts_or_none(self) -> Self:
        parts = (self.gaussian_epsilon_nano, self.gaussian_delta_atto, self.gaussian_rho_pico)
        if len({part is None for part in parts}) > 1:
            raise ValueError("a cap states all parts for Gaussian losses, or none")
        return self


class Terms(Payload):
    """What each member of a group pays in whole units, and how many there are."""

    epsilon_nano: Units
    delta_atto: Units
    members: Units | None  # None: devices, which keep their own accounts
    rho_pico: Units = 0  # before there were Gaussian draws that add up, nobody paid any

    @property
    def are_devices(self) -> bool:
        """Whether they are devices: they draw by themselves, and nobody is charged here."""
        return self.members is None

    @property
    def n_people(self) -> int:
        """How many people the ledger has charged; it is public."""
        if self.members is None:
            raise LookupError("devices keep their own accounts; the ledger does not count them.")
        return self.members


class Nothing(Row):
    """The kind of a row says it all."""


NOTHING = Nothing()


class PolicySet(Row, Cap):
    """The caps from now on."""


class EarlierWeek(Payload):
    """A week of a season that was published, and not withdrawn, when a later one was reserved."""

    week: Count
    release_id: str
    attempt: Count


class SeasonPlace(Payload):
    """Which week of which season a release is, and what every week of that season draws with.

    The first week of a season that is reserved fixes the numbers, and every later one repeats them.
    """

    series: str
    season: Count
    week: Count
    first_epoch: str
    epsilon: str  # of the whole season, exactly
    delta: str
    numbers: dict[str, Any]  # of hybriddp.series.season.Season
    names_of: str | None  # the publication whose names the season knew before its first week
    earlier: list[EarlierWeek]  # what estimates are made from, beside the week itself
    unseen: list[Count]  # weeks that were drawn, and are not among them

    @property
    def key(self) -> tuple[str, int]:
        """Which season it is, of those of one product and locale."""
        return self.series, self.season


class Reserved(Row):
    """Who pays what, for which release."""

    product: str
    epoch: str
    locale: str
    parameters: dict[str, Any]  # its product reads them
    policy: Cap
    groups: dict[str, Terms]
    participation: str  # the digest of the sealed file
    place: SeasonPlace | None = None  # of a release that is a week of a season

    @property
    def slot(self) -> tuple[str, str, str]:
        """What a release was reserved for."""
        return self.product, self.epoch, self.locale


class DrawStarted(Row):
    """What is about to be drawn, exactly; an event knows its own form."""

    event: dict[str, Any]
    token: str


class Drawn(Row):
    """Which file the measurement is."""

    file: str
    sha256: str
    state: str | None = None  # the digest of what a season carries privately to its next week


class Listed(Row):
    """Which of the texts that were found are left out."""

    left_out: list[str]
    salt: str
    signed_off: bool


class Publication(Row):
    """What would otherwise differ from run to run."""

    created: str
    sequence: Count
    previous: str | None
    revision: Count
    code_version: str
    settings: dict[str, Any]  # the form of its product reads them
    blocked: list[str]
    # What 0.1.0 did not write: its manifests had schema 2, and stated the cap of the reservation.
    schema_version: int = 2
    writer: str | None = None
    latest: bool = True  # whether readers are pointed to it
    cap: Cap | None = None
    salt: str | None = None
    described: str | None = None  # the digest of all that its manifest says; since 0.3.0


class Settled(Payload):
    """Charges of one reservation: groups whose draws had started, so that nobody gets them back."""

    row: Count  # the reservation's
    groups: list[str]


class Summed(Row):
    """Which charges a sealed file of sums holds, each of them once: what may be read in its stead.

    The file follows from rows and participation files, so losing it forgets nothing.
    """

    sums: str  # the digest of the sealed file
    accounts: Units  # how many it has
    parts: list[Count]  # rows of this kind whose charges it holds, too
    added: list[Settled]


class Ended(Row):
    """Which season has no more weeks, though some were left."""

    product: str
    locale: str
    series: str
    season: Count


class Withheld(Row):
    """Why nobody is to see it."""

    reason: str
    salt: str | None = None  # 0.1.0 had none
    is_asked: bool = False  # taken back while devices were still asked, and not at sign-off


class Withdrawn(Row):
    """Why, and when, it was taken back."""

    reason: str
    at: str


class Founded(Row):
    """With which keys the ledger is written, and how it takes ids."""

    keys: dict[str, str]
    id_form: str
    adopted: bool


class Judged(Row):
    """What somebody asked of a log; never what was answered."""

    release_id: str
    product: str
    epoch: str
    suite: str
    limits: dict[str, str]
    log: str | None = None  # the first rows of this kind had none
