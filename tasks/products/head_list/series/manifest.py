"""What the manifest of a week says of its season, and how the label says it."""

from typing import Annotated, Any

from tasks.ledger.charges import RHO_UNITS
from tasks.ledger.payloads import SeasonPlace
from tasks.products.head_list import HEADLIST, JOINING
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.label import number_of
from tasks.store.reading import is_text
from tasks.verify import form
from tasks.verify.form import fields, fitting, keyed, listed, maybe, name, text, whole
from tasks.verify.manifest import Guarantee, Part

NEIGHBOURS = (
    "one person's data in all weeks of the season replaced by any other; the set of people is the "
    "same"
)
_MOST_WEEKS, _MOST_TRACKS = 104, 10
_WEEK = whole(1, 10_000)
_UNITS = whole(0, form.MOST)
_SCALES = listed(text(r"0x1\.[0-9a-f]{1,13}p[+-][0-9]{1,4}"), _MOST_WEEKS)
_TRACK = listed(listed(maybe(_UNITS), _MOST_WEEKS), 3)
_NUMBERS = fields(
    {
        "most_records": _WEEK,
        "weight_units": whole(1, 10**9),
        "share_units": whole(1, 10**9),
        "weight_scales": _SCALES,
        "share_scales": _SCALES,
        "tracks": listed(_TRACK, _MOST_TRACKS),
    }
)
_EARLIER = fields(
    {
        "week": _WEEK,
        "release_id": text(r"[0-9a-f]{16,128}"),
        "attempt": whole(1, 10**6),
        "people": form.size,
        "measurements": keyed(name, form.digest, 10),
    }
)


class EarlierMeasured(Part):
    """A week before, which estimates are also made from."""

    week: int
    release_id: str
    attempt: int
    people: int
    measurements: dict[str, str]


class SeasonStated(Part):
    """The season of a week: with what all of its weeks draw, and which are known by now."""

    first_epoch: Annotated[str, fitting(name)]
    numbers: Annotated[dict[str, Any], fitting(_NUMBERS)]
    earlier: Annotated[list[EarlierMeasured], fitting(listed(_EARLIER, _MOST_WEEKS))]
    # Weeks that were drawn, and not published or withdrawn: sums hold what people gave in them.
    unseen: Annotated[list[int], fitting(listed(_WEEK, _MOST_WEEKS))]
    # Of every published record: the week that named it, 0 if it was known before the season.
    found: Annotated[
        dict[str, dict[str, int]],
        fitting(keyed(is_text, keyed(is_text, whole(0, 10_000), 10_000), 10_000)),
    ]

    hidden_changes: Annotated[int, fitting(whole(0, 10_000))]  # left out by a blocklist
    # The publication whose estimates count as one more week before the first, if any does.
    prior_from: Annotated[str | None, fitting(maybe(name))] = None

    def place(self, parameters: HeadListParameters) -> SeasonPlace:
        """Return the place of the week as the ledger knows it; the names before are not said."""
        if parameters.series is None or parameters.season is None or parameters.week is None:
            raise ValueError("a season without a series")
        return SeasonPlace(
            series=parameters.series,
            season=parameters.season,
            week=parameters.week,
            first_epoch=self.first_epoch,
            epsilon=str(parameters.epsilon),
            delta=str(parameters.delta),
            numbers=self.numbers,
            names_of=None,
            earlier=[],
            unseen=[],
        )


def season_promise(
    parameters: HeadListParameters, season: SeasonStated, groups: dict[str, Guarantee]
) -> str:
    """Say what the numbers of the label are for, and what this week is of it."""
    joined, rho = groups[JOINING], groups[HEADLIST].rho_pico
    clients = "A client reports in one week of a season only." if parameters.is_simulated else (
        "A client's device reports in one week of a season at most, which it draws by itself, and "
        "its epsilon above is for the whole season too. Whoever changes sides is on neither until "
        "the season is over: the device does not report in a season that began before its person "
        "opted out, and they cannot opt in before a season is over in which it reported."
    )  # fmt: skip
    return (
        f"**The promise is for a whole season.** This is week {parameters.week} of "
        f"{parameters.season_weeks} of season {parameters.season} of the series "
        f"`{parameters.series}`, which began in {season.first_epoch}. Whoever opted in takes part "
        "in every week, and all weeks together keep the epsilon and delta above, however many of "
        f"them are published. Of its Gaussian loss this week is rho {number_of(rho, RHO_UNITS)}. "
        f"{joined.people:,} people joined this week, and have paid delta "
        f"{number_of(joined.delta_atto, 10**18)} for all tests of the season at once. {clients} "
        "Sums that are carried from week to week stay with the curator, under a key that is "
        "destroyed when the season ends."
    )
