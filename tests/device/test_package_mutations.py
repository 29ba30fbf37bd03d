"""A device meets hostile packages with words; `make campaign` tries 25,000 of them."""

import os
import random

import pytest

from hybriddp.device.season import WeekOfSeason
from hybriddp.params import BlenderParams
from tests.device.test_package import make_package
from tests.mutations import ask_device, mutated

PARAMS = [
    BlenderParams(4, "1e-5"),
    BlenderParams(2, strategy="high-utility"),
    BlenderParams(2, strategy="high-utility", client_report="two-stage-exact"),
]
# Of a season of one week, which is every device's own.
SEASON = WeekOfSeason("weekly", 1, 1, 1, "2026-W46", 1)
N_PACKAGES, MANY_PACKAGES = 300, 25_000


@pytest.mark.parametrize(
    ("season", "n_packages", "least"), [(None, N_PACKAGES, 10), (SEASON, N_PACKAGES // 2, 2)]
)
def test_mutated_packages_end_in_words_or_in_a_report(
    tmp_path, monkeypatch, season, n_packages, least
):
    """And some of each, so that the mutations are neither harmless nor hopeless.

    With another rotation the device's own secret decides; so many report whatever it is.
    """
    monkeypatch.setattr("os.fsync", lambda _: None)
    rng = random.Random(20261117)
    n_reports = 0
    for _ in range(n_packages):
        package = make_package(params=rng.choice(PARAMS), season=season)
        n_reports += ask_device(tmp_path, mutated(package.to_bytes(), rng))
    assert least < n_reports < n_packages / 2


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("query_budget_fraction", "9" * 400),
        ("headlist_user_fraction", f"{'9' * 1000}/7"),
        ("epsilon", "9" * 1000),
        ("delta", "9" * 400),
    ],
)
@pytest.mark.parametrize("params", PARAMS, ids=lambda p: p.client_report)
def test_numbers_beyond_all_floats_are_refused_in_words(tmp_path, params, field, text):
    data = make_package(params=params).to_bytes()
    old = f'"{field}":"'.encode()
    start = data.index(old, data.index(b'"parameters"')) + len(old)
    hostile = data[:start] + text.encode() + data[data.index(b'"', start) :]
    assert not ask_device(tmp_path, hostile)


@pytest.mark.long
def test_no_mutated_package_of_thousands_surprises_a_device(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing here is about power cuts
    seed = int(os.environ.get("HYBRIDDP_TEST_SEED", "1"))
    rng = random.Random(seed)
    seasons = (None, SEASON)
    sound = [make_package(params=p, season=s).to_bytes() for p in PARAMS for s in seasons]
    for number in range(MANY_PACKAGES):
        data = mutated(rng.choice(sound), rng)
        try:
            ask_device(tmp_path, data)
        except Exception as error:
            raise AssertionError(f"package {number} of seed {seed}: {data[:2000]!r}") from error
