"""Figure 7 of MEAN20: whom the other group's noise hides from those who see only the mean."""

from hybriddp.studies.means.amplification import (
    ADVERSARIES,
    ALONE,
    CERTIFIED,
    CLASSIC,
    EXACT,
    METHODS,
    PRINTED,
    AmplificationSetting,
    adversary_part,
)
from tasks.studies.means.summary import Summary, rows_of
from tasks.studies.model import Plot, Series, Study, Sweep

_MEASURE = "amplified_epsilon"
_PANELS = {
    "few": (".1 % to 1 % trusted", (0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.007, 0.01)),
    "more": ("1 % to 10 % trusted", (0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1)),
}
_LABELS = {
    PRINTED: "as printed: WRONG",
    CLASSIC: "corrected, classic formula",
    EXACT: "corrected, exact",
    CERTIFIED: "proved for integers",
    ALONE: "no amplification, exact",
}
_NOBODY = adversary_part(0)
_AS_STATED = 0.01  # c at which the outcome is told


def _conclude_amplification(summary: Summary) -> str:
    by_method: dict[str, dict[tuple[float, str], float]] = {method: {} for method in METHODS}
    for row in rows_of(summary, _MEASURE):
        by_method[row["method"]][row["optin_fraction"], row["part"]] = row[_MEASURE]
    fractions = sorted({fraction for fraction, _ in by_method[PRINTED]})
    told = min(fractions, key=lambda fraction: abs(fraction - _AS_STATED))
    at = {method: by_method[method][told, _NOBODY] for method in METHODS}
    proved, most = by_method[CERTIFIED], adversary_part(ADVERSARIES[-1])
    return (
        f"At c = {told:.1%}, without adversaries: epsilon' is {at[PRINTED]:.1e} as printed, "
        f"{at[CLASSIC]:.3f} by the corrected formula, {at[EXACT]:.3f} exactly and "
        f"{at[CERTIFIED]:.3f} proved for integers; the same noise costs {at[ALONE]:.3f} by itself. "
        f"The printed number is up to {_ratio(by_method[CLASSIC], by_method[PRINTED]):,.0f} times "
        f"too small. The most that amplification does is {at[ALONE]:.3f} to "
        f"{proved[fractions[0], _NOBODY]:.3f} (c = {fractions[0]:.1%}), and to "
        f"{proved[fractions[0], most]:.3f} with {most}. What is proved for integers is at most "
        f"{_ratio(proved, by_method[EXACT]) - 1:.2%} above the exact idealisation."
    )


def _ratio(one: dict[tuple[float, str], float], other: dict[tuple[float, str], float]) -> float:
    """Return the largest ratio over all points."""
    return max(one[where] / other[where] for where in other)


amplification = Study(
    name="mean-amplification",
    title="Hybrid means: privacy against those who see only the mean",
    figures=("MEAN20 figure 7",),
    question="How much smaller than promised is the loss of privacy to who sees one number only?",
    reading="UC salaries, Gaussian noise of (1, 1e-7) by the classic formula, KVH's weight. The "
    "printed theorem takes the smaller of two sensitivities and promises what does not hold "
    "(errata 4). Of the rest, only what is proved for integers may be stated, and only if the one "
    "integer j A + B (each trusted user with j votes) is all that is published: neither the two "
    "means nor a report. For other weights nothing beyond the budget holds for trusted users, and "
    "a label states the budget (docs/proofs/amplification.md). The corrected formula and the exact "
    "cost, whose line lies under that of the integers, are of continuous noise, which no release "
    "draws: they belong into figures.",
    sweeps=tuple(
        Sweep(name, title, AmplificationSetting(), "optin_fraction", fractions, METHODS)
        for name, (title, fractions) in _PANELS.items()
    ),
    plots=(
        Plot(
            "formulas",
            "Figure 7: amplified epsilon' without adversaries, by five formulas",
            _MEASURE,
            tuple(_PANELS),
            tuple(Series(method, _NOBODY, label) for method, label in _LABELS.items()),
            is_logarithmic=True,
        ),
        Plot(
            "adversaries",
            "Figure 7, corrected: epsilon' by the share of clients who are adversaries",
            _MEASURE,
            tuple(_PANELS),
            (
                *(
                    Series(CERTIFIED, adversary_part(percent), f"proved, {percent} % adversaries")
                    for percent in ADVERSARIES
                ),
                Series(ALONE, _NOBODY, _LABELS[ALONE]),
            ),
        ),
    ),
    statements=(
        "MEAN20 section 8: even with a moderate fraction of adversarial local users, this "
        "amplification can be significant (figure 7, by the theorem as printed).",
        "MEAN20 section 8 and appendix D: Laplace noise is not amplified at all.",
    ),
    limits=(
        "The classic formula says nothing from epsilon' = 1 on; the budget's epsilon holds anyway.",
        "The exact cost of the classic noise is below its epsilon of 1 before anybody amplifies "
        "anything: compare with the line without amplification, not with 1.",
        "Weights of what is proved are those of whole votes nearest to KVH's. The salaries' "
        "variance counts as known: a weight must not depend on anybody's value.",
    ),
    item_word="data",
    outcome=_conclude_amplification,
)
