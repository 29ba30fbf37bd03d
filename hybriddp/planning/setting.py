"""What a release is planned with: parameters, people, and how alike a person's records are."""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require, require_count
from hybriddp.params import BlenderParams


@dataclass(frozen=True, slots=True)
class Setting:
    """What a release would be made with, and what is assumed about people.

    `distinct_clicks` says how many different clicks a person's records are drawn from: two
    records of one person are the same click with probability 1/distinct_clicks. So the variance
    of a person's weight on a record, as a part of p(1-p), is 1/m + (1 - 1/m)/distinct_clicks.
    """

    params: BlenderParams
    n_users: int
    optin_fraction: Fraction
    rotation: int = 1
    distinct_clicks: float = 1.0

    def __post_init__(self) -> None:
        require_count(self.n_users, "n_users")
        require_count(self.rotation, "rotation")
        require(
            0 < self.optin_fraction < 1,
            "optin_fraction must be strictly between 0 and 1",
            float(self.optin_fraction),
            "the hybrid model needs both groups; the paper uses 0.05",
        )
        require(
            self.distinct_clicks >= 1,
            "distinct_clicks must be at least 1",
            self.distinct_clicks,
            "1 means one record a person",
        )
        require(
            self.params.max_records_client == 1,
            "max_records_client must be 1 in a plan",
            self.params.max_records_client,
            "plan for one report a client",
        )
        require(
            self.n_clients >= 1 and self.n_finders >= 1,
            "every group must have at least 1 member",
            f"{self.n_serving} people in a release",
            "raise the users or the opt-in share, or lower the rotation",
        )
        require(
            self.n_measurers >= 1 or not self.params.has_histogram,
            "the opt-in group that measures the head list must have at least 1 user",
            self.n_measurers,
            "lower headlist_user_fraction or enlarge the opt-in group",
        )

    @property
    def n_serving(self) -> int:
        """People of one release; the others wait for their turn."""
        return self.n_users // self.rotation

    @property
    def n_optin(self) -> int:
        """Opt-in people of one release."""
        return round(self.n_serving * self.optin_fraction)

    @property
    def n_finders(self) -> int:
        """S: who finds the list."""
        return round(self.params.headlist_user_fraction * self.n_optin)

    @property
    def n_measurers(self) -> int:
        """T: who measures it."""
        return self.n_optin - self.n_finders

    @property
    def n_clients(self) -> int:
        """C: who reports on it."""
        return self.n_serving - self.n_optin

    @property
    def spread(self) -> float:
        """The variance of a person's weight on a record, as a part of p(1-p)."""
        m = self.params.max_records_optin
        return 1 / m + (1 - 1 / m) / self.distinct_clicks
