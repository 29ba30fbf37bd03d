"""From the draws of a head list to what is published, step by step, in either strategy.

A release writes every step down, a simulation and a rehearsal only look at the end, and whoever
audits does it again: all of them by these functions.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, TypeVar, cast

from hybriddp.blender.estimation import high_utility, paper
from hybriddp.blender.estimation.crosscheck import CrossCheck
from hybriddp.blender.estimation.levels import Bounded, Draws, Levels, Sides
from hybriddp.blender.headlist import HeadList
from hybriddp.params import PAPER, BlenderParams

D = TypeVar("D", contravariant=True)


class Strategy(Protocol[D]):
    """The steps of one strategy: a module with these names, for what its draws gave."""

    INTERVAL_METHOD: str

    def choose(self, params: BlenderParams, draws: D) -> HeadList:
        """Return the list as clients know it; their reports are not needed."""

    def denoise(self, params: BlenderParams, head_list: HeadList, draws: D) -> Sides:
        """Return what the opt-in groups say, and what the clients say."""

    def blend(self, params: BlenderParams, head_list: HeadList, draws: D, sides: Sides) -> Levels:
        """Return what all groups say together."""

    def weighed(
        self,
        params: BlenderParams,
        head_list: HeadList,
        draws: D,
        sides: Sides,
        blended: Levels,
    ) -> Levels:
        """Return what the clients say, with the variances that the blend gives them."""

    def project(self, head_list: HeadList, blended: Levels) -> Levels:
        """Return the nearest distributions."""

    def bound(self, blended: Levels, projected: Levels) -> Bounded:
        """Add 95 % intervals."""

    def check(
        self,
        params: BlenderParams,
        head_list: HeadList,
        draws: D,
        sides: Sides,
        blended: Levels,
    ) -> CrossCheck:
        """Compare the opt-in groups with the clients, record by record."""


def strategy_of(params: BlenderParams) -> Strategy[Draws]:
    """Return the steps of a strategy."""
    module: ModuleType = paper if params.strategy == PAPER else high_utility
    return cast(Strategy[Draws], module)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Everything that was estimated of a list."""

    head_list: HeadList
    sides: Sides
    blended: Levels
    projected: Levels
    bounded: Bounded


def estimate(params: BlenderParams, draws: Draws) -> Estimates:
    """Do every step that what is published needs.

    Privacy claim: none; post-processing of the three draws.
    """
    strategy = strategy_of(params)
    return estimate_list(strategy, params, strategy.choose(params, draws), draws)


def estimate_list(
    strategy: Strategy[D], params: BlenderParams, head_list: HeadList, draws: D
) -> Estimates:
    """Do every step behind the choice of a list.

    Privacy claim: none; post-processing of all draws.
    """
    sides = strategy.denoise(params, head_list, draws)
    blended = strategy.blend(params, head_list, draws, sides)
    projected = strategy.project(head_list, blended)
    bounded = strategy.bound(blended, projected)
    return Estimates(head_list, sides, blended, projected, bounded)


def check_groups(params: BlenderParams, draws: Draws, estimates: Estimates) -> CrossCheck:
    """Compare the opt-in groups with the clients.

    Privacy claim: none; post-processing of the three draws.
    """
    return check_list(strategy_of(params), params, draws, estimates)


def check_list(
    strategy: Strategy[D], params: BlenderParams, draws: D, found: Estimates
) -> CrossCheck:
    """Do the same with a strategy's own way.

    Privacy claim: none; post-processing of all draws.
    """
    return strategy.check(params, found.head_list, draws, found.sides, found.blended)
