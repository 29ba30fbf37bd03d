"""What an operator chooses for a release, checked once, exactly.

Standard library only: the client on a device reads its parameters with this module.
"""

import math
import re
import reprlib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from hybriddp.errors import InvalidParameter, require, require_count, require_one_of

Number = int | float | str | Decimal | Fraction

# Above this an epsilon says nothing: e^50 times more likely is a disclosure.
MAX_EPSILON = 50
# Longer or larger numbers are nobody's parameter.
_MAX_DIGITS, _MAX_EXPONENT = 4_000, 1_000


def exact(value: Number, name: str) -> Fraction:
    """Return the number that was written, as a fraction.

    A float counts as the decimal it prints as: 0.1 is one tenth, so that ten charges of 0.1
    fill a cap of 1 exactly.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, Rational):
            # A numpy integer would stay one inside the fraction, and overflow there.
            return Fraction(int(value.numerator), int(value.denominator))
        written = str(value)
        # 1e999999999 is nine letters, and a number that fills the memory.
        exponent = re.search(r"[eE]([-+]?[0-9_]+)$", written.strip())
        if len(written) > _MAX_DIGITS or (exponent and abs(int(exponent[1])) > _MAX_EXPONENT):
            raise ValueError
        return Fraction(written)
    except (ValueError, TypeError, ZeroDivisionError):
        raise InvalidParameter(
            f"{name} must be a finite number, got {reprlib.repr(value)}; write it like 4, 0.5 or "
            "1e-5."
        ) from None


def _shown(value: Fraction) -> str:
    """Return a fraction for a message; one that no float can hold is only called so."""
    try:
        return str(float(value))
    except OverflowError:
        return "a huge number"


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
            epsilon,
            "usual values lie between 0.1 and 10",
        )
        require(
            0 <= self.delta < 1,
            "delta must be at least 0 and below 1",
            delta,
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

# What a strategy uses where nothing else is asked for: (f_O, m_O, kind of client report).
_DEFAULTS = {
    PAPER: (Fraction(95, 100), 1, TWO_STAGE),
    HIGH_UTILITY: (Fraction(95, 100), 5, ONE_STAGE),
}

# More records of one person would add little and make the integers of the noisy counts large.
MAX_RECORDS_OPTIN = 100


@dataclass(frozen=True, slots=True)
class BlenderParams:
    """The parameters of one BLENDER release.

    Strategy `paper` is JPC19 figure 2; `high-utility` keeps the noisy counts of those who find
    the list, weighs several records of a person, and lets clients report in one stage.

    Paper symbols: epsilon, delta; M = max_head_size; f_O = headlist_user_fraction;
    f_C = query_budget_fraction; m_O = max_records_optin; m_C = max_records_client.
    """

    budget: Budget
    strategy: str
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
        max_head_size: int = 50,
        headlist_user_fraction: Number | None = None,
        query_budget_fraction: Number = Fraction(85, 100),
        max_records_optin: int | None = None,
        max_records_client: int = 1,
        client_report: str | None = None,
    ) -> None:
        require_one_of(strategy, "strategy", STRATEGIES)
        usual_fraction, usual_records, usual_report = _DEFAULTS[strategy]
        fraction = usual_fraction if headlist_user_fraction is None else headlist_user_fraction
        records = usual_records if max_records_optin is None else max_records_optin
        object.__setattr__(self, "budget", Budget(epsilon, delta))
        object.__setattr__(self, "strategy", strategy)
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
            _shown(self.query_budget_fraction),
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
            _shown(self.headlist_user_fraction),
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
            _shown(self.headlist_user_fraction),
            "some opt-in users must find the list; with 1 nobody measures it apart from them",
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
        if self.budget.epsilon <= math.log(2):
            return (
                "epsilon is at most ln 2, where JPC19 theorem 3.1 is silent; the guarantee holds "
                "all the same by docs/proofs/create_head_list.md.",
            )
        return ()
