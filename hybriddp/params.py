"""What an operator chooses for a release, checked once, exactly.

Standard library only: the client on a device reads its parameters with this module.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require, require_count, require_one_of
from hybriddp.exact import Number, exact, shown

# Above this an epsilon says nothing: e^50 times more likely is a disclosure.
MAX_EPSILON = 50
_SHOWN_DIGITS = 40


def _typed(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_DIGITS else f"{text[:_SHOWN_DIGITS]}..."


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta) promise in exact arithmetic."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact(delta, "delta"))
        require(
            0 < self.epsilon <= MAX_EPSILON,
            f"epsilon must be above 0 and at most {MAX_EPSILON}",
            _typed(epsilon),
            "usual values lie between 0.1 and 10",
        )
        require(
            0 <= self.delta < 1,
            "delta must be at least 0 and below 1",
            _typed(delta),
            "choose well below one over the number of users, such as 1e-5; "
            "a delta of 1 would promise nothing",
        )

    def part(self, fraction: Fraction) -> "Budget":
        """Return this share of the budget."""
        return Budget(self.epsilon * fraction, self.delta * fraction)


PAPER, HIGH_UTILITY = "paper", "high-utility"
STRATEGIES = (PAPER, HIGH_UTILITY)
TWO_STAGE, TWO_STAGE_EXACT, ONE_STAGE = "two-stage", "two-stage-exact", "one-stage"
CLIENT_REPORTS = (TWO_STAGE, TWO_STAGE_EXACT, ONE_STAGE)

# How S's list is found: counts with Laplace noise, or weights with Gaussian noise, after which the
# same people measure it.
LAPLACE, GAUSSIAN = "laplace", "gaussian"
FINDINGS = (LAPLACE, GAUSSIAN)

# What is used where nothing else is asked for: (f_O, m_O, kind of client report).
_DEFAULTS = {
    (PAPER, LAPLACE): (Fraction(95, 100), 1, TWO_STAGE),
    (HIGH_UTILITY, LAPLACE): (Fraction(95, 100), 1, ONE_STAGE),
    (HIGH_UTILITY, GAUSSIAN): (Fraction(1), 10, ONE_STAGE),
}

# More records of one person would add little and make the integers of the noisy counts large.
MAX_RECORDS_OPTIN = 100
# Of a season: two years of them.
MOST_WEEKS = 104
# From so many different records a person on, Gaussian noise names more; with one, Laplace does.
_SEVERAL = Fraction(3, 2)


def usual_finding(strategy: str, records_per_user: Number) -> tuple[str, int]:
    """Return the kind of noise and m_O for people with about so many different records.

    What people have is stated from public knowledge, never read from the log. Some have more than
    others, so m_O is twice that (docs/utility.md has what was measured).
    """
    records = exact(records_per_user, "records_per_user")
    if strategy == PAPER or records < _SEVERAL:
        return LAPLACE, 1
    return GAUSSIAN, min(math.ceil(2 * records), MAX_RECORDS_OPTIN)


@dataclass(frozen=True, slots=True)
class BlenderParams:
    """The parameters of one BLENDER release.

    Strategy `paper` is JPC19 figure 2; `high-utility` keeps the noisy counts of those who find
    the list, weighs several records of a person, and lets clients report in one stage. With
    Gaussian `finding`, everybody who opted in finds the list with up to m_O different records, and
    then measures it with all of theirs.

    Paper symbols: epsilon, delta; M = max_head_size; f_O = headlist_user_fraction;
    f_C = query_budget_fraction; m_O = max_records_optin; m_C = max_records_client.
    """

    budget: Budget
    strategy: str
    finding: str
    max_head_size: int
    headlist_user_fraction: Fraction
    query_budget_fraction: Fraction
    max_records_optin: int
    max_records_client: int
    client_report: str

    def __init__(
        self,
        epsilon: Number = 4,
        delta: Number = Fraction(1, 100_000),
        *,
        strategy: str = PAPER,
        finding: str = LAPLACE,
        max_head_size: int = 50,
        headlist_user_fraction: Number | None = None,
        query_budget_fraction: Number = Fraction(85, 100),
        max_records_optin: int | None = None,
        max_records_client: int = 1,
        client_report: str | None = None,
    ) -> None:
        require_one_of(strategy, "strategy", STRATEGIES)
        require_one_of(finding, "finding", FINDINGS)
        require(
            (strategy, finding) in _DEFAULTS,
            f"finding must be {LAPLACE} in strategy `{strategy}`",
            finding,
            f"strategy `{HIGH_UTILITY}` has both",
        )
        usual_fraction, usual_records, usual_report = _DEFAULTS[strategy, finding]
        fraction = usual_fraction if headlist_user_fraction is None else headlist_user_fraction
        records = usual_records if max_records_optin is None else max_records_optin
        object.__setattr__(self, "budget", Budget(epsilon, delta))
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "finding", finding)
        object.__setattr__(self, "client_report", client_report or usual_report)
        for name, share in (
            ("headlist_user_fraction", fraction),
            ("query_budget_fraction", query_budget_fraction),
        ):
            object.__setattr__(self, name, exact(share, name))
        for name, whole in (
            ("max_head_size", max_head_size),
            ("max_records_optin", records),
            ("max_records_client", max_records_client),
        ):
            require_count(whole, name)
            object.__setattr__(self, name, whole)
        self._check()

    def _check(self) -> None:
        require(
            self.budget.delta > 0,
            "delta must be above 0 for a head list",
            0,
            "records come from an open domain, and without a delta no record could ever be "
            "listed; use for example 1e-5",
        )
        require(
            0 < self.query_budget_fraction < 1,
            "query_budget_fraction must be strictly between 0 and 1",
            shown(self.query_budget_fraction),
            "a stage without budget reports noise only; the paper uses 0.85",
        )
        require_one_of(self.client_report, "client_report", CLIENT_REPORTS)
        if self.strategy == PAPER:
            self._check_paper()
        else:
            self._check_high_utility()

    def _check_paper(self) -> None:
        require(
            0 < self.headlist_user_fraction < 1,
            "headlist_user_fraction must be strictly between 0 and 1",
            shown(self.headlist_user_fraction),
            "strategy `paper` needs opt-in users both to find the head list and to measure it",
        )
        require(
            self.max_records_optin == 1,
            "max_records_optin must be 1 in strategy `paper`",
            self.max_records_optin,
            "JPC19 theorem 3.1 is proven for one record a user only",
        )
        require(
            self.client_report == TWO_STAGE,
            "client_report must be two-stage in strategy `paper`",
            self.client_report,
            "the paper's clients report a query and then a url",
        )

    def _check_high_utility(self) -> None:
        require(
            0 < self.headlist_user_fraction <= 1,
            "headlist_user_fraction must be above 0 and at most 1",
            shown(self.headlist_user_fraction),
            "some opt-in users must find the list; with 1 nobody measures it apart from them",
        )
        require(
            self.finding == LAPLACE or self.headlist_user_fraction == 1,
            "headlist_user_fraction must be 1 with Gaussian finding",
            shown(self.headlist_user_fraction),
            "everybody who opted in finds the list and measures it; leave it out",
        )
        require(
            self.max_records_optin <= MAX_RECORDS_OPTIN,
            f"max_records_optin must be at most {MAX_RECORDS_OPTIN}",
            self.max_records_optin,
            "5 is a good choice",
        )
        require(
            self.max_records_client == 1,
            "max_records_client must be 1 in strategy `high-utility`",
            self.max_records_client,
            "one report with the whole budget tells more than several with parts of it",
        )

    @property
    def is_weighted(self) -> bool:
        """Whether opt-in users weigh records with Gaussian noise, and measure what they find."""
        return self.finding == GAUSSIAN

    @property
    def has_histogram(self) -> bool:
        """Whether some opt-in users measure the list that others found."""
        return self.headlist_user_fraction < 1

    @property
    def client_query_budget(self) -> Budget:
        """What one client report spends on the query (JPC19 figure 6, lines 2-3)."""
        return self.budget.part(self.query_budget_fraction / self.max_records_client)

    @property
    def client_url_budget(self) -> Budget:
        """What one client report spends on the url (JPC19 figure 6, lines 2-3)."""
        return self.budget.part((1 - self.query_budget_fraction) / self.max_records_client)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the release should know about these choices."""
        if self.budget.epsilon <= math.log(2) and not self.is_weighted:
            return (
                "epsilon is at most ln 2, where JPC19 theorem 3.1 is silent; the guarantee holds "
                "all the same by docs/proofs/create_head_list.md.",
            )
        return ()
