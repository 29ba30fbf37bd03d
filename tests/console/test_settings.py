"""A settings file, a number or a package may say anything: the answer is a sentence."""

import copy
import json
import os
import random

import pytest
from pydantic import ValidationError

from flows.console.settings import read_settings
from hybriddp.device.package import CollectionPackage, canonical_json
from hybriddp.errors import HybridDPError, InvalidParameter
from hybriddp.exact import exact
from hybriddp.params import BlenderParams
from tasks.budget.policy import Policy
from tasks.log.raw.files import BadInput
from tasks.products.clusters.request import KMeansRequest
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.histograms.request import ZealousRequest
from tasks.products.mean.request import MeanRequest
from tests.publish.checking.hostile import ODD, mutated

REQUESTS = (ReleaseRequest, ZealousRequest, MeanRequest, KMeansRequest)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("columns = 7", "columns must be a table"),
        ("columns = [['person', 'x']]", "columns must be a table"),
        ("[[columns]]\nperson = 'x'", "columns must be a table"),
        ("locale = 'all'\nepoch = =", "line 2, column 9: this is no TOML"),
        ("a = " + "[" * 20_000, "this is no TOML"),
        ("\udcff", "is not UTF-8"),
    ],
)
def test_a_settings_file_that_is_odd_is_bad_input(tmp_path, text, words):
    path = tmp_path / "release.toml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(BadInput, match=words):
        read_settings(path, {}, [])


def toml_of(value: object) -> str:
    """Write a value as TOML where it can be written; a date or a text where not."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value) if abs(value) < 1e300 else "9" * 400
    if isinstance(value, list):
        return f"[{', '.join(map(toml_of, value))}]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(str(k))} = {toml_of(v)}" for k, v in value.items()) + "}"
        )
    return "2026-11-17" if value is None else json.dumps(str(value)[:300].replace("\ud800", ""))


def try_settings(path, seed: str, n_cases: int) -> None:
    """Give requests odd settings; anything but a refusal in words passes on."""
    rng = random.Random(seed)
    for _ in range(n_cases):
        form = rng.choice(REQUESTS)
        names = rng.sample(list(form.model_fields), 3)
        lines = [f"{name} = {toml_of(rng.choice(ODD[:-8]))}" for name in names]
        path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
        try:
            form.model_validate({"log": "x", "epoch": "2026-W40", **read_settings(path, {}, [])})
        except (HybridDPError, ValidationError):
            continue


def test_settings_of_any_kind_are_refused_in_words_or_taken(tmp_path):
    try_settings(tmp_path / "release.toml", "settings", 300)


@pytest.mark.parametrize("text", ["1e400000000", "-1e-999999999", "9" * 10_000, "1e1_000_000_000"])
def test_a_number_that_would_fill_the_memory_is_refused_at_once(text):
    with pytest.raises(InvalidParameter, match="must be a finite number"):
        exact(text, "epsilon")


def test_a_cap_that_is_none_is_refused():
    for epsilon in ("1e400", "1e999999999", 10**400, "inf", "nan", float("inf")):
        with pytest.raises(InvalidParameter, match="cap_epsilon"):
            Policy.of(epsilon, 0, None)


def try_packages(seed: str, n_cases: int) -> int:
    """Read odd packages; return how many were refused, and let all else pass on."""
    whole = CollectionPackage(
        release_id="0" * 32, product="search", epoch="2026-W46", locale="all",
        params=BlenderParams(4, "1e-5"), head_list=(("maps", ("http://maps.com",)),),
    )  # fmt: skip
    fields, rng, n_refused = json.loads(whole.to_bytes()), random.Random(seed), 0
    for _ in range(n_cases):
        odd = mutated(copy.deepcopy(fields), rng)
        try:
            CollectionPackage.from_bytes(canonical_json(odd))
        except InvalidParameter:
            n_refused += 1
    return n_refused


def test_odd_packages_are_refused_in_words():
    assert try_packages("packages", 400) > 300


@pytest.mark.parametrize("strategy", ["paper", "high-utility"])
@pytest.mark.parametrize("name", ["headlist_user_fraction", "query_budget_fraction"])
def test_a_fraction_that_no_float_can_hold_is_refused_in_words(strategy, name):
    with pytest.raises(InvalidParameter, match="got a number beyond all floats"):
        BlenderParams(4, "1e-5", strategy=strategy, **{name: "9" * 400})


SEED = os.environ.get("HYBRIDDP_TEST_SEED", "1")


@pytest.mark.long
def test_no_settings_file_of_twenty_thousand_ends_in_anything_but_words(tmp_path):
    try_settings(tmp_path / "release.toml", f"settings {SEED}", 20_000)


@pytest.mark.long
def test_no_package_of_twenty_five_thousand_ends_in_anything_but_words():
    assert try_packages(f"packages {SEED}", 25_000) > 18_000
