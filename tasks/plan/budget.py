"""What a planned release would cost people, and how long the cap lasts."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from hybriddp.params import BlenderParams
from tasks.budget.policy import Policy
from tasks.budget.showing.overview import fits_everybody, runway
from tasks.ledger.charges import EPSILON_UNITS, Charge
from tasks.products.head_list.parameters import prices_of
from tasks.store.home import Home

# Days between releases.
PERIODS = {"day": Fraction(1), "week": Fraction(7), "month": Fraction(365, 12)}


@dataclass(frozen=True, slots=True)
class Cap:
    """The policy that holds, where it was read, and what the most charged people have spent."""

    policy: Policy
    where: str
    spent: tuple[Charge, ...] | None  # without and with a Gaussian loss


@dataclass(frozen=True, slots=True)
class Beside:
    """What whoever has a Gaussian loss may lose besides, and how many releases fit into that."""

    most: Charge
    fits: int


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What one release costs each group's members, and how many releases fit."""

    prices: dict[str, Charge]
    cap: Charge
    window_days: int | None
    cap_from: str
    every: str
    horizon_days: int
    rotation: int
    fits: int  # releases that one person can serve in, from a full account
    fits_most_charged: int | None  # what the most charged person has left
    gaussian: Beside | None  # None: nobody has a Gaussian loss
    turns: int  # in how many releases everybody can serve
    epochs: int  # releases that the turns have to last for: of the horizon, or of the window
    served: int  # releases of the horizon that one person serves in, as far as the cap allows
    lasts: int | None  # releases until somebody cannot serve; None: the window keeps refilling
    suggested_rotation: int | None  # None: not even one release fits


def read_cap(home: Path | None) -> Cap:
    """Return the cap of a home's ledger, or the default one; nothing is made or written."""
    if home is None:
        return Cap(Policy(), "the default", None)
    place = Home(home.absolute())
    try:
        if not place.ledger.is_file():
            return Cap(Policy(), "the default; the home has no ledger yet", None)
        reach = runway(place)
    except PermissionError:
        return Cap(Policy(), "the default; the home's ledger cannot be read", None)
    return Cap(reach.policy, "the home's ledger", reach.spent)


def plan_budget(
    params: BlenderParams, rotation: int, every: str, horizon_days: int, cap: Cap
) -> BudgetPlan:
    """Say what a release costs and how many fit.

    A person serves in every `rotation`-th release. The smallest rotation that lasts gives
    everybody at most as many turns as fit under the cap, over the horizon or, where the cap
    refills, over its window.
    """
    charges = {group: Charge.of(budget) for group, budget in prices_of(params).items()}
    asked = Charge.largest(charges.values())  # whichever groups one is in
    policy, window, spent = cap.policy, cap.policy.window_days, cap.spent
    fits, left, gaussian = policy.fits(asked), None, None
    if spent is not None:
        left = fits_everybody(policy, asked, spent)
        if any(one.rho for one in spent):
            most = replace(policy.limit(has_gaussian=True), rho=0)
            gaussian = Beside(most, policy.fits(asked, Charge(0, 0, max(o.rho for o in spent))))
    # What is spent comes back with a window; and who has nothing left is left out anyway.
    turns = left if left and window is None else fits
    refill = horizon_days if window is None else min(window, horizon_days)
    epochs = math.ceil(refill / PERIODS[every])
    in_horizon = math.ceil(math.ceil(horizon_days / PERIODS[every]) / rotation)
    in_window = math.ceil(math.ceil((window or 0) / PERIODS[every]) / rotation)
    return BudgetPlan(
        prices=charges,
        cap=policy.cap,
        window_days=window,
        cap_from=cap.where,
        every=every,
        horizon_days=horizon_days,
        rotation=rotation,
        fits=fits,
        fits_most_charged=left,
        gaussian=gaussian,
        turns=turns,
        epochs=epochs,
        served=min(in_horizon, fits * math.ceil(horizon_days / refill)),
        lasts=None if window is not None and in_window <= fits else turns * rotation,
        suggested_rotation=math.ceil(epochs / turns) if turns else None,
    )


def affordable_epsilon(plan: BudgetPlan, releases: int) -> Fraction:
    """Return the largest epsilon of which this many releases fit under the cap."""
    return Fraction(plan.cap.epsilon, EPSILON_UNITS * max(releases, 1))
