"""What small mechanisms keep, found by enumeration in exact fractions.

A mechanism is a dict from every possible log, a tuple with one element for each user, to the law of
what it publishes, a dict from outputs to probabilities. Neighbours are logs that differ in one
user. e^epsilon is a fraction, `ratio`, so that nothing is rounded; ANY_RATIO stands for all.
"""

from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction

Law = Mapping[Hashable, Fraction]
Mechanism = Mapping[tuple, Law]

# No finite e^epsilon is exceeded, except by an output that only one of two logs can have.
ANY_RATIO = None


def neighbours(mechanism: Mechanism, log: tuple) -> Iterator[tuple]:
    """Yield the logs in which exactly one user's data is another."""
    for other in mechanism:
        if sum(a != b for a, b in zip(log, other, strict=True)) == 1:
            yield other


def hockey_stick(first: Law, second: Law, ratio: Fraction) -> Fraction:
    """Return the largest P(O) - ratio Q(O) over all sets of outputs O (ZEAL definition 4)."""
    return sum(
        (max(p - ratio * second.get(o, 0), Fraction(0)) for o, p in first.items()), Fraction(0)
    )


def least_delta(mechanism: Mechanism, ratio: Fraction) -> Fraction:
    """Return the least delta with which the mechanism is (ln ratio, delta)-indistinguishable."""
    _check(mechanism)
    return max(
        hockey_stick(mechanism[log], mechanism[other], ratio)
        for log in mechanism
        for other in neighbours(mechanism, log)
    )


def breaches(mechanism: Mechanism, log: tuple, ratio: Fraction | None) -> set[Hashable]:
    """Return the outputs that Omega_2 of this log cannot do without (ZEAL definition 3).

    Those for which some neighbour breaks one of the two inequalities. One that the log itself
    cannot have, but a neighbour can, is among them and costs nothing.
    """
    own = mechanism[log]
    return {
        output
        for other in neighbours(mechanism, log)
        for output in {*own, *mechanism[other]}
        if not _is_close(
            own.get(output, Fraction(0)), mechanism[other].get(output, Fraction(0)), ratio
        )
    }


def breach_probability(mechanism: Mechanism, log: tuple, ratio: Fraction | None) -> Fraction:
    """Return the least P[A(log) in Omega_2]."""
    found = breaches(mechanism, log, ratio)
    return sum((p for output, p in mechanism[log].items() if output in found), Fraction(0))


def least_probabilistic_delta(mechanism: Mechanism, ratio: Fraction | None) -> Fraction:
    """Return the least delta with which it is (ln ratio, delta)-probabilistically private."""
    _check(mechanism)
    return max(breach_probability(mechanism, log, ratio) for log in mechanism)


def _is_close(p: Fraction, q: Fraction, ratio: Fraction | None) -> bool:
    """Whether p <= ratio q and q <= ratio p; with ANY_RATIO, whether some ratio is enough."""
    if ratio is ANY_RATIO:
        return (p == 0) == (q == 0)
    return p <= ratio * q and q <= ratio * p


def _check(mechanism: Mechanism) -> None:
    """Refuse what is no mechanism: a checker of nonsense would accept it."""
    assert len({len(log) for log in mechanism}) == 1, "logs must have the same users"
    for law in mechanism.values():
        assert min(law.values()) >= 0, "a probability is negative"
        assert abs(sum(law.values()) - 1) <= 1e-12, "a law does not sum to 1"
    domains = [set(values) for values in zip(*mechanism, strict=True)]
    n_logs = 1
    for domain in domains:
        n_logs *= len(domain)
    assert len(mechanism) == n_logs, "a neighbour is missing"
