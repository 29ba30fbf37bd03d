"""From the draws of a head list to what is published, step by step, in either strategy.

A release writes every step down, a simulation and a rehearsal only look at the end, and whoever
audits does it again: all of them by these functions.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, cast

from hybriddp.blender.estimation import high_utility, paper
from hybriddp.blender.estimation.crosscheck import CrossCheck
from hybriddp.blender.estimation.levels import Bounded, Draws, Levels, Sides
from hybriddp.blender.headlist import HeadList
from hybriddp.params import PAPER, BlenderParams


class Strategy(Protocol):
    """The steps of one strategy: a module with these names."""

    INTERVAL_METHOD: str

    def choose(self, params: BlenderParams, draws: Draws) -> HeadList:
        """Return the list as clients know it; their reports are not needed."""

    def denoise(self, params: BlenderParams, head_list: HeadList, draws: Draws) -> Sides:
        """Return what the opt-in groups say, and what the clients say."""

    def blend(
        self, params: BlenderParams, head_list: HeadList, draws: Draws, sides: Sides
    ) -> Levels:
        """Return what all groups say together."""

    def weighed(
        self,
        params: BlenderParams,
        head_list: HeadList,
        draws: Draws,
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
        draws: Draws,
        sides: Sides,
        blended: Levels,
    ) -> CrossCheck:
        """Compare the opt-in groups with the clients, record by record."""


def strategy_of(params: BlenderParams) -> Strategy:
    """Return the steps of a strategy."""
    module: ModuleType = paper if params.strategy == PAPER else high_utility
    return cast(Strategy, module)


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
    head_list = strategy.choose(params, draws)
    sides = strategy.denoise(params, head_list, draws)
    blended = strategy.blend(params, head_list, draws, sides)
    projected = strategy.project(head_list, blended)
    bounded = strategy.bound(blended, projected)
    return Estimates(head_list, sides, blended, projected, bounded)


def check_groups(params: BlenderParams, draws: Draws, estimates: Estimates) -> CrossCheck:
    """Compare the opt-in groups with the clients.

    Privacy claim: none; post-processing of the three draws.
    """
    found = estimates
    return strategy_of(params).check(params, found.head_list, draws, found.sides, found.blended)
