"""Plans: the same for the same seed, from public data only, right on what is known, frugal."""

import hashlib
import json
import math
import os
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from flows.cli import plan as cli_plan
from hybriddp.blender.evidence.subset_reports import SubsetReports
from hybriddp.device.package import canonical_json
from hybriddp.errors import InvalidParameter
from hybriddp.params import BlenderParams
from hybriddp.planning.calibration import prior_of_release
from hybriddp.planning.planner import QUANTITIES, predict
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.prior import Prior, tail_slope
from hybriddp.planning.rehearsals.client_counts import draw_report_counts
from hybriddp.planning.rehearsals.counted import Stage
from hybriddp.planning.setting import Setting
from hybriddp.planning.suggestion import MOST_SPURIOUS, choose, error_per_mass, suggest
from hybriddp.randomizers.laws import client_response
from tasks.budget.policy import Policy, set_policy
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Ledger
from tasks.plan.budget import Cap, plan_budget
from tasks.plan.page import as_markdown
from tasks.plan.plan import make_plan
from tasks.plan.prior import from_published
from tasks.plan.request import PlanRequest
from tests.homes import new_home
from tests.manifests import guarantees_of, manifest_of

STRATEGIES = ("paper", "high-utility")


def planted(n_frequent: int = 12, p: float = 0.01) -> Prior:
    """A law with so many equally frequent queries of one url; all else is rare."""
    head = np.full(n_frequent, p)
    law = np.append(head, np.full(30_000, (1 - head.sum()) / 30_000))
    return Prior.of_population(
        Population.from_shares(
            "planted", n_users=100_000, n_urls=1, query_probabilities=law,
            url_counts=np.ones(n_frequent, dtype=np.int64), url_shares=np.ones(n_frequent),
        )
    )  # fmt: skip


def setting(strategy: str = "high-utility", n_users: int = 100_000, **changes) -> Setting:
    records = 5 if strategy == "high-utility" else 1
    params = BlenderParams(4, "1e-5", strategy=strategy, max_head_size=changes.pop("size", 50),
                           max_records_optin=records)  # fmt: skip
    return Setting(params, n_users, Fraction(1, 20), **changes)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_same_seed_gives_the_same_prediction_and_another_seed_another(strategy):
    prior, asked = planted(), setting(strategy)
    first, again, other = (predict(prior, asked, seed=s, n_replicates=3) for s in (1, 1, 2))
    assert first == again
    assert first.quantities != other.quantities
    assert tuple(first.quantities) == QUANTITIES


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_planted_frequent_queries_are_exactly_the_predicted_head(strategy):
    """About 47 of 4,750 people of S hold each frequent query, and 0.14 each rare one."""
    predicted = predict(planted(), setting(strategy), n_replicates=10)
    assert predicted["head_queries"].mean == pytest.approx(12, abs=0.3)
    assert predicted["head_records"].mean == pytest.approx(12, abs=0.3)
    assert predicted["covered_mass"].mean == pytest.approx(0.12, abs=1e-4)
    assert predicted["missing_share"].value == pytest.approx(38 / 50, abs=0.01)
    assert predicted["spurious_share"].value < 0.02
    assert 0 < predicted["interval_relative"].value < 1


def test_planted_head_is_cut_at_the_largest_size():
    predicted = predict(planted(), setting(size=5), n_replicates=5)
    assert predicted["head_queries"].mean == 5
    assert predicted["covered_mass"].mean == pytest.approx(0.05)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_list_that_nobody_can_fill_is_predicted_empty(strategy):
    predicted = predict(planted(p=1e-4), setting(strategy, n_users=2_000), n_replicates=4)
    assert predicted.is_empty
    assert predicted["l1_records"].mean == 0
    assert predicted["interval_margin"].mean is None


def test_error_falls_with_epsilon_and_grows_with_rotation():
    prior, asked = planted(), setting()
    careless = replace(asked, params=BlenderParams(1, "1e-5", strategy="high-utility"))
    base, less, fewer = (
        predict(prior, s, n_replicates=6)["l1_records"].value
        for s in (asked, careless, replace(asked, rotation=4))
    )
    assert less > 1.3 * base
    assert fewer > 1.3 * base


