"""The cap on what any person may spend: kept in the ledger, so that changing it is on record."""

from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from hybriddp.errors import require
from hybriddp.exact import Number, exact
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Charge
from tasks.ledger.ledger import Head, Ledger, LedgerMoved, Recheck
from tasks.ledger.payloads import LONGEST_WINDOW, MAX_REFUSALS, Cap, PolicySet
from tasks.ledger.rules import Entry, Kind

# More promises nothing, and would not fit the ledger's whole numbers.
_LARGEST_CAP = 1_000_000
_NOTHING = Charge(0, 0)
_DEFAULT_CAP = Charge(12 * EPSILON_UNITS, DELTA_UNITS // 10_000)
# What `Policy.of(12, "1e-4", None, pure_epsilon=4)` finds, written down: nobody needs scipy to open
# a ledger, and the part is the same for ever. A test finds it again.
_DEFAULT_PART = Charge(4 * EPSILON_UNITS, DELTA_UNITS // 20_000, 1_589_727_141_000)


@dataclass(frozen=True, slots=True)
class Policy:
    """The cap for each person over all products: for life, or over a window of days.

    Whoever has no Gaussian loss may lose all of `cap`. Whoever has one may lose `with_gaussian`,
    which has a part for each kind of loss (docs/proofs/cap.md); None: no such loss fits. The
    default part belongs to the default cap; another cap has the part that it is given, or none.
    """

    cap: Charge = _DEFAULT_CAP
    window_days: int | None = None
    max_refusals: int = MAX_REFUSALS  # verdicts that no draw follows, each epoch and log
    with_gaussian: Charge | None = _DEFAULT_PART

    def __post_init__(self) -> None:
        if self.with_gaussian is _DEFAULT_PART and self.cap != _DEFAULT_CAP:
            object.__setattr__(self, "with_gaussian", None)
        if self.with_gaussian is not None and self.has_set_parts:
            self._check_parts(self.with_gaussian)

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        window_days: int | None,
        max_refusals: int = MAX_REFUSALS,
        pure_epsilon: Number | None = None,
    ) -> "Policy":
        """Check and build a policy from what an operator typed.

        Args:
            pure_epsilon: What people with a Gaussian loss may lose otherwise; None: no such loss
                fits. As much rho fits as the rest of epsilon and half of delta allow.
        """
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
        if pure_epsilon is None:
            return cls(cap, window_days, max_refusals, None)
        pure = exact(pure_epsilon, "pure_epsilon")
        require(
            0 <= pure < exact_epsilon and exact_delta > 0,
            "pure_epsilon must be at least 0 and below cap_epsilon, and cap_delta above 0",
            pure_epsilon,
            "what is left of both is for Gaussian losses",
        )
        return cls(cap, window_days, max_refusals, _largest_gaussian(cap, pure))

    def changed(
        self,
        epsilon: Number | None,
        delta: Number | None,
        window_days: int | None,
        max_refusals: int | None = None,
        pure_epsilon: Number | None = None,
        *,
        no_gaussian: bool = False,
    ) -> "Policy":
        """Return this policy with what is given put in; a window of 0 days means none.

        A part for Gaussian losses that nothing is said of keeps its share of epsilon.
        """
        require(
            pure_epsilon is None or not no_gaussian,
            "a cap without Gaussian losses has no pure_epsilon of its own",
            pure_epsilon,
            "take one of the two",
        )
        policy = Policy.of(
            Fraction(self.cap.epsilon, EPSILON_UNITS) if epsilon is None else epsilon,
            Fraction(self.cap.delta, DELTA_UNITS) if delta is None else delta,
            self.window_days if window_days is None else window_days or None,
            self.max_refusals if max_refusals is None else max_refusals,
            pure_epsilon,
        )
        if no_gaussian or pure_epsilon is not None or self.with_gaussian is None:
            return policy
        if policy.cap == self.cap:
            return replace(policy, with_gaussian=self.with_gaussian)
        pure = Fraction(self.with_gaussian.epsilon * policy.cap.epsilon, self.cap.epsilon)
        part = _largest_gaussian(policy.cap, pure / EPSILON_UNITS)
        return replace(policy, with_gaussian=part)

    @classmethod
    def stated(cls, cap: Cap) -> "Policy":
        """Return what a row or a manifest states."""
        charge = Charge(cap.cap_epsilon_nano, cap.cap_delta_atto)
        parts = cap.gaussian_epsilon_nano, cap.gaussian_delta_atto, cap.gaussian_rho_pico
        known = [part for part in parts if part is not None]
        with_gaussian = Charge(*known) if known else None
        return cls(charge, cap.window_days, cap.max_refusals, with_gaussian)

    @property
    def statement(self) -> Cap:
        """This as rows and manifests state it."""
        stated = {
            "cap_epsilon_nano": self.cap.epsilon,
            "cap_delta_atto": self.cap.delta,
            "window_days": self.window_days,
            "max_refusals": self.max_refusals,
        }
        if self.with_gaussian is not None:
            epsilon, delta, rho = astuple(self.with_gaussian)
            stated |= {"gaussian_epsilon_nano": epsilon, "gaussian_delta_atto": delta,
                       "gaussian_rho_pico": rho}  # fmt: skip
        return Cap.model_validate(stated)

    @property
    def has_set_parts(self) -> bool:
        """Whether somebody has set the parts, and they are not those of the default cap."""
        is_default = (self.cap, self.with_gaussian) == (_DEFAULT_CAP, _DEFAULT_PART)
        return self.with_gaussian is not None and not is_default

    def limit(self, *, has_gaussian: bool) -> Charge:
        """Return the most that people may lose in each part, with or without a Gaussian loss."""
        return (self.with_gaussian or _NOTHING) if has_gaussian else self.cap

    @property
    def converting_delta(self) -> int:
        """What of delta is set aside to convert rho; all of it where no Gaussian loss fits."""
        return self.cap.delta - self.limit(has_gaussian=True).delta

    @property
    def limits(self) -> dict[str, Any]:
        """The same for SQL, by name."""
        pure, part = self.cap, self.limit(has_gaussian=True)
        return {
            "cap_epsilon": pure.epsilon,
            "cap_delta": pure.delta,
            "pure_epsilon": part.epsilon,
            "gaussian_delta": part.delta,
            "cap_rho": part.rho,
        }

    def admits(self, total: Charge) -> bool:
        """Whether a person may have lost this in all."""
        return total.fits(self.limit(has_gaussian=total.rho > 0))

    def fits(self, asked: Charge, spent: Charge = _NOTHING) -> int:
        """Return how many more such charges fit whoever has spent this."""
        left = self.limit(has_gaussian=spent.rho + asked.rho > 0).less(spent)
        if not _NOTHING.fits(left):  # also where a part is spent that is not asked for
            return 0
        parts = (left.epsilon, asked.epsilon), (left.delta, asked.delta), (left.rho, asked.rho)
        return min(have // each for have, each in parts if each)

    def _check_parts(self, with_gaussian: Charge) -> None:
        """Refuse parts that the cap does not cover."""
        from hybriddp.accounting.accountants import Cost
        from hybriddp.accounting.filters import CapFilter  # only caps with parts need scipy

        cap, part = self.cap.price, with_gaussian.price
        CapFilter(Cost(cap.epsilon, cap.delta), part.epsilon, part.rho, cap.delta - part.delta)

    def window_start(self, now: datetime) -> datetime:
        """Return the moment before which charges no longer count."""
        if self.window_days is None:
            return datetime.min.replace(tzinfo=UTC)
        return now - timedelta(days=self.window_days)

    def __str__(self) -> str:
        """Return what may be lost in all; parts for Gaussian losses are inside it."""
        return f"{self.cap}"

    def worst_case(self, years: int) -> Charge:
        """Return what one person may spend over a horizon when the window keeps refilling."""
        if self.window_days is None:
            return self.cap
        windows = -(-years * 366 // self.window_days)
        return Charge(self.cap.epsilon * windows, self.cap.delta * windows)


def _largest_gaussian(cap: Charge, pure: Fraction) -> Charge | None:
    """Return what whoever has a Gaussian loss may lose, if half of delta converts rho."""
    from hybriddp.accounting.accountants import Cost
    from hybriddp.accounting.filters import CapFilter

    whole = cap.price
    found = CapFilter.with_gaussian(Cost(whole.epsilon, whole.delta), pure)
    left = whole.delta - found.gaussian_delta
    part = Charge(int(pure * EPSILON_UNITS), int(left * DELTA_UNITS), int(found.rho * RHO_UNITS))
    return part if part.rho else None


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
