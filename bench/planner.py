"""Does the planner predict what happens? Random settings, predicted and then really simulated.

`python -m bench.planner` prints the table of docs/planner.md: for each setting the prediction from
one draw of the profile, and the means over 20 seeds of whole simulated releases on *another* draw
of it, which the planner does not know.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp.blender.headlist import count_records
from hybriddp.blender.metrics import evaluate
from hybriddp.blender.simulate import simulate
from hybriddp.params import STRATEGIES, BlenderParams
from hybriddp.planning.planner import predict
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.prior import Prior
from hybriddp.planning.profiles import aol_like
from hybriddp.planning.setting import Setting

N_SETTINGS = 30
N_SEEDS = 20
SEED = 20_261_116
# The planner's own draw of the profile is none of those that are released.
PRIOR_SEED = 1
MEASURES = ("l1_records", "head_queries", "l1_queries", "ndcg_of_ndcgs", "ndcg_queries")
LIMITS = {"l1_records": 0.15, "head_queries": 0.15}


@dataclass(frozen=True, slots=True)
class Case:
    """One setting: predicted and observed means, and the standard errors of the latter."""

    setting: Setting
    predicted: dict[str, float]
    observed: dict[str, float]
    standard_errors: dict[str, float]

    @property
    def is_empty(self) -> bool:
        """Whether there is no list, neither in truth nor in the prediction."""
        return self.predicted["head_queries"] < 0.5 and self.observed["head_queries"] < 0.5

    def error(self, measure: str) -> float:
        """Relative error; none where no list was rightly predicted."""
        if self.is_empty:
            return 0.0
        observed = self.observed[measure]
        return abs(self.predicted[measure] - observed) / max(observed, 1e-12)


def random_setting(rng: np.random.Generator) -> Setting:
    """Draw a setting."""
    params = BlenderParams(
        round(float(rng.uniform(0.5, 6)), 2),
        ("1e-5", "1e-6", "1e-7")[rng.integers(3)],
        strategy=STRATEGIES[rng.integers(2)],
        max_head_size=int(np.exp(rng.uniform(np.log(5), np.log(200)))),
        headlist_user_fraction=round(float(rng.uniform(0.5, 0.99)), 2),
    )
    n_users = int(np.exp(rng.uniform(np.log(50_000), np.log(1_000_000))))
    return Setting(
        params, n_users, Fraction(round(float(rng.uniform(0.01, 0.2)), 3)).limit_denominator(1000)
    )


def observe(population: Population, setting: Setting, rng: np.random.Generator) -> list[float]:
    """Simulate a whole release, person by person."""
    n, params = setting.n_users, setting.params
    query_ids, url_ids = population.sample_records(n, rng=rng)
    is_optin = rng.random(n) < float(setting.optin_fraction)
    release = simulate(query_ids, url_ids, is_optin, params, rng=rng)
    utility = evaluate(
        release.head_list,
        release.records.projected,
        release.queries.projected,
        count_records(query_ids, url_ids),
        n,
        params.max_head_size,
    )
    found = {"head_queries": float(release.head_list.n_queries)}
    return [found[name] if name in found else getattr(utility, name) for name in MEASURES]


def measure() -> list[Case]:
    """Predict and observe every setting."""
    prior = Prior.of_population(aol_like(rng=study_rng(PRIOR_SEED)))
    rng, cases = study_rng(SEED), []
    for number in range(N_SETTINGS):
        setting = random_setting(rng)
        prediction = predict(prior, setting, seed=number)
        own = study_rng(SEED + 1 + number)
        population = aol_like(rng=own)
        runs = np.array([observe(population, setting, own) for _ in range(N_SEEDS)])
        errors = runs.std(axis=0, ddof=1) / np.sqrt(N_SEEDS)
        cases.append(
            Case(
                setting,
                {name: prediction[name].value for name in MEASURES},
                dict(zip(MEASURES, runs.mean(axis=0).tolist(), strict=True)),
                dict(zip(MEASURES, errors.tolist(), strict=True)),
            )
        )
    return cases


def as_markdown(cases: list[Case]) -> str:
    """Return one row for each setting, and the medians."""
    lines = [
        "| strategy | eps | delta | users | opt-in | f_O | M | queries: predicted / observed "
        "| record L1 | query L1 | NDCG of NDCGs |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        params = case.setting.params
        cells = [
            params.strategy,
            f"{float(params.budget.epsilon):g}",
            f"{float(params.budget.delta):.0e}",
            f"{case.setting.n_users:,}",
            f"{float(case.setting.optin_fraction):.1%}",
            f"{float(params.headlist_user_fraction):g}",
            str(params.max_head_size),
            _pair(case, "head_queries", ".1f"),
            _pair(case, "l1_records", ".4f"),
            _pair(case, "l1_queries", ".4f"),
            _pair(case, "ndcg_of_ndcgs", ".3f"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_summary(cases)])


def _pair(case: Case, name: str, form: str) -> str:
    return f"{case.predicted[name]:{form}} / {case.observed[name]:{form}}"


def _summary(cases: list[Case]) -> list[str]:
    listed = [case for case in cases if not case.is_empty]
    lines = [
        f"Relative error over {len(cases)} settings, {len(cases) - len(listed)} of them without a "
        f"list, as predicted; in the last column, what {N_SEEDS} seeds leave uncertain.",
        "",
        "| | median | median, with a list | largest | standard error of what was observed |",
        "|---|---|---|---|---|",
    ]
    for name in MEASURES:
        errors = [case.error(name) for case in cases]
        own = [case.error(name) for case in listed]
        noise = np.median([c.standard_errors[name] / max(c.observed[name], 1e-12) for c in listed])
        lines.append(
            f"| {name} | {np.median(errors):.1%} | {np.median(own):.1%} | {max(errors):.1%} "
            f"| {noise:.1%} |"
        )
    return lines


if __name__ == "__main__":
    print(as_markdown(measure()))