def test_groups_add_up_and_spread_follows_its_formula():
    asked = setting(n_users=100_003, rotation=3, distinct_clicks=4.0)
    assert asked.n_finders + asked.n_measurers + asked.n_clients == asked.n_serving == 33_334
    assert asked.spread == pytest.approx(1 / 5 + (4 / 5) / 4)
    assert setting().spread == 1


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"n_users": 0}, "n_users"),
        ({"n_users": 20}, "at least 1 user"),
        ({"rotation": 0}, "rotation"),
        ({"distinct_clicks": 0.5}, "distinct_clicks"),
    ],
)
def test_setting_that_cannot_be_is_refused(changes, rule):
    with pytest.raises(InvalidParameter, match=rule):
        setting(**changes)


@pytest.mark.parametrize("clicks", [1.0, 3.0])
def test_units_have_the_promised_mean_and_variance(clicks):
    asked = setting(distinct_clicks=clicks)
    stage, rng = Stage(planted(), asked), study_rng(5)
    n, m, p = 2_000, 5, 0.01
    law = np.array([p, 0.3])
    units = np.array([stage._hold(n, law, rng).units[0] for _ in range(2_500)])
    variance = asked.spread * m**2 * n * p * (1 - p)
    assert units.mean() == pytest.approx(m * n * p, abs=4 * math.sqrt(variance / 2_500))
    assert units.var() == pytest.approx(variance, rel=0.15)  # five standard errors


def test_far_tail_names_as_many_records_as_its_law_says():
    """The same tail, once in groups and once record by record."""
    ranks = np.arange(1, 40_001)
    population = Population.from_shares(
        "tail", n_users=1, n_urls=1, query_probabilities=ranks**-0.6,
        url_counts=np.ones(1, dtype=np.int64), url_shares=np.ones(1),
    )  # fmt: skip
    asked, rng = setting(n_users=2_000_000, size=10_000), study_rng(9)
    grouped, single = (
        Stage(Prior.of_population(population, n), asked) for n in (300, population.n_queries)
    )
    counts = [np.array([s.count_found(rng=rng) for _ in range(40)]) for s in (grouped, single)]
    gap = abs(counts[0].mean() - counts[1].mean())
    assert counts[1].mean() > 400
    assert gap < 4 * math.sqrt((counts[0].var() + counts[1].var()) / 40)


@pytest.mark.parametrize("kind", ["two-stage", "one-stage"])
def test_every_client_report_is_counted(kind):
    params = BlenderParams(2, "1e-5", strategy="high-utility", client_report=kind)
    response = client_response(params, [3, 2, 4, 1])
    holders = np.array([50, 20, 5, 30, 2, 9, 9, 1, 0, 90_000])
    reports = draw_report_counts(response, holders, rng=study_rng(3))
    size = getattr(response, "size", 1)
    assert reports.sum() == pytest.approx(size * holders.sum(), abs=len(holders))
    assert (reports >= 0).all()


def test_tail_of_a_list_goes_on_as_its_head_falls():
    ranks = np.arange(1, 41)
    law = 0.01 * ranks**-0.9
    assert tail_slope((0.01 * np.arange(1, 4_001) ** -0.9).tolist()) == pytest.approx(0.9, rel=0.01)
    prior = Prior.of_list("list", law.tolist(), [[0.7, 0.2]] * 40, slope=0.9)
    queries = np.bincount(prior.query_ids, prior.probabilities)
    assert queries[:40] == pytest.approx(law)
    assert queries[40:1_000] == pytest.approx(0.01 * np.arange(41, 1_001) ** -0.9)
    assert prior.dust >= 0
    own = prior.query_ids == 500
    assert prior.is_nameable[own].tolist() == [True, True, True, False]


