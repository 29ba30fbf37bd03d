"""Which parameters to take: predict a small grid, choose by a stated rule, say why.

Epsilon, delta, people and rotation are the operator's: they are promises and facts. What is
chosen here costs nobody anything: strategy, f_O, f_C, m and M.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.params import HIGH_UTILITY, STRATEGIES, TWO_STAGE
from hybriddp.planning.grid import grid_of, values_of, with_changes
from hybriddp.planning.planner import Prediction, predict
from hybriddp.planning.prior import Prior
from hybriddp.planning.setting import Setting

# Rankings this close count as equally good.
NDCG_TOLERANCE = 0.005
# A longer M is worth it if the list fills this part of it and no more of it is spurious.
LEAST_FILL = 0.8
MOST_SPURIOUS = 0.25
# What was asked for stays if nothing is better by more than this part: less is chance.
_WORTH_A_CHANGE = 0.05
N_REPLICATES = 10

_QUERY_BUDGETS = tuple(Fraction(n, 100) for n in (70, 85, 95))
_SIZES = tuple(Fraction(n, 4) for n in (1, 2, 4, 8, 16))

CRITERION = (
    f"lowest record L1 for each unit of covered mass, among settings whose NDCG of NDCGs is within "
    f"{NDCG_TOLERANCE:g} of the best; then the longest M with at most {MOST_SPURIOUS:.0%} spurious "
    f"queries, other than asked only if the list fills it to {LEAST_FILL:.0%}"
)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The setting to take, why, and everything that was tried for it."""

    setting: Setting
    reasons: tuple[str, ...]
    tried: tuple[Prediction, ...]


def suggest(
    prior: Prior,
    asked: Setting,
    *,
    strategies: Sequence[str] = STRATEGIES,
    seed: int = 1,
    n_replicates: int = N_REPLICATES,
) -> Suggestion:
    """Choose strategy, f_O, f_C, m and M for the same people and the same promise."""

    def run(settings: Iterable[Setting]) -> list[Prediction]:
        return [predict(prior, s, seed=seed, n_replicates=n_replicates) for s in settings]

    tried = run(grid_of(asked, strategies))
    best = choose(tried, usual=tried[0])
    if best is None:
        return Suggestion(asked, (_nothing(asked, tried),), tuple(tried))
    if best.setting.params.client_report == TWO_STAGE:
        others = [f for f in _QUERY_BUDGETS if f != best.setting.params.query_budget_fraction]
        tried += run(with_changes(best.setting, query_budget_fraction=f) for f in others)
        best = choose(tried, usual=best) or best
    lengths = _lengths(best, run)
    length = longest_clean(lengths)
    reasons = [*_why(best, tried), _why_length(length, lengths, best)]
    return Suggestion((length or best).setting, tuple(reasons), (*tried, *lengths[1:]))


def choose(predictions: Sequence[Prediction], usual: Prediction | None = None) -> Prediction | None:
    """Return the prediction with the least error for what it covers among the best rankings.

    `usual`, if it is one of them, stays unless another is clearly better.
    """
    listed = [p for p in predictions if not p.is_empty]
    if not listed:
        return None
    best = max(p["ndcg_of_ndcgs"].value for p in listed)
    near = [p for p in listed if p["ndcg_of_ndcgs"].value >= best - NDCG_TOLERANCE]
    least = min(near, key=error_per_mass)
    if usual in near and error_per_mass(usual) <= (1 + _WORTH_A_CHANGE) * error_per_mass(least):
        return usual
    return least


def error_per_mass(prediction: Prediction) -> float:
    """Return the record L1 for each unit of covered mass."""
    covered = prediction["covered_mass"].value
    return prediction["l1_records"].value / covered if covered > 0 else float("inf")


def longest_clean(predictions: Sequence[Prediction]) -> Prediction | None:
    """Return the longest list with few spurious queries; the first of them need not be full."""
    clean = [
        p
        for p in predictions
        if p["spurious_share"].value <= MOST_SPURIOUS and (_is_filled(p) or p is predictions[0])
    ]
    return max(clean, key=_size, default=None)


