"""A product of a test's own: the share of people whose rows have a value.

Everything that it is made of exists: numbers of people from a log, and a noisy sum of 0 and 1.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
from pydantic import Field

from hybriddp.exact import exact
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.params import Budget
from tasks.gates.quality import Result, Verdict
from tasks.measured.drawing import draw_once
from tasks.measured.stored import load_measurement
from tasks.products.files import Made, files_of, rounded
from tasks.products.numbers.log import NumbersRun, cohort_values
from tasks.products.numbers.request import NumbersRequest, PersonNumber
from tasks.products.numbers.steps import BEFORE_THE_CHARGE
from tasks.products.parameters import Column, MeasurementParameters
from tasks.products.product import Group, Product
from tasks.products.request import Form, Name
from tasks.release.run import find_attempt
from tasks.release.step import Step
from tasks.release.steps import DISCARD, PUBLISH, RESERVE, SIGN_OFF, judging
from tasks.verify.checks import VerificationFailed, require_prices
from tasks.verify.manifest import Decimals, Manifest, guarantees_of, words_of

HOLDERS, TABLE = "holders", "shares"
SCHEMA = pa.schema({"people": pa.int64(), "share": pa.float64()})
WORDS = words_of({HOLDERS: "were counted"}, {HOLDERS: "the curator"})


class ShareSettings(Form):
    """What can change without a charge."""

    decimals: int = Field(3, ge=1, le=9, description="Decimals of the share.")
    valid_days: int = Field(14, ge=1, le=99, description="Days until it expires.")


class ShareParameters(MeasurementParameters):
    """What decides what is measured."""

    column: Column


class ShareManifest(Manifest):
    """What is signed."""

    parameters: ShareParameters
    decimals: Decimals


class ShareRequest(NumbersRequest, ShareSettings):
    """One release of a share."""

    product: Name = Field("shares", description="Product that the share belongs to.")
    column: str = Field(min_length=1, description="Column whose values count.")
    epsilon: float = Field(1.0, gt=0, le=50, description="Privacy loss of each person.")
    optin_groups: ClassVar = (HOLDERS,)
    client_groups: ClassVar = ()

    @property
    def numbers(self):
        return (PersonNumber(column=self.column, per_person="count", upper=1),)

    @property
    def settings(self):
        return self.picked(ShareSettings)

    def prices(self):
        return prices_of(self.parameters())

    def parameters(self):
        return ShareParameters(
            strategy="share", mechanism_version="share-1", column=self.column,
            epsilon=exact(self.epsilon, "epsilon"), delta=Fraction(0),
            optin=self.optin_source, rotation=self.rotation, times=self.times,
        )  # fmt: skip


def prices_of(parameters: ShareParameters) -> dict[str, Budget]:
    return {HOLDERS: Budget(parameters.epsilon)}


@dataclass(frozen=True)
class ShareRun(NumbersRun):
    request: ShareRequest


def draw_holders(run: ShareRun) -> pa.Table:
    mechanism = BoundedSumMechanism.for_budget(prices_of(run.request.parameters())[HOLDERS], 1)

    def draw(found: Any) -> pa.Table:
        has_one = (found.values[:, 0] > 0).astype("int64")
        noisy = mechanism.draw(has_one, found.keys, len(found.key_names))
        return pa.table({"people": [len(has_one)], "noisy": noisy})

    return draw_once(run, HOLDERS, mechanism.event, lambda: cohort_values(run, HOLDERS), draw)


def tables_of(measured: pa.Table, decimals: int) -> dict[str, pa.Table]:
    (row,) = measured.to_pylist()
    share = rounded(min(max(row["noisy"] / row["people"], 0), 1), decimals)
    rows = [{"people": row["people"], "share": share}]
    return {TABLE: pa.Table.from_pylist(rows, schema=SCHEMA)}


def make(release, settings, _hidden, _version) -> Made:
    decimals = settings["decimals"]
    guarantees = guarantees_of(release.reservation.groups, WORDS)
    tables = tables_of(load_measurement(release, HOLDERS), decimals)
    return Made(tables, {"guarantees": guarantees, "decimals": decimals}, decimals)


def recomputed_files(manifest, _tables, measured, _hidden) -> dict[str, bytes]:
    return files_of(tables_of(measured[HOLDERS], manifest.decimals), manifest.decimals)


def identify(request, home) -> ShareRun:
    return ShareRun(home, *find_attempt(request, home), request)


def check_promise(manifest, tables) -> None:
    require_prices(manifest, prices_of(manifest.parameters))
    if tables[TABLE]["people"].to_pylist() != [manifest.guarantees[HOLDERS].people]:
        raise VerificationFailed("the guarantees speak of other people than the table counts.")


SHARES = Product(
    name="share", help="Publish which share of people has a value.", strategies=("share",),
    people=((Group(HOLDERS, "opt-in people", "share_counts.parquet"),),),
    event_modules=("hybriddp.mean.events",), lists=(), suites=("raw_numbers",),
    settings_part=ShareSettings, request_part=ShareRequest,
    checking_part=SimpleNamespace(
        MANIFEST=ShareManifest,
        label=lambda manifest: f"A share of people: {manifest.parameters.column}.\n",
        schemas=lambda _: {TABLE: SCHEMA}, groups=lambda _: (HOLDERS,), words=lambda _: WORDS,
        check_promise=check_promise, recomputed_files=recomputed_files,
    ),
    making_part=SimpleNamespace(
        blocked=lambda *_: [], make=make,
        judge=lambda *_: Verdict("shares", (Result("there", (), True, "always"),)),
    ),
    working_part=SimpleNamespace(
        ESTIMATION=(), identify=identify,
        STEPS=(*BEFORE_THE_CHARGE, RESERVE, Step("draw holders", draw_holders, draws=(HOLDERS,)),
               DISCARD, judging("judge the share", "gate-share"), SIGN_OFF, PUBLISH),
    ),
    summary_part=lambda published: [f"{published.rows[TABLE][0]['share']:.0%} have a value"],
)  # fmt: skip
