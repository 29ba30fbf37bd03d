"""What a release of means promises, in words and numbers."""

import json
from fractions import Fraction

import hybriddp.mean.design
from hybriddp.mean.amplification import Certified
from hybriddp.noise.gaussian import DiscreteGaussian, gaussian_delta
from tasks.products.mean.label import write_label
from tasks.products.mean.processing import parameters_of
from tasks.products.mean.tables import second_guarantee
from tasks.verify.reading import described


def read(run):
    folder = run.home.shelf("mean", "all") / run.release_id
    return json.loads((folder / "manifest.json").read_bytes()), (folder / "label.md").read_text()


def test_label_by_country_states_the_first_guarantee_only(usual):
    manifest, label = read(usual)
    assert "180 people, who gave a number to the curator, who added them up, and gave it" in label
    assert "| the curator | 4 | 0 |" in label
    assert "720 people, who reported a number | the curator (simulated) | 4 | 0 |" in label
    assert "for each country" in label
    assert "counts as public" in label
    assert "between 0 and 10" in label
    assert "second guarantee" not in label
    assert manifest["second_guarantee"] is None
    assert f"p <= {manifest['cross_check']['p_value']}" in label


def test_label_of_one_number_states_both_and_the_second_never_replaces_the_first(one_number):
    manifest, label = read(one_number)
    assert "| the curator | 4 | 1e-05 |" in label
    assert label.index("first guarantee") < label.index("second guarantee")
    assert "does not replace" in label
    assert "It does not hold against the curator" in label
    epsilons = [float(row["epsilon_optin"]) for row in manifest["second_guarantee"]]
    assert epsilons == sorted(epsilons)  # a larger coalition learns more
    assert all(0 < epsilon <= 4 for epsilon in epsilons)
    for row in manifest["second_guarantee"]:
        assert f"| {row['epsilon_optin']} | {row['epsilon_clients']} | 1e-05 |" in label
        assert float(row["epsilon_clients"]) < float(row["epsilon_optin"])


def test_second_guarantee_is_that_of_the_votes_that_are_counted(one_number):
    """By the continuous formula, from the noises that were drawn: within a thousandth."""
    design = parameters_of(one_number).design
    n_optin, n_clients = (one_number.group_size(group) for group in ("sums", "numbers"))
    ballot = design.ballot(n_optin, n_clients)
    stated = second_guarantee(design, [(n_optin, n_clients)])
    for row in stated:
        n_honest = n_clients - -(-n_clients * Fraction(row["coalition"]) // 1)
        variance = (
            ballot.votes**2 * ballot.noise_trusted.scale**2 + n_honest * ballot.noise_local.scale**2
        )
        alone = DiscreteGaussian(ballot.noise_trusted.scale)
        assert variance > ballot.votes**2 * alone.variance
        epsilon = Fraction(row["epsilon_optin"])
        # The least epsilon at delta is one at which the divergence crosses delta.
        ratio = ballot.votes * ballot.grid.n_steps / variance**0.5
        assert (
            gaussian_delta(float(epsilon), ratio)
            <= 1e-5
            < gaussian_delta(float(epsilon) - 2e-3, ratio)
        )


def test_coalitions_are_not_smaller_than_stated(one_number, monkeypatch):
    """Half of seven clients are four, and a coalition may be in one key as a whole."""
    asked = []
    monkeypatch.setattr(
        hybriddp.mean.design,
        "_proved",
        lambda ballot, budget, n: asked.append(n) or Certified(budget, Fraction(1, 3), Fraction(1)),
    )
    design = parameters_of(one_number).design
    stated = second_guarantee(design, [(5, 7)])
    assert asked == [0, 1, 4]
    assert {row["epsilon_optin"] for row in stated} == {"0.3334"}  # never rounded down
    asked.clear()
    # Of 107 clients 54 are half: all seven of the small key may be among them.
    stated = second_guarantee(design, [(5, 7), (5, 100)])
    assert asked == [0, 0, 6, 11, 6, 54]
    assert [row["epsilon_optin"] for row in stated] == ["0.3334", "4.0000", "4.0000"]


def test_label_says_limits_as_they_are_and_who_read_membership_off_the_log(usual):
    manifest, _ = read(usual)
    for optin, is_said in (("roster", False), ("column", True), ("hash 1/20", True)):
        parameters = {**manifest["parameters"], "upper": "5/2", "optin": optin}
        label = write_label(described({**manifest, "parameters": parameters}))
        assert "between 0 and 2.5," in label
        assert ("was read off the log" in label) == is_said


def test_worst_key_decides(one_number):
    design = parameters_of(one_number).design
    both = second_guarantee(design, [(100, 1000), (5, 50)])
    each = [second_guarantee(design, [sizes]) for sizes in ((100, 1000), (5, 50))]
    for name in ("epsilon_optin", "epsilon_clients"):
        worst = [max(rows[name] for rows in of_each) for of_each in zip(*each, strict=True)]
        assert both[0][name] == worst[0]  # nobody shares anything
        assert all(row[name] >= least for row, least in zip(both, worst, strict=True))
