"""A season that begins with the last list of another: its numbers stand in its own measurements."""

import hashlib
import json
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybriddp.errors import HybridDPError
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import Prior
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST, JOINING, OF_A_WEEK
from tasks.products.head_list.run import identify
from tasks.products.head_list.series import reading
from tasks.products.head_list.series.measured import MeasuredSeason, WeekTables, prior_of
from tasks.products.head_list.series.season.place import season_of
from tasks.publish.publish import published_folder, withdraw
from tasks.publish.shelf import list_rows
from tasks.verify.checks import VerificationFailed
from tasks.verify.reading import described
from tasks.verify.verify import own_measurements, verify_publication, verify_release
from tests.homes import new_home
from tests.publish.checking.spoiling import Publisher
from tests.release.series.support import run_week, usual, week_request
from tests.release.support import waive_gates

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]

COLUMNS = ["query", "url", "noisy_count", "noisy_share"]
PRIOR = ["prior_probability", "prior_variance", "prior_weeks"]
MAPS = ("maps", "http://maps.com")


@pytest.fixture(scope="module")
def second(seasons, fast_folder) -> Any:
    """The first week of a second season, an epoch later than it could have begun."""
    root = shutil.copytree(seasons[3], fast_folder / "second-season")
    home = new_home(root / "home")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        return run_week(home, root, 5, usual())


@pytest.fixture
def run(second, root) -> Any:
    shutil.copytree(second.home.root.parent, root, dirs_exist_ok=True)
    home = new_home(root / "home")
    return type(second)(home, second.release_id, second.attempt, second.request)


def key_of(run) -> bytes:
    return bytes.fromhex((run.home.public / "signing.pub").read_text())


def week_of(run, root, week: int) -> Any:
    return identify(week_request(root / f"week-{week}.tsv", week), run.home)


def test_the_last_list_stands_in_the_first_week_of_the_next_season(second):
    """As it was published, and two epochs old; the season before began without a list."""
    last = week_of(second, second.home.root.parent, 3)
    assert load_measurement(last, HEADLIST).column_names == COLUMNS
    table = load_measurement(second, HEADLIST)
    assert table.column_names == [*COLUMNS, *PRIOR]
    rows = {
        (row["query"], row["url"]): row for row in list_rows(published_folder(last), "head_list")
    }
    said = prior_of(table)
    assert said.keys() == rows.keys() == {MAPS, ("news", "http://news.com")}
    for record, (probability, variance, weeks) in said.items():
        row = rows[record]
        assert (probability, weeks) == (row["probability"], 2)
        width = 2 * 1.96 * variance**0.5
        assert width == pytest.approx(row["ci_high"] - row["ci_low"], rel=1e-3)
    verify_publication(second.home, published_folder(second), key_of(second))


def test_it_is_handed_on_while_it_stands(run, root):
    """Also from a week that was withdrawn, which nobody looks at; not after its own withdrawal."""
    withdraw(run, "a mistake")
    after = run_week(run.home, root, 6, usual())
    assert after.reservation.place.unseen == [1]
    assert prior_of(load_measurement(after, HEADLIST)) == prior_of(load_measurement(run, HEADLIST))
    verify_publication(run.home, published_folder(after), key_of(run))
    withdraw(week_of(run, root, 3), "another mistake")
    last = run_week(run.home, root, 7, usual())
    assert load_measurement(last, HEADLIST).column_names == COLUMNS
    verify_publication(run.home, published_folder(last), key_of(run))


def changed(table: pa.Table, column: str, to: Any, *, url: str | None = MAPS[1]) -> pa.Table:
    """Return a table with another number of one row."""
    rows = table.to_pylist()
    [row] = [row for row in rows if (row["query"], row["url"]) == (MAPS[0], url)]
    row[column] = to
    return pa.Table.from_pylist(rows, schema=table.schema)


def test_another_prior_gives_another_list(run):
    """Whether or not who has the key signs what they changed."""
    folder, path = published_folder(run), run.folder / run.product.groups[HEADLIST].file
    pq.write_table(changed(load_measurement(run, HEADLIST), "prior_probability", 0.1), path)
    with pytest.raises(VerificationFailed):
        verify_release(folder, key_of(run), measurements=run.folder)
    publisher = Publisher(run, folder)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    publisher.manifest["measurements"][HEADLIST] = digest
    publisher.sign(trends=pq.read_table(folder / "trends.parquet"))
    with pytest.raises(VerificationFailed, match="measurements give"):
        verify_release(folder, key_of(run), measurements=run.folder)


def test_which_list_it_came_from_is_what_was_reserved_and_measured(run):
    folder = published_folder(run)
    publisher = Publisher(run, folder)
    season, trends = publisher.manifest["season"], pq.read_table(folder / "trends.parquet")
    assert season["prior_from"] == run.reservation.place.names_of
    season["prior_from"] = "0" * 32
    publisher.sign(trends=trends)
    with pytest.raises(VerificationFailed, match="something else of season than"):
        own_measurements(run.home, folder, key_of(run))
    del season["prior_from"]
    publisher.sign(trends=trends)
    with pytest.raises(VerificationFailed, match="began with another list"):
        verify_release(folder, key_of(run), measurements=run.folder)


@pytest.mark.parametrize(
    ("column", "value", "url"),
    [
        ("prior_probability", float("nan"), MAPS[1]),
        ("prior_probability", 1.5, MAPS[1]),
        ("prior_probability", 0.0, MAPS[1]),
        ("prior_probability", None, MAPS[1]),
        ("prior_variance", 0.0, MAPS[1]),
        ("prior_variance", float("inf"), MAPS[1]),
        ("prior_weeks", 0, MAPS[1]),
        ("prior_weeks", 3, MAPS[1]),
        ("prior_probability", 0.1, None),
    ],
)
def test_a_prior_that_no_list_gives_is_refused(second, column, value, url):
    table = changed(load_measurement(second, HEADLIST), column, value, url=url)
    with pytest.raises(HybridDPError, match="the prior of a week is none"):
        prior_of(table)


def test_a_prior_of_what_the_season_named_is_refused(second):
    tables = {group: load_measurement(second, group) for group in OF_A_WEEK}
    season = season_of(second.place)
    whole = MeasuredSeason.of(season, [WeekTables(1, 120, tables)], ())
    assert isinstance(whole.draws.now.prior, Prior)
    assert SeasonEvidence.of(second.request.params(), whole.draws).moments[0].time == -1
    sums = {f"noisy_sum_{track}": [10**9] for track in range(len(season.tracks))}
    named = pa.table({"query": [MAPS[0]], "url": [MAPS[1]], **sums})
    uncounted = changed(tables[HEADLIST], "noisy_count", None)
    tables |= {JOINING: named.cast(tables[JOINING].schema), HEADLIST: uncounted}
    with pytest.raises(HybridDPError, match="not known before the season"):
        MeasuredSeason.of(season, [WeekTables(1, 120, tables)], ())


@pytest.mark.parametrize(
    ("change", "n_said"),
    [({}, 2), ({"season": None}, 0), ({"epoch": "2026-09"}, 0), ({"epoch": "2026-W44"}, 0)],
    ids=["a week before", "a single release", "a month", "the same week"],
)
def test_only_an_earlier_week_of_a_season_says_anything(second, change, n_said):
    """Other lists give names alone."""
    last = published_folder(week_of(second, second.home.root.parent, 3))
    rows = list(list_rows(last, "head_list"))
    manifest = json.loads((last / "manifest.json").read_bytes()) | change
    assert len(reading._said(second, described(manifest), rows)) == n_said
