"""Beside a ledger: whoever has the key signs nothing that was not reserved, charged and drawn."""

from functools import reduce
from operator import getitem

import pytest

from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import own_measurements
from tests.publish.checking.spoiling import Publisher

OTHER_DIGEST = "0" * 64


@pytest.mark.parametrize(
    ("where", "to"),
    [
        ("epoch", "2026-W47"),
        ("sequence", 7),
        ("previous", "0" * 32),
        ("created", "2026-11-16T00:00:00+00:00"),
        ("expires", "2099-01-01T00:00:00+00:00"),
        ("code_version", "0.1.0"),
        ("ledger.hash", OTHER_DIGEST),
        ("measurements.S", OTHER_DIGEST),
        ("parameters.clients", "reports"),
        ("parameters.epsilon", "3"),
        ("cap.cap_epsilon_nano", 10**15),
        ("guarantees.S.people", 10**6),
        ("guarantees.S.epsilon_nano", 1),
        ("guarantees.C.delta_atto", 1),
    ],
)
def test_a_signed_manifest_says_what_the_ledger_says(run, folder, where, to):
    publisher = Publisher(run, folder)
    own_measurements(run.home, folder, public_key(run))
    *path, last = where.split(".")
    part = reduce(getitem, path, publisher.manifest)
    assert part[last] != to
    part[last] = to
    publisher.sign()
    words = f"ledger says something else of {where.partition('.')[0]} "
    with pytest.raises(VerificationFailed, match=words):
        own_measurements(run.home, folder, public_key(run))


@pytest.mark.parametrize(("name", "to"), [("release_id", "0" * 32), ("revision", 2)])
def test_a_signed_release_that_the_ledger_does_not_know_is_refused(run, folder, name, to):
    publisher = Publisher(run, folder)
    publisher.manifest[name] = to
    publisher.sign()
    with pytest.raises(VerificationFailed, match="its ledger does not know it"):
        own_measurements(run.home, folder, public_key(run))


def public_key(run) -> bytes:
    return bytes.fromhex((run.home.public / "signing.pub").read_text())