def test_tail_is_calibrated_to_the_number_of_listed_queries():
    asked = setting(n_users=200_000)
    law = (0.02 * np.arange(1, 9) ** -1.0).tolist()
    found = {}
    for n_listed in (18, 30):
        prior, slope = prior_of_release("x", law, [[1.0]] * 8, setting=asked, n_listed=n_listed)
        stage, rng = Stage(prior, asked), study_rng(2)
        found[n_listed] = slope, np.mean([stage.count_found(rng=rng) for _ in range(20)])
    assert found[18][0] > found[30][0]
    for n_listed, (_, n_found) in found.items():
        assert n_found == pytest.approx(n_listed, rel=0.15)


def test_suggestion_is_the_best_that_was_tried_and_clean():
    prior, asked = planted(), setting("paper", n_users=60_000, size=20)
    suggestion = suggest(prior, asked, n_replicates=4)
    same_size = [p for p in suggestion.tried if p.setting.params.max_head_size == 20]
    best = choose(same_size)
    assert best.setting.params.strategy == suggestion.setting.params.strategy == "high-utility"
    (taken,) = [p for p in suggestion.tried if p.setting == suggestion.setting]
    assert taken["spurious_share"].value <= MOST_SPURIOUS
    assert error_per_mass(best) <= error_per_mass(same_size[0])
    text = " ".join(suggestion.reasons)
    assert all(word in text for word in ("Strategy `high-utility`", "f_O", "M 20"))


def test_suggestion_keeps_the_strategy_that_was_asked_for():
    suggestion = suggest(planted(), setting("paper"), strategies=("paper",), n_replicates=2)
    assert {p.setting.params.strategy for p in suggestion.tried} == {"paper"}
    assert any("f_C" in reason for reason in suggestion.reasons)


PRICE = BlenderParams(4, "1e-5", strategy="high-utility")


@pytest.mark.parametrize(
    ("policy", "every", "horizon", "rotation"),
    [
        (Policy(), "week", 365, 18),
        (Policy(), "month", 365, 4),
        (Policy(), "week", 14, 1),
        (Policy.of(400, "1e-2", None), "week", 365, 1),
        (Policy.of(12, "1e-4", 28), "week", 365, 2),
        (Policy.of(12, "2e-5", None), "week", 365, 27),
    ],
)
def test_suggested_rotation_is_the_smallest_that_the_cap_lasts_for(
    policy, every, horizon, rotation
):
    plan = plan_budget(PRICE, 1, every, horizon, Cap(policy, "a test", None))
    assert plan.suggested_rotation == rotation
    turns = math.ceil(plan.epochs / rotation)
    assert turns * plan.prices["S"].epsilon <= policy.cap.epsilon
    assert turns * plan.prices["S"].delta <= policy.cap.delta
    if rotation > 1:
        assert math.ceil(plan.epochs / (rotation - 1)) > plan.fits
    kept = plan_budget(PRICE, rotation, every, horizon, Cap(policy, "a test", None))
    assert kept.lasts is None or kept.lasts >= kept.epochs


def test_what_people_have_spent_shortens_the_runway():
    spent = Charge.of(PRICE.budget)
    plan = plan_budget(PRICE, 1, "week", 365, Cap(Policy(), "a test", (spent,)))
    assert (plan.fits, plan.fits_most_charged, plan.lasts) == (3, 2, 2)
    assert plan.suggested_rotation == 27


def test_release_above_the_cap_has_no_rotation():
    plan = plan_budget(BlenderParams(13, "1e-5"), 1, "week", 365, Cap(Policy(), "a test", None))
    assert (plan.fits, plan.suggested_rotation) == (0, None)


