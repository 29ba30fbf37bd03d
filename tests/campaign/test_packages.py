"""Campaign: 25,000 mutated packages end in words or in a report, never in a surprise."""

import os
import random

from tests.mutations import ask_device, mutated
from tests.unit.test_package import make_package
from tests.unit.test_package_mutations import PARAMS

N_PACKAGES = 25_000


def test_no_mutated_package_surprises_a_device(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing here is about power cuts
    seed = int(os.environ.get("HYBRIDDP_TEST_SEED", "1"))
    rng = random.Random(seed)
    sound = [make_package(params=params).to_bytes() for params in PARAMS]
    for number in range(N_PACKAGES):
        data = mutated(rng.choice(sound), rng)
        try:
            ask_device(tmp_path, data)
        except Exception as error:
            raise AssertionError(f"package {number} of seed {seed}: {data[:2000]!r}") from error
