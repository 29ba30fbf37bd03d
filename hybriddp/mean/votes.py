"""One number instead of two means: what amplification needs (docs/proofs/amplification.md).

Every trusted user has a whole number of votes, a client has one. The noisy sum of all votes is an
integer, and everything that is published of both groups is a function of it: those who see only
the release see it behind the noise of both groups.
"""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require
from hybriddp.mean.amplification import Certified, certified_together, votes_near
from hybriddp.mean.estimate import KNOWN, GroupMean, MeanEstimate, blend_with, choose_weight
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.grid import ValueGrid


@dataclass(frozen=True, slots=True)
class Ballot:
    """What the votes are about: nothing in it depends on anybody's value."""

    grid: ValueGrid
    noise_trusted: DiscreteGaussian  # of the sum
    noise_local: DiscreteGaussian  # of one report
    n_trusted: int
    n_local: int
    rule: str
    known_variance: float = 0.0  # for the rule of a known variance

    def __post_init__(self) -> None:
        require(
            self.n_trusted >= 1 and self.n_local >= 1,
            "one number of two groups needs people in both",
            f"{self.n_trusted} and {self.n_local}",
            "leave the key out, or publish both means",
        )

    @property
    def votes(self) -> int:
        """The votes of a trusted user: those that come nearest to the weight of the rule."""
        trusted, local = self._groups(0.0)
        weight = choose_weight(trusted, local, self.rule, self.known_variance)
        return votes_near(weight, n_trusted=self.n_trusted, n_local=self.n_local)

    @property
    def all_votes(self) -> int:
        """The votes of everybody."""
        return self.votes * self.n_trusted + self.n_local

    def count(self, noisy_sum: int, sum_of_reports: int) -> int:
        """Return the noisy sum of all votes.

        Privacy claim: none; post-processing. For those who see nothing else of both sums, see
        `certified`.
        """
        return self.votes * noisy_sum + sum_of_reports

    def estimate(self, counted: int) -> MeanEstimate:
        """Return the mean, from the noisy sum of all votes alone.

        Unless their variance was known beforehand, the interval assumes the most that values can
        spread, for nobody may look.

        Privacy claim: none; post-processing of that sum.
        """
        value = float(Fraction(counted, self.all_votes)) * self.grid.step
        upper = float(self.grid.upper)
        weight = self.votes * self.n_trusted / self.all_votes
        variance = self.known_variance if self.rule == KNOWN else upper**2 / 4
        return blend_with(weight, *self._groups(value), upper, variance)

    def certified(self, budget: Budget, n_adversaries: int) -> Certified:
        """Return what is proved against those who see the release, and share so many clients."""
        return certified_together(
            budget,
            self.noise_trusted,
            self.noise_local,
            votes=self.votes,
            largest=self.grid.n_steps,
            n_local=self.n_local,
            n_adversaries=n_adversaries,
        )

    def _groups(self, value: float) -> tuple[GroupMean, GroupMean]:
        """Return both groups' noises; neither mean is known, so both stand for the blend."""
        square = self.grid.step**2
        trusted = self.noise_trusted.variance * square / self.n_trusted**2
        local = self.noise_local.variance * square / self.n_local
        return GroupMean(value, self.n_trusted, trusted), GroupMean(value, self.n_local, local)