# The product around it.


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A release folder as consumers see it: fifteen queries of 200,000 people."""
    folder = tmp_path_factory.mktemp("shelf") / "release"
    folder.mkdir()
    trends, records = [], []
    for rank in range(1, 16):
        p = round(0.01 / rank, 6)
        interval = {"ci_low": p / 2, "ci_high": 2 * p}
        trends.append({"rank": rank, "query": f"q{rank}", "probability": p, **interval})
        records.append({**trends[-1], "url": "u", "probability": 0.8 * p})
    files = {
        "trends.jsonl": "".join(json.dumps(row) + "\n" for row in trends),
        "head_list.jsonl": "".join(json.dumps(row) + "\n" for row in records),
    }
    wildcards = {f"q{rank}": 0.2 * 0.01 / rank for rank in range(1, 16)}
    manifest = manifest_of(
        blocked_queries=0, rows={"trends": 15}, decimals=6, interval_method="made up",
        masses={"query_wildcards": wildcards, "other_records": 0.9, "other_queries": 0.9},
        cross_check={"records": 15, "chi_square": "1", "p_value": "1", "suspicious_records": 0},
        parameters={
            "strategy": "high-utility", "epsilon": "4", "delta": "1/100000", "max_head_size": 50,
            "headlist_user_fraction": "19/20", "query_budget_fraction": "17/20",
            "max_records_optin": 1, "max_records_client": 1, "client_report": "one-stage",
            "rotation": 2, "optin": "column", "clients": "simulate",
            "mechanism_version": "blender-high-utility-1",
        },
        guarantees=guarantees_of(S=9_500, T=500, C=190_000),
        files={
            name: {"bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
            for name, text in files.items()
        },
    )  # fmt: skip
    files["manifest.json"] = canonical_json(manifest).decode()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def run(*arguments: object):
    app = typer.Typer()
    app.callback()(lambda: None)
    app.command()(cli_plan.plan)
    return CliRunner().invoke(app, ["plan", *(str(argument) for argument in arguments)])


@pytest.fixture
def no_databases(monkeypatch):
    """Logs are read through DuckDB, the ledger through SQLite."""
    for name in ("sqlite3.connect", "duckdb.connect", "tasks.release.run.inspect"):
        monkeypatch.setattr(name, lambda *_args, **_options: pytest.fail("a plan opened a log"))


def test_plan_of_a_published_list_takes_over_its_parameters(published):
    plan = make_plan(PlanRequest(previous=published, suggest=False, replicates=4))
    asked = plan.asked.setting
    assert (asked.n_users, asked.rotation, asked.optin_fraction) == (400_000, 2, Fraction(1, 20))
    assert asked.params == BlenderParams(4, "1e-5", strategy="high-utility", max_records_optin=1)
    assert plan.asked["head_queries"].value == pytest.approx(15, abs=3)
    assert "0" * 32 in plan.source
    assert plan.suggested is None


def test_list_that_is_not_what_its_manifest_describes_is_refused(published, tmp_path):
    for path in published.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "trends.jsonl").write_text("")
    result = run("--previous", tmp_path)
    assert result.exit_code == 2
    assert "not the file that the manifest describes" in " ".join(result.output.split())


def test_plan_needs_no_private_zone_and_makes_none(published, tmp_path, no_databases):
    home = tmp_path / "home"
    plan = make_plan(PlanRequest(previous=published, suggest=False, replicates=2), home)
    assert not home.exists()
    assert "no ledger" in plan.budget.cap_from


def test_plan_opens_nothing_below_private_without_a_home(published, monkeypatch, no_databases):
    opened = []
    for owner in (Path, os):  # a published folder is read by descriptors

        def watched(path, *args, real=owner.open, **kwargs):
            opened.append(Path(path))
            return real(path, *args, **kwargs)

        monkeypatch.setattr(owner, "open", watched)
    make_plan(PlanRequest(previous=published, suggest=False, replicates=2))
    assert {path.parent for path in opened} == {published}


def test_plan_reads_the_policy_of_a_home_and_leaves_the_ledger_as_it_was(published, tmp_path):
    home = new_home(tmp_path)
    set_policy(Ledger(home.ledger), Policy.of(40, "1e-3", None))
    head = Ledger(home.ledger).head()
    plan = make_plan(PlanRequest(previous=published, suggest=False, replicates=2), tmp_path)
    assert (plan.budget.fits, plan.budget.cap_from) == (10, "the home's ledger")
    assert Ledger(home.ledger).head() == head


def test_command_prints_a_page_with_prediction_reasons_and_assumptions(published):
    result = run(
        "--previous", published, "--replicates", 2, "--strategy", "paper", "--users", 60_000
    )
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    for words in (
        "nothing was spent", "queries on the list", "NDCG of NDCGs", "Suggestion",
        "Rotation 18", "each pays", "a person can serve in 3 releases", "Assumptions", "rank^-",
    ):  # fmt: skip
        assert words in text, words


def test_command_speaks_json(published):
    result = run("--previous", published, "--no-suggest", "--json", "--replicates", 2, "--seed", 3)
    plan = json.loads(result.stdout)
    assert list(plan["asked"]["predicted"]) == list(QUANTITIES)
    assert plan["asked"]["people"] == {"S": 9_500, "T": 500, "C": 190_000}
    assert plan["suggested"] is None
    assert plan["budget"]["suggested_rotation"] == 18
    assert result.stdout == run(
        "--previous", published, "--no-suggest", "--json", "--replicates", 2, "--seed", 3
    ).stdout  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--log-profile", "bing-like"), "aol-like"),
        (("--epsilon", "0"), "epsilon"),
        (("--every", "hour"), "every"),
        (("--previous", "nowhere"), "not the folder of a release"),
        (("--previous", "nowhere", "--log-profile", "aol-like"), "not both"),
    ],
)
def test_bad_input_exits_2_with_a_reason(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def changed(
    published: Path, folder: Path, epsilon: str, likeliest: float, others: float = 0.002
) -> Path:
    """Return a copy of a release whose publisher says something else."""
    shutil.copytree(published, folder)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["parameters"]["epsilon"] = epsilon
    manifest["masses"]["query_wildcards"]["q1"] = others
    rows = [json.loads(line) for line in (folder / "trends.jsonl").read_text().splitlines()]
    rows[0]["probability"] = likeliest
    trends = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "trends.jsonl").write_text(trends)
    manifest["files"]["trends.jsonl"]["sha256"] = hashlib.sha256(trends.encode()).hexdigest()
    (folder / "manifest.json").write_bytes(canonical_json(manifest))
    return folder


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (("4", 0.999999), "more than 1 together"),
        (("4", 0.01, -0.00799), "no head list says"),
        (("1e-9", 0.01), "epsilon below 1/100"),
        (("9999/1000000", 0.01), "epsilon below 1/100"),
    ],
)
def test_a_strangers_list_that_is_none_is_refused_in_words(published, tmp_path, facts, message):
    result = run("--previous", changed(published, tmp_path / "odd", *facts))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "unforeseen" not in result.output


def test_a_list_may_be_all_searches_and_its_noise_as_large_as_is_allowed(published, tmp_path):
    others = sum(round(0.01 / rank, 6) for rank in range(2, 16))
    whole = changed(published, tmp_path / "whole", "4", 1 - others + 1e-5)
    assert from_published(whole).prior.dust == pytest.approx(0, abs=1e-9)
    noisy = changed(published, tmp_path / "noisy", "1/100", 0.01)
    assert from_published(noisy).params.budget.epsilon == Fraction(1, 100)


def test_page_for_prefect_is_markdown(published):
    plan = make_plan(PlanRequest(previous=published, suggest=False, replicates=2))
    page = as_markdown(plan)
    assert "| queries on the list |" in page
    assert "**Assumptions**" in page


def test_subset_reports_have_the_covariance_of_their_law():
    """Holders drawn, then reports: together the law of evidence.SubsetReports."""
    params = BlenderParams(1, "1e-5", strategy="high-utility")
    response, rng = client_response(params, [3, 3, 3, 1]), study_rng(11)
    assert response.size > 1
    p = np.array([0.05, 0.02, 0.01, 0.1, 0.02, 0.0, 0.01, 0.01, 0.03, 0.75])
    n = 20_000
    drawn = [
        SubsetReports.of(response, draw_report_counts(response, rng.multinomial(n, p), rng=rng), n)
        for _ in range(3_000)
    ]
    values = np.array([source.values for source in drawn])
    expected = drawn[0].covariance(p)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(values.mean(axis=0) - p).max() < 5 * np.sqrt(np.diag(expected) / 3_000).max()
    assert np.abs(np.cov(values.T) - expected).max() < 0.1 * scale.max()
