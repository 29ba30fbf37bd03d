"""What a row says is read once, in the form of its kind; nothing that is not known counts."""

import pytest

from tasks.ledger.chain import FORMS, Chain, canonical, entry_of, row_hash
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.payloads import (
    MAX_REFUSALS,
    Cap,
    Ended,
    Founded,
    Judged,
    Listed,
    Nothing,
    PolicySet,
    Publication,
    Reserved,
    Settled,
    Summed,
    Withdrawn,
    Withheld,
)
from tasks.ledger.rules import Kind
from tests.rows import DRAWN, PUBLISHED, STARTED, reserved

CAP = {"cap_epsilon_nano": 12, "cap_delta_atto": 1, "window_days": None, "max_refusals": 3}
ROWS = {
    Kind.RESERVED: reserved(),
    Kind.VOIDED: Nothing(),
    Kind.DRAW_STARTED: STARTED,
    Kind.DRAWN: DRAWN,
    Kind.LISTED: Listed(left_out=["a"], salt="s", signed_off=True),
    Kind.PUBLISHED: PUBLISHED,
    Kind.REVISED: PUBLISHED,
    Kind.WITHHELD: Withheld(reason="r", salt="s"),
    Kind.WITHDRAWN: Withdrawn(reason="r", at="t"),
    Kind.POLICY: PolicySet(**CAP),
    Kind.OPTED_OUT: Nothing(),
    Kind.OPTED_IN: Nothing(),
    Kind.ERASED: Nothing(),
    Kind.FOUNDED: Founded(keys={"account": "f"}, id_form="nfc-trim-2", adopted=False),
    Kind.JUDGED: Judged(
        release_id="r", product="p", epoch="e", log="l", suite="s", limits={"x": "0x1p0"}
    ),
    Kind.SUMMED: Summed(sums="d", accounts=2, parts=[1], added=[Settled(row=2, groups=["S"])]),
    Kind.ENDED: Ended(product="p", locale="l", series="s", season=1),
}


def raw(kind, payload):
    """Return a row as SQLite holds it, whatever it says; the chain would take it."""
    row = (1, "2026-11-17T00:00:00+00:00", str(kind), "r", 1, "", canonical(payload), "0" * 64)
    return (*row, row_hash(row))


def test_every_kind_of_row_has_a_form():
    assert set(FORMS) == set(ROWS) == set(Kind)


@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_written_is_read_and_written_the_same(kind):
    entry = entry_of(raw(kind, ROWS[kind].as_json()))
    assert entry.payload == ROWS[kind]
    assert entry.payload.as_json() == ROWS[kind].as_json()
    assert "version" not in entry.payload.as_json()


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    "more", [{"rho_nano": 1}, {"version": 2}, {"version": "1"}, {"version": True}, {"version": 1.0}]
)
def test_a_row_that_says_more_than_is_known_is_refused(kind, more):
    """It might be a price. `version` is how a later program says that this one cannot read it."""
    row = raw(kind, ROWS[kind].as_json() | more)
    with pytest.raises(LedgerCorrupt, match="update hybriddp"):
        entry_of(row)
    with pytest.raises(LedgerCorrupt):
        Chain().extend([row])


@pytest.mark.parametrize(
    "damage",
    [
        lambda said: said.pop("groups"),
        lambda said: said["groups"]["S"].pop("epsilon_nano"),
        lambda said: said["groups"]["S"].update(epsilon_nano=4.0),
        lambda said: said["groups"]["S"].update(epsilon_nano="4"),
        lambda said: said["groups"]["S"].update(epsilon_nano=-1),
        lambda said: said["groups"]["S"].update(epsilon_nano=True),
        lambda said: said["groups"]["S"].update(rho_nano=0),
        lambda said: said["policy"].update(cap_epsilon_nano=None),
        lambda said: said.update(policy=None),
    ],
)
def test_a_charge_that_is_no_whole_number_of_units_is_refused(damage):
    said = reserved().as_json()
    damage(said)
    with pytest.raises(LedgerCorrupt):
        entry_of(raw(Kind.RESERVED, said))


@pytest.mark.parametrize(
    "payload",
    [
        '{"cap_delta_atto":1,"cap_epsilon_nano":12,"cap_epsilon_nano":99,"window_days":null}',
        '{"cap_delta_atto": 1, "cap_epsilon_nano": 12, "window_days": null}',
        '{"window_days":null,"cap_delta_atto":1,"cap_epsilon_nano":12}',
        '{"cap_delta_atto":NaN,"cap_epsilon_nano":12,"window_days":null}',
        '{"cap_delta_atto":1,"cap_epsilon_nano":12,"window_days":999999999999999999}',
        '{"cap_delta_atto":1,"cap_epsilon_nano":12,"max_refusals":-1,"window_days":null}',
        "[" * 100_000,
        "null",
        "[]",
    ],
)
def test_a_row_has_one_spelling_and_numbers_within_reason(payload):
    """Of a key that is given twice, somebody else may read the other."""
    row = (1, "2026-11-17T00:00:00+00:00", "POLICY", "", 1, "", payload, "0" * 64)
    with pytest.raises(LedgerCorrupt):
        entry_of((*row, row_hash(row)))


def test_rows_of_the_first_version_mean_what_they_meant():
    cap = {name: CAP[name] for name in CAP if name != "max_refusals"}
    policy = entry_of(raw(Kind.POLICY, cap)).said(PolicySet)
    assert (policy.max_refusals, policy.as_json()) == (MAX_REFUSALS, cap)
    published = entry_of(raw(Kind.PUBLISHED, PUBLISHED.as_json())).said(Publication)
    assert (published.schema_version, published.latest, published.cap) == (2, True, None)
    assert set(published.as_json()) == set(PUBLISHED.model_fields_set)


def test_a_row_is_asked_for_in_its_own_form():
    entry = entry_of(raw(Kind.RESERVED, reserved().as_json()))
    assert entry.said(Reserved).groups["S"].n_people == 2
    with pytest.raises(TypeError):
        entry.said(Publication)


def test_nothing_is_written_in_a_form_of_another_kind(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(LedgerCorrupt):
        ledger.append(Kind.RESERVED, "r", 1, Nothing())
    assert ledger.entries() == []
    ledger.append(Kind.RESERVED, "r", 1, reserved())
    assert len(ledger.entries()) == 1


def test_a_statement_of_a_cap_is_spelt_with_what_it_says_only():
    assert Cap(**CAP).as_json() == CAP
