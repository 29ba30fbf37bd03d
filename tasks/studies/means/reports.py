"""What reports with less noise than Laplace's do for a hybrid mean."""

from hybriddp.mean.clients import BIT, LAPLACE, MIXED, WINDOW
from hybriddp.studies.means.reports import KINDS, NOISE_PART, USERS, ReportSetting
from tasks.studies.means.summary import Row, Summary, rows_of
from tasks.studies.means.sweeps import FRACTIONS
from tasks.studies.model import Plot, Series, Study, Sweep

_EPSILONS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_SWEEPS = {f"trusted-{fraction:g}": fraction for fraction in FRACTIONS}
_BETTER = (BIT, WINDOW, MIXED)
_SHOWN_USERS = USERS[1]


def _conclude_reports(summary: Summary) -> str:
    worst, average = "report_noise_worst", "report_noise_average"
    rows = rows_of(summary, "error_over_laplace", method=MIXED)
    best = min(rows, key=lambda row: row["error_over_laplace"])
    last = max(rows, key=lambda row: row["error_over_laplace"])
    return (
        f"Mixed reports have {_say_ratios(summary, worst)} of the Laplace reports' noise at the "
        f"worst value and {_say_ratios(summary, average)} on average. At the worst value windows "
        f"beat bits {_since(summary, worst, BIT)} and mixed reports "
        f"{_since(summary, worst, MIXED)}; on average they beat mixed reports "
        f"{_since(summary, average, MIXED)}. KVH with mixed reports has "
        f"{best['error_over_laplace']:.3f} of the squared error at best ({_place(best)}) and "
        f"{last['error_over_laplace']:.3f} at worst ({_place(last)})."
    )


def _noise_by_epsilon(summary: Summary, measure: str, method: str) -> dict[float, float]:
    return {row["epsilon"]: row[measure] for row in rows_of(summary, measure, method=method)}


def _say_ratios(summary: Summary, measure: str) -> str:
    """Say which part of Laplace's noise mixed reports have, over all epsilons."""
    mixed, laplace = (_noise_by_epsilon(summary, measure, method) for method in (MIXED, LAPLACE))
    ratios = [mixed[epsilon] / laplace[epsilon] for epsilon in mixed]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _since(summary: Summary, measure: str, other: str) -> str:
    """Say from which epsilon on windows have less noise than another kind."""
    window, others = (_noise_by_epsilon(summary, measure, method) for method in (WINDOW, other))
    behind = [epsilon for epsilon in window if window[epsilon] >= others[epsilon]]
    since = [epsilon for epsilon in window if epsilon > max(behind, default=0.0)]
    return f"from epsilon {min(since):g} on" if since else "nowhere"


def _place(row: Row) -> str:
    return f"epsilon {row['epsilon']:g}, c {row['optin_fraction']:.1%}, n {int(row['part']):,}"


def _sweep(name: str, title: str, fraction: float) -> Sweep:
    setting = ReportSetting(optin_fraction=fraction)
    return Sweep(name, title, setting, "epsilon", _EPSILONS, KINDS)


def _series(methods: tuple[str, ...], part: str) -> tuple[Series, ...]:
    return tuple(Series(method, part, f"{method} reports") for method in methods)


reports = Study(
    name="mean-reports",
    title="Hybrid means: local reports with less noise",
    question="How much noise do Laplace, bit, window and mixed reports have, and does it matter?",
    reading="A bit is noisiest in the middle of the range, a window at its ends; mixed reports "
    "have the same noise everywhere from some epsilon on, and are bits below it. The average is "
    "over Beta(1, 1). The last plots are the squared error of KVH with such reports over that with "
    "Laplace's: where the trusted group decides the mean, reports hardly matter.",
    sweeps=(
        # Reports do not know how many users are trusted.
        _sweep("noise", "for any number of users", min(FRACTIONS)),
        *(
            _sweep(name, f"{FRACTIONS[fraction]} of the users trusted", fraction)
            for name, fraction in _SWEEPS.items()
        ),
    ),
    plots=(
        *(
            Plot(name, title, measure, ("noise",), _series(KINDS, NOISE_PART), is_logarithmic=True)
            for name, title, measure in (
                ("noise-worst", "Noise of a report, worst value", "report_noise_worst"),
                ("noise-average", "Noise of a report, average", "report_noise_average"),
            )
        ),
        Plot(
            "error-by-kind",
            f"Squared error of KVH by kind of report, {_SHOWN_USERS:,} users",
            "error_over_laplace",
            tuple(_SWEEPS),
            _series(_BETTER, str(_SHOWN_USERS)),
            limits=(0, 1.6),
        ),
        Plot(
            "error-by-users",
            "Squared error of KVH with mixed reports, by the number of users",
            "error_over_laplace",
            tuple(_SWEEPS),
            tuple(Series(MIXED, str(n), f"mixed, {n:,} users") for n in USERS),
            limits=(0, 1.05),
        ),
    ),
    statements=(
        "MEAN20 has Laplace reports only, and Gaussian ones for amplification.",
        "Wang et al. 2019, section III: mixed reports have less noise at the worst value than "
        "either kind alone, and than Laplace's.",
    ),
    limits=(
        "Reports of integers from 0 to 65,536; the curator's noise is Laplace's throughout.",
        "The weight knows the variance and each report's average noise, which for bits and windows "
        "depends on the values.",
    ),
    item_word="data",
    outcome=_conclude_reports,
)