def _lengths(
    best: Prediction, run: Callable[[Iterable[Setting]], list[Prediction]]
) -> list[Prediction]:
    """Predict other lengths, shortest first; beyond one that is not filled nothing changes."""
    own = best.setting.params.max_head_size
    predictions = [best]
    for size in sorted({max(round(factor * own), 1) for factor in _SIZES} - {own}):
        if size > own and not _is_filled(max(predictions, key=_size)):
            break
        predictions += run([with_changes(best.setting, max_head_size=size)])
    return predictions


def _size(prediction: Prediction) -> int:
    return prediction.setting.params.max_head_size


def _is_filled(prediction: Prediction) -> bool:
    return prediction["head_queries"].value >= LEAST_FILL * _size(prediction)


def _nothing(asked: Setting, tried: Sequence[Prediction]) -> str:
    least = min(p.threshold for p in tried)
    return (
        f"No setting of the grid is likely to list anything: a record needs about {least:.0f} of "
        f"the {asked.n_optin:,} opt-in people of a release. More opt-in people, a lower rotation "
        "or a larger epsilon would help."
    )


def _why(best: Prediction, tried: Sequence[Prediction]) -> list[str]:
    """Say what each choice gains over the best of its alternatives."""
    params = best.setting.params
    facts = f"record L1 {best['l1_records'].value:.4f} on {best['covered_mass'].value:.1%} covered"
    reasons = []
    rival = choose([p for p in tried if p.setting.params.strategy != params.strategy])
    if rival is not None:
        reasons.append(
            f"Strategy `{params.strategy}`: {facts}, NDCG of NDCGs {_ndcg(best)}; "
            f"`{rival.setting.params.strategy}` at its best: L1 {rival['l1_records'].value:.4f} on "
            f"{rival['covered_mass'].value:.1%}, {_ndcg(rival)}."
        )
    if params.is_weighted:
        reasons.append(
            f"Gaussian noise, m {params.max_records_optin}: everybody who opted in finds the list "
            f"with that many different records, and measures it."
        )
        return reasons
    reasons.append(
        f"f_O {float(params.headlist_user_fraction):g}: of {best.setting.n_optin:,} opt-in people, "
        f"{best.setting.n_finders:,} find the list and {best.setting.n_measurers:,} measure it"
        + _beside(best, tried, "headlist_user_fraction", "f_O")
    )
    if params.client_report == TWO_STAGE:
        share = float(params.query_budget_fraction)
        reasons.append(
            f"f_C {share:g}: clients spend {share:.0%} of their budget on the query"
            + _beside(best, tried, "query_budget_fraction", "f_C")
        )
    if params.strategy == HIGH_UTILITY:
        m = params.max_records_optin
        why = (
            "with one record a person, m changes little"
            if best.setting.distinct_clicks == 1
            else f"a person's weight has {best.setting.spread:.0%} of one record's variance"
        )
        reasons.append(f"m {m}: {why}" + _beside(best, tried, "max_records_optin", "m"))
    return reasons


def _beside(best: Prediction, tried: Sequence[Prediction], field: str, symbol: str) -> str:
    """Show what the other values of one parameter would have given, all else equal."""
    own = getattr(best.setting.params, field)
    others = {}
    for p in tried:
        value = getattr(p.setting.params, field)
        if value != own and values_of(p.setting) | {field: own} == values_of(best.setting):
            others[value] = p
    if not others:
        return "."
    shown = [
        f"{symbol} {float(value):g} gives L1/covered {error_per_mass(p):.3f}, NDCG {_ndcg(p)}"
        for value, p in sorted(others.items())
        if not p.is_empty
    ]
    return f" (L1/covered {error_per_mass(best):.3f}; " + "; ".join(shown) + ")."


def _why_length(length: Prediction | None, lengths: Sequence[Prediction], best: Prediction) -> str:
    shown = "; ".join(
        f"M {_size(p)}: {p['head_queries'].value:.0f} queries, {p['spurious_share'].value:.0%} "
        "spurious"
        for p in sorted(lengths, key=_size)
        if not p.is_empty
    )
    if length is None:
        return f"M {_size(best)} stays, though many queries are spurious at any length ({shown})."
    if length is best and not _is_filled(best):
        return f"M {_size(best)} stays: the list does not fill it, but is clean ({shown})."
    return f"M {_size(length)}: the longest list with few spurious queries ({shown})."


def _ndcg(prediction: Prediction) -> str:
    return f"{prediction['ndcg_of_ndcgs'].value:.3f}"
