"""The cap on what any person may spend: kept in the ledger, so that changing it is on record."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hybriddp.errors import require
from hybriddp.params import Budget, Number, exact
from hybriddp.rounding import rounded_down, rounded_up
from tasks.ledger.ledger import Head, Ledger, LedgerMoved, Recheck
from tasks.ledger.payloads import LONGEST_WINDOW, MAX_REFUSALS, Cap, PolicySet, Terms
from tasks.ledger.rules import Entry, Kind

# Charges are whole numbers of these units, rounded up: sums over years stay exact in any engine.
EPSILON_UNITS = 10**9
DELTA_UNITS = 10**18
# More promises nothing, and would not fit the ledger's whole numbers.
_LARGEST_CAP = 1_000_000


@dataclass(frozen=True, slots=True)
class Charge:
    """A cost in whole units; it is never below the budget that it stands for."""

    epsilon: int
    delta: int

    @classmethod
    def of(cls, budget: Budget) -> "Charge":
        """Round a budget up to whole units."""
        return cls(-(-budget.epsilon * EPSILON_UNITS // 1), -(-budget.delta * DELTA_UNITS // 1))

    @classmethod
    def of_terms(cls, terms: Terms) -> "Charge":
        """Return what a row says that each member of a group pays."""
        return cls(terms.epsilon_nano, terms.delta_atto)

    @classmethod
    def sum(cls, charges: Iterable["Charge"]) -> "Charge":
        """Add charges up."""
        known = list(charges)
        return cls(sum(one.epsilon for one in known), sum(one.delta for one in known))

    def fits(self, cap: "Charge") -> bool:
        """Whether this is at most a cap."""
        return self.epsilon <= cap.epsilon and self.delta <= cap.delta

    def __str__(self) -> str:
        return self._shown(rounded_up)

    @property
    def as_left(self) -> str:
        """This as something that may still be spent: rounded down, not up."""
        return self._shown(rounded_down)

    def _shown(self, rounded: Callable[[Fraction], str]) -> str:
        epsilon, delta = Fraction(self.epsilon, EPSILON_UNITS), Fraction(self.delta, DELTA_UNITS)
        return f"(epsilon {rounded(epsilon)}, delta {rounded(delta)})"

    def as_json(self, rounded: Callable[[Fraction], str] = rounded_up) -> dict[str, float | int]:
        """Return the numbers for people, rounded, and the exact ones in the ledger's units."""
        return {
            "epsilon": float(rounded(Fraction(self.epsilon, EPSILON_UNITS))),
            "delta": float(rounded(Fraction(self.delta, DELTA_UNITS))),
            "epsilon_nano": self.epsilon,
            "delta_atto": self.delta,
        }


@dataclass(frozen=True, slots=True)
class Policy:
    """The cap for each person over all products: for life, or over a window of days."""

    cap: Charge = Charge(12 * EPSILON_UNITS, DELTA_UNITS // 10_000)
    window_days: int | None = None
    max_refusals: int = MAX_REFUSALS  # verdicts that no draw follows, each epoch and log

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        window_days: int | None,
        max_refusals: int = MAX_REFUSALS,
    ) -> "Policy":
        """Check and build a policy from what an operator typed."""
        exact_epsilon, exact_delta = exact(epsilon, "cap_epsilon"), exact(delta, "cap_delta")
        require(
            0 < exact_epsilon <= _LARGEST_CAP,
            f"cap_epsilon must be above 0 and at most {_LARGEST_CAP}",
            epsilon,
            "12 is the default",
        )
        require(0 <= exact_delta < 1, "cap_delta must be in [0, 1)", delta, "1e-4 is the default")
        require(
            window_days is None or 1 <= window_days <= LONGEST_WINDOW,
            f"window_days must be between 1 and {LONGEST_WINDOW}",
            window_days,
            "leave it out for a cap for life",
        )
        require(
            1 <= max_refusals < 2**31,  # without a question no log could be judged
            "max_refusals must be a whole number of at least 1",
            max_refusals,
            f"with 0 no log could be judged, and {MAX_REFUSALS} is the default",
        )
        # A cap is rounded down: the sum of charges never exceeds what was typed.
        cap = Charge(int(exact_epsilon * EPSILON_UNITS), int(exact_delta * DELTA_UNITS))
        return cls(cap, window_days, max_refusals)

    def changed(
        self,
        epsilon: Number | None,
        delta: Number | None,
        window_days: int | None,
        max_refusals: int | None = None,
    ) -> "Policy":
        """Return this policy with what is given put in; a window of 0 days means none."""
        return Policy.of(
            Fraction(self.cap.epsilon, EPSILON_UNITS) if epsilon is None else epsilon,
            Fraction(self.cap.delta, DELTA_UNITS) if delta is None else delta,
            self.window_days if window_days is None else window_days or None,
            self.max_refusals if max_refusals is None else max_refusals,
        )

    @classmethod
    def stated(cls, cap: Cap) -> "Policy":
        """Return what a row or a manifest states."""
        charge = Charge(cap.cap_epsilon_nano, cap.cap_delta_atto)
        return cls(charge, cap.window_days, cap.max_refusals)

    @property
    def statement(self) -> Cap:
        """This as rows and manifests state it."""
        return Cap(
            cap_epsilon_nano=self.cap.epsilon,
            cap_delta_atto=self.cap.delta,
            window_days=self.window_days,
            max_refusals=self.max_refusals,
        )

    def window_start(self, now: datetime) -> datetime:
        """Return the moment before which charges no longer count."""
        if self.window_days is None:
            return datetime.min.replace(tzinfo=UTC)
        return now - timedelta(days=self.window_days)

    def worst_case(self, years: int) -> Charge:
        """Return what one person may spend over a horizon when the window keeps refilling."""
        if self.window_days is None:
            return self.cap
        windows = -(-years * 366 // self.window_days)
        return Charge(self.cap.epsilon * windows, self.cap.delta * windows)


def weakest(policies: Iterable[Policy]) -> Policy:
    """Return what all of these kept together: the largest cap, over the shortest window.

    Take any days as long as the shortest window, and the last charge in them: the policy of that
    moment looked back at least so far, and allowed no more than its cap.
    """
    known = list(policies)
    windows = [policy.window_days for policy in known if policy.window_days is not None]
    cap = Charge(
        max(policy.cap.epsilon for policy in known), max(policy.cap.delta for policy in known)
    )
    return Policy(cap, min(windows, default=None), known[-1].max_refusals)


def current_policy(entries: list[Entry]) -> Policy:
    """Return the policy that the newest POLICY row set, or the default."""
    for entry in reversed(entries):
        if entry.kind is Kind.POLICY:
            return Policy.stated(entry.said(PolicySet))
    return Policy()


def set_policy(ledger: Ledger, policy: Policy, since: Head | None = None) -> Entry:
    """Put a new policy on record; it holds from the next reservation on.

    Raises LedgerMoved if the policy was changed behind `since`, where it was looked at.
    """

    def check(rows: list[Entry], _date: datetime) -> None:
        if rows:
            raise LedgerMoved("somebody else has changed the policy meanwhile; look at it again.")

    recheck = None if since is None else Recheck(since, (Kind.POLICY,), check)
    row = PolicySet(**policy.statement.as_json())
    return ledger.append(Kind.POLICY, "", None, row, recheck=recheck)
