"""Twenty thousand odd settings files and packages: each is refused in words, or taken.

`make test` looks at a few hundred of them. Run by `make campaign`, on its seed.
"""

import os

from tests.unit.test_settings import try_packages, try_settings

SEED = os.environ.get("HYBRIDDP_TEST_SEED", "1")


def test_no_settings_file_ends_in_anything_but_words(tmp_path):
    try_settings(tmp_path / "release.toml", f"settings {SEED}", 20_000)


def test_no_package_ends_in_anything_but_words():
    assert try_packages(f"packages {SEED}", 25_000) > 18_000
