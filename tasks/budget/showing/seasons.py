"""How far the budget reaches for a series: in seasons, because a season is what is promised.

One more week costs next to nothing, and says nothing of how many there will be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.accounting.price import Price
from hybriddp.rounding import rounded_up
from tasks.budget.policy import Policy
from tasks.budget.sums.files import put_participation
from tasks.ledger.charges import RHO_UNITS, Charge
from tasks.ledger.payloads import Reserved, SeasonPlace
from tasks.ledger.rules import Entry, SeasonKey, season_key
from tasks.log.engine import Engine
from tasks.store.home import Home


@dataclass(frozen=True, slots=True)
class SeasonRunway:
    """What the newest season of a ledger still costs, and how many more fit after it."""

    place: SeasonPlace  # of its newest week
    n_weeks: int
    is_ended: bool  # by hand: there is no rest
    rest: Charge  # what the weeks that are left cost whoever has joined
    member: Charge  # what a whole season costs whoever opted in
    client: Charge  # what it costs whoever reports in it
    is_covered: bool  # whether whoever has most of a Gaussian loss can pay the rest
    fits_members: int  # more such seasons after this one, for whoever has least left of those
    fits_clients: int  # the same for whoever has been a client
    fits_newcomer: int  # whichever of both they become

    @property
    def fits_largest(self) -> int:
        """How many more seasons fit whoever has least left."""
        return min(self.fits_members, self.fits_clients)

    @property
    def words(self) -> str:
        """Say it in plain words."""
        place, left = self.place, 0 if self.is_ended else self.n_weeks - self.place.week
        which = f"week {place.week} of {self.n_weeks} of season {place.season}"
        if left:
            weeks = f"The other {left} weeks cost" if left > 1 else "The last week costs"
            rho = rounded_up(Fraction(self.rest.rho, RHO_UNITS))
            covered = "for which all of them have room" if self.is_covered else (
                "for which not all of them have room: whoever has not is left out of what they "
                "cannot pay"
            )  # fmt: skip
            ahead = f" {weeks} whoever opted in a Gaussian loss of rho {rho}, {covered}."
        elif self.is_ended:
            ahead = " It was ended there."
        else:
            ahead = " It was the last one."
        return (
            f"Runway of series {place.series}, which is at {which}.{ahead} More seasons like it "
            f"after this one: {self.fits_members} for whoever opted in and has least left, "
            f"{self.fits_clients} for such a client, {self.fits_newcomer} for a newcomer."
        )

    @classmethod
    def of(
        cls,
        policy: Policy,
        place: SeasonPlace,
        prices: Iterable[Charge],
        spent: Iterable[Charge],
        unserved: Iterable[Charge] = (),
        *,
        is_ended: bool,
    ) -> "SeasonRunway":
        """Look ahead from a week.

        Args:
            prices: What the week charged a person, by the groups one is in.
            spent: The most of each part, without and with a Gaussian loss.
            unserved: The same, of those whom this season has not charged yet.
        """
        # Who looks at a ledger without seasons need not wait for it.
        from hybriddp.series.season import Season

        season = Season.of_numbers(place.numbers)
        weeks = [Charge.of(Price(rho=season.rho(week))) for week in range(1, season.n_weeks + 1)]
        rest = Charge.sum([] if is_ended else weeks[place.week :])
        member = Charge.sum([Charge.of(Price(delta=Fraction(season.leak))), *weeks])
        client = Charge.largest(price for price in prices if not price.rho)
        known = list(spent)
        # Their week may be still ahead: then they pay in this season, too, and later than others
        # if a season began in another week of the rotation than the one before.
        is_over = is_ended or place.week >= season.n_weeks
        to_serve = [] if is_over else [Charge.sum([one, client]) for one in unserved if one.epsilon]
        with_gaussian = [Charge.sum([one, rest]) for one in known if one.rho]
        return cls(
            place,
            season.n_weeks,
            is_ended,
            rest,
            member,
            client,
            all(policy.admits(one) for one in with_gaussian),
            _fewest(policy, member, with_gaussian),
            _fewest(policy, client, [*(one for one in known if one.epsilon), *to_serve]),
            min(policy.fits(member), policy.fits(client)),
        )


def season_of(reservation: Entry) -> SeasonKey | None:
    """Return the season that a reservation is a week of, if it is one."""
    reserved = reservation.said(Reserved)
    place = reserved.place
    return None if place is None else season_key(reserved.product, reserved.locale, place)


def unserved_by(engine: Engine, home: Home, reservations: list[Entry]) -> tuple[Charge, ...]:
    """Return the most of each part among those whom the newest season has not charged."""
    season = season_of(reservations[-1]) if reservations else None
    if season is None:
        return ()
    put_participation(engine, home, [one for one in reservations if season_of(one) == season])
    engine.step("ledger/largest_sums_ahead")
    return tuple(map(sums_of, engine.fetch("largest_sums_ahead").to_pylist()))


def sums_of(row: Mapping[str, int]) -> Charge:
    """Return a row of sums as a charge."""
    return Charge(int(row["epsilon"]), int(row["delta"]), int(row["rho"]))


def _fewest(policy: Policy, asked: Charge, spent: list[Charge]) -> int:
    return min((policy.fits(asked, one) for one in spent), default=policy.fits(asked))
