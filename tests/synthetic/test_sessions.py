"""Synthetic sessions have ZEAL's numbers, real reformulations, and one text for each thing.

Most tests use a world of a hundredth of the size, or a fiftieth: worlds of all sizes have the same
shape, as the calibration shows. Statistical tests state their false-alarm rate and their power.
"""

import csv
import functools
import gzip
import json
import tracemalloc
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

import tasks.synthetic.generate
from flows.cli.main import app
from hybriddp.errors import InvalidParameter
from hybriddp.planning.populations import study_rng
from hybriddp.studies.synthetic import sessions as synthetic_sessions
from hybriddp.studies.synthetic.sessions import (
    MAX_PAUSE_SECONDS,
    MAX_QUERIES_PER_SESSION,
    MAX_SESSIONS,
    SPAN_SECONDS,
    WORLD_SIZE,
    SessionWorld,
    draw_session_log,
    draw_session_world,
)
from hybriddp.studies.synthetic.words import (
    N_DOCUMENTS,
    BrokenPowerLaw,
    draw_vocabulary,
    zipf_ranks,
)
from hybriddp.zealous.item_kinds import CLICKS, ITEM_KINDS, KEYWORDS, PAIRS, QUERIES
from hybriddp.zealous.items import SESSION_GAP_SECONDS, SearchLog, items_of
from tasks.log.epochs import Epoch
from tasks.synthetic.generate import spell_sites, spell_words, write_session_log
from tasks.synthetic.times import fit_sessions
from tests.stats import ALPHA, law_p_value

SMALL = WORLD_SIZE // 100
SHARE = 50  # the calibrated log has one in so many of ZEAL's users, in a world as much smaller
# ZEAL section 7 "Data", Table 4, and Table 3 (A) for m = 1, in this order.
ZEAL = {
    KEYWORDS: (1_000_000, 56, 6_667),
    QUERIES: (3_000_000, 20, 3_334),
    PAIRS: (3_000_000, 7, 331),
    CLICKS: (4_500_000, 14, 2_813),
}


@pytest.fixture(scope="module")
def world() -> SessionWorld:
    return draw_session_world(rng=study_rng(1), size=SMALL)


@pytest.fixture(scope="module")
def log(world) -> SearchLog:
    return world.draw_log(4_000, rng=study_rng(2))


@pytest.fixture(scope="module")
def calibrated() -> dict:
    """Items of 10,000 users."""
    drawn = draw_session_log(500_000 // SHARE, rng=study_rng(3), world_size=WORLD_SIZE // SHARE)
    return {kind: items_of(drawn, kind) for kind in ITEM_KINDS}


def following(log: SearchLog) -> tuple[np.ndarray, np.ndarray]:
    """Return every query and the different one that follows it in its session."""
    sessions = log.sessions()
    follows = (np.diff(sessions) == 0) & (np.diff(log.queries) != 0)
    return log.queries[:-1][follows], log.queries[1:][follows]


@pytest.mark.parametrize("kind", ITEM_KINDS)
def test_a_user_has_as_many_items_as_in_zeal_table_4(calibrated, kind):
    """Within 10 %. The means of 10,000 users have standard errors of 1.5 % at most."""
    assert len(calibrated[kind].users) / 10_000 == pytest.approx(ZEAL[kind][1], rel=0.1)


@pytest.mark.parametrize("kind", ITEM_KINDS)
def test_all_users_together_have_as_many_different_items_as_zeals(calibrated, kind):
    """Within a factor of 1.5; at full size as well, which takes too long here."""
    n_different = SHARE * len(calibrated[kind].histogram()[0])
    assert ZEAL[kind][0] / 1.5 < n_different < 1.5 * ZEAL[kind][0]


def test_as_many_items_are_frequent_as_in_zeal_table_3(calibrated):
    """Ten users or more when each gives one item: within a factor of 2. Pairs: any at all.

    ZEAL prints neither the epsilon nor the threshold of Table 3. In section 8.1 it is about ten.
    """
    for kind in (KEYWORDS, QUERIES, CLICKS):
        counts = calibrated[kind].bounded(1, rng=study_rng(4)).histogram()[1]
        n_frequent = SHARE * np.count_nonzero(counts >= 10)
        assert ZEAL[kind][2] / 2 < n_frequent < 2 * ZEAL[kind][2], kind
    assert np.count_nonzero(calibrated[PAIRS].histogram()[1] >= 10) > 10


def test_sessions_are_cut_where_they_were_drawn(log):
    """No pause is between the longest inside a session and the shortest between two."""
    is_same_user = np.diff(log.users) == 0
    pauses = np.diff(log.seconds)[is_same_user]
    assert np.all((pauses <= MAX_PAUSE_SECONDS) | (pauses > SESSION_GAP_SECONDS))
    assert np.any(pauses > SESSION_GAP_SECONDS)
    assert np.median(pauses[(pauses > 0) & (pauses <= MAX_PAUSE_SECONDS)]) < 120
    sessions = log.sessions()
    assert np.array_equal(sessions, log.sessions(MAX_PAUSE_SECONDS))
    of_users = np.bincount(log.users[np.append(0, np.flatnonzero(np.diff(sessions)) + 1)])
    assert len(of_users) == log.n_users
    assert of_users.min() == 1
    # Heavy-tailed: half have eight at most, and somebody has twenty times as many.
    assert np.median(of_users) <= 8
    assert of_users.max() > 160


def test_the_busiest_people_fit_into_the_month(world, monkeypatch):
    for name in ("_SESSIONS_MEDIAN", "_PAUSE_MEDIAN"):
        monkeypatch.setattr(synthetic_sessions, name, 1e9)
    monkeypatch.setattr(synthetic_sessions, "_GOES_ON", 0.9999)
    log = world.draw_log(20, rng=study_rng(1))
    assert log.seconds.min() >= 0
    assert log.seconds.max() < SPAN_SECONDS
    assert log.sessions()[-1] + 1 == 20 * MAX_SESSIONS
    asked = np.append(True, (np.diff(log.seconds) != 0) | (np.diff(log.users) != 0))
    assert np.count_nonzero(asked) > 0.999 * 20 * MAX_SESSIONS * MAX_QUERIES_PER_SESSION


def test_queries_are_different_sets_of_one_to_six_words(world):
    words = world.queries.words
    sets = [frozenset(words.of(query).tolist()) for query in range(words.n_queries)]
    assert len(set(sets)) == len(sets) > 3 * world.queries.n_families
    assert set(map(len, sets)) == {1, 2, 3, 4, 5, 6}
    assert [len(a_set) for a_set in sets] == words.counts.tolist()
    assert min(words.words) >= 0
    assert max(words.words) < world.vocabulary.n_words


def kind_of_edit(world: SessionWorld, query: int) -> str:
    """Return by which single edit a query comes from its parent."""
    queries, vocabulary = world.queries, world.vocabulary
    new = queries.words.of(query).tolist()
    old = queries.words.of(int(queries.parents[query])).tolist()
    if new[:-1] == old:
        return "adds"
    if len(new) == len(old) - 1 and set(new) < set(old):
        return "drops the first" if new[0] != old[0] else "drops"
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    (pair,) = changed
    before, after = vocabulary.topics(np.array(pair))
    assert before == after
    if vocabulary.is_misspelled(np.array(pair[1])):
        assert vocabulary.corrected(np.array(pair[1])) == pair[0]
        return "misspells"
    return "replaces"


def test_every_query_of_a_family_is_one_edit_of_another_one(world):
    queries = world.queries
    edited = range(queries.n_families, queries.words.n_queries)
    kinds = [kind_of_edit(world, query) for query in edited]
    n_edits = queries.n_right - queries.n_families
    assert set(kinds[:n_edits]) == {"adds", "drops", "drops the first", "replaces"}
    assert set(kinds[n_edits:]) == {"misspells"}
    for kind in set(kinds):
        assert kinds.count(kind) > 0.02 * len(kinds)


def test_edits_stand_where_their_query_says(world):
    queries = world.queries
    for query in range(queries.n_right):
        first = queries.first_edits[query]
        edits = np.arange(first, first + queries.n_edits[query])
        assert np.all(queries.parents[edits] == query)
        assert np.all(queries.families[edits] == queries.families[query])
    assert queries.n_edits.sum() == queries.n_right - queries.n_families
    assert np.all(queries.parents[: queries.n_families] == -1)
    misspelled = np.flatnonzero(queries.misspelled >= 0)
    assert np.array_equal(queries.parents[queries.misspelled[misspelled]], misspelled)
    assert len(misspelled) == queries.words.n_queries - queries.n_right


def test_a_third_of_what_follows_is_a_reformulation(world, log):
    """Exactly one edit away, forth or back: 30 %, but hardly ever where queries follow at random.

    19,000 pairs: the share has a standard error of 0.4 %, so [0.25, 0.4] fails by chance with
    probability below 1e-9, and 0.2 or 0.45 would be caught.
    """
    parents = world.queries.parents
    first, second = following(log)

    def share(second: np.ndarray) -> float:
        return float(np.mean((parents[first] == second) | (parents[second] == first)))

    assert len(first) > 19_000
    assert 0.25 < share(second) < 0.4
    assert share(study_rng(1).permutation(second)) < 0.01


def test_the_likeliest_successor_of_a_frequent_query_is_its_first_edit(world, log):
    """So that query substitution can learn it: for at least half of the twenty with most pairs."""
    first, second = following(log)
    learned = 0
    for query in np.argsort(-np.bincount(first), kind="stable")[:20]:
        successors = np.bincount(second[first == query])
        learned += np.argmax(successors) == world.queries.first_edits[query]
    assert learned >= 10


def test_a_misspelled_query_is_often_corrected_and_a_right_one_never_spoilt(world, log):
    """About 42 % of what follows (0.33 of 0.78), with a standard error of 2 %."""
    first, second = following(log)
    slips = first >= world.queries.n_right
    assert np.count_nonzero(slips) > 600
    assert 0.3 < np.mean(world.queries.parents[first[slips]] == second[slips]) < 0.55
    # But by chance, as a fresh query.
    assert np.mean(world.queries.misspelled[first] == second) < 0.002


def test_clicks_go_to_the_querys_own_urls_and_mostly_to_the_first(world, log):
    clicked = log.urls >= 0
    ranks = world.ranks(log.queries, log.urls)
    assert np.array_equal(ranks > 0, clicked)
    assert log.urls.max() < world.n_urls == log.n_urls
    is_site = world.queries.families[log.queries] < world.vocabulary.n_site_names
    on_sites = np.bincount(ranks[clicked & is_site])
    on_others = np.bincount(ranks[clicked & ~is_site])
    assert on_sites[1] > 0.7 * on_sites.sum()
    assert 0.03 < on_others[1] / on_others.sum() < 0.3
    assert np.argmax(on_others) == 1
    assert 0.3 < np.mean(~clicked) < 0.5
    # Rows of one search are clicks on different urls, further and further down.
    same = (np.diff(log.users) == 0) & (np.diff(log.seconds) == 0)
    assert np.any(same)
    assert np.all(np.diff(log.queries)[same] == 0)
    assert np.all(np.diff(ranks)[same] > 0)


def test_documents_follow_searches_loosely(world, log):
    words, counts = items_of(log, KEYWORDS).histogram()
    documents = world.document_counts
    assert len(documents) == world.vocabulary.n_words
    assert documents.min() >= 1
    assert documents.max() <= N_DOCUMENTS
    correlation = np.corrcoef(np.log(counts), np.log(documents[words]))[0, 1]
    assert 0.3 < correlation < 0.9
    right = np.arange(world.vocabulary.n_right)
    assert np.all(documents[world.vocabulary.misspelled(right)] <= documents[right])
    # Heavy-tailed: the hundredth part of the words has a quarter of all postings.
    top = np.sort(documents)[-len(documents) // 100 :]
    assert top.sum() > 0.25 * documents.sum()


def test_related_words_are_other_words_of_the_same_topic():
    vocabulary = draw_vocabulary(800, rng=study_rng(1))
    words = np.repeat(np.arange(800), 500)
    related = vocabulary.related(words, rng=study_rng(2))
    assert np.array_equal(vocabulary.topics(related), vocabulary.topics(words))
    assert np.all(related != words)
    assert len(np.unique(words * 800 + related)) == 800 * 7  # every other one


def test_zipf_ranks_have_their_law():
    """On a grid of a million numbers, so the shares are exact to the width of a cell."""
    grid = (np.arange(1_000_000) + 0.5) / 1_000_000
    for n, exponent in ((1, 0.8), (5, 0.5), (40, 4.0), (12, 1.3)):
        ends = np.arange(1.0, n + 2) ** (1 - exponent)
        expected = np.diff(ends) / (ends[-1] - ends[0])
        shares = np.bincount(zipf_ranks(grid, np.array(n), exponent), minlength=n) / 1_000_000
        assert shares == pytest.approx(expected, abs=2e-6)
    assert zipf_ranks(np.array([1 - 2**-53]), np.array([7]), 0.5).tolist() == [6]


@pytest.mark.statistical
@pytest.mark.parametrize("n_ranks", [4_000, 30])
def test_broken_power_law_is_continuous_and_has_its_exponents(n_ranks):
    """False alarms: ALPHA. 400,000 draws catch a second piece that starts 10 % too high."""
    bends, exponents = (40, 4), (0.8, 1.5, 0.5)
    grid = np.linspace(1, n_ranks + 1, 200 * n_ranks + 1)
    edges = 1 + n_ranks / np.array(bends)
    density = grid ** -exponents[0]
    for edge, before, behind in zip(edges, exponents[:-1], exponents[1:], strict=True):
        density[grid > edge] *= (grid[grid > edge] / edge) ** (before - behind)
    areas = ((density[1:] + density[:-1]) / 2).reshape(n_ranks, 200).sum(axis=1)
    ranks = BrokenPowerLaw(n_ranks, bends, exponents).sample(400_000, rng=study_rng(1))
    cells = np.linspace(0, n_ranks, 31).astype(int)
    observed = np.add.reduceat(np.bincount(ranks, minlength=n_ranks), cells[:-1])
    expected = np.add.reduceat(areas / areas.sum(), cells[:-1])
    assert law_p_value(observed, expected) > ALPHA
    planted = np.where(cells[:-1] >= n_ranks / 40, 1.1 * expected, expected)
    assert law_p_value(observed, planted / planted.sum()) < ALPHA


def columns(log: SearchLog) -> list[np.ndarray]:
    return [log.users, log.seconds, log.queries, log.urls]


def test_same_seed_gives_the_same_log_and_another_does_not():
    first, again, other = (
        draw_session_log(300, rng=study_rng(seed), world_size=SMALL) for seed in (5, 5, 6)
    )
    for column, same in zip(columns(first), columns(again), strict=True):
        assert np.array_equal(column, same)
    assert not np.array_equal(first.queries, other.queries)


def test_world_does_not_depend_on_the_size_of_the_log(monkeypatch):
    """Nor do the first blocks of users."""
    monkeypatch.setattr(synthetic_sessions, "USERS_PER_BLOCK", 100)
    short, long = (draw_session_log(n, rng=study_rng(5), world_size=SMALL) for n in (200, 350))
    assert np.array_equal(short.words.words, long.words.words)
    assert np.array_equal(short.words.starts, long.words.starts)
    is_early = long.users < 200
    for column, other in zip(columns(short), columns(long.keep(is_early)), strict=True):
        assert np.array_equal(column, other)
    assert not np.all(is_early)


def test_blocks_are_whole_users_and_together_the_log(world, monkeypatch):
    monkeypatch.setattr(synthetic_sessions, "USERS_PER_BLOCK", 100)
    blocks = list(world.draw_blocks(250, rng=study_rng(7)))
    users = [np.unique(block.users) for block in blocks]
    assert [len(some) for some in users] == [100, 100, 50]
    assert np.array_equal(np.concatenate(users), np.arange(250))
    assert {block.n_users for block in blocks} == {250}
    whole = world.draw_log(250, rng=study_rng(7))
    for i, column in enumerate(columns(whole)):
        assert np.array_equal(column, np.concatenate([columns(block)[i] for block in blocks]))


@pytest.mark.parametrize("size", [0, 1_604])
def test_world_of_a_size_without_whole_topics_is_refused(size):
    with pytest.raises(InvalidParameter, match=f"positive multiple of 8, got {size}"):
        draw_session_world(rng=study_rng(1), size=size)


def test_log_without_users_is_refused(world, tmp_path):
    with pytest.raises(InvalidParameter, match="n_users must be >= 1, got 0"):
        world.draw_blocks(0, rng=study_rng(1))
    with pytest.raises(InvalidParameter, match="n_users must be >= 1, got 0"):
        write_session_log(0, tmp_path / "log.tsv", seed=1, epoch=MONTH, world_size=SMALL)
    assert list(tmp_path.iterdir()) == []


def test_different_words_have_different_texts_without_spaces():
    """The first and the last words of the default vocabulary, right and misspelled."""
    right = np.append(np.arange(100_000), np.arange(WORLD_SIZE - 100_000, WORLD_SIZE))
    texts = spell_words(np.append(right, right + WORLD_SIZE), WORLD_SIZE)
    assert pc.count_distinct(texts).as_py() == len(texts) == 400_000
    assert pc.all(pc.match_substring_regex(texts, r"^[a-z.]+$")).as_py()
    assert texts[:2].to_pylist() == ["google", "yahoo"]
    assert texts[200_000:200_002].to_pylist() == ["googlee", "yahooo"]


def test_different_sites_have_different_texts():
    texts = spell_sites(np.append(-1, np.arange(200_000)))
    assert texts.null_count == 1
    assert pc.count_distinct(texts).as_py() == 200_000
    assert texts[1:3].to_pylist() == ["http://www.google.com", "http://www.yahoo.com"]


# As long as the month that sessions are drawn for, so that every time stays.
MONTH = Epoch.parse("2026-10")
LOG_START = int(MONTH.period[0].replace(tzinfo=UTC).timestamp())


def read_rows(path) -> list[tuple[int, str, int, int, str]]:
    """Read a log back as text, with a reader of its own."""
    with gzip.open(path, "rt", encoding="ascii", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert header == ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]
    return [
        (
            int(user),
            query,
            int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()) - LOG_START,
            int(rank or 0),
            url,
        )
        for user, query, time, rank, url in rows
    ]


def user_items(rows: list[tuple[int, str, int, int, str]]) -> dict[str, set]:
    """Take the items of every user from the text alone."""
    items = {kind: set() for kind in ITEM_KINDS}
    for row, before in zip(rows, [None, *rows[:-1]], strict=True):
        user, query, second, _, url = row
        items[KEYWORDS] |= {(user, word) for word in query.split(" ")}
        items[QUERIES].add((user, query))
        if url:
            items[CLICKS].add((user, query, url))
        if before is not None and before[0] == user and second - before[2] <= SESSION_GAP_SECONDS:
            items[PAIRS] |= {(user, before[1], query)} if before[1] != query else set()
    return items


def test_another_week_is_of_the_same_world(tmp_path):
    """What people choose at a rank of a query is the world's; what they ask for is the week's."""
    weeks = []
    for week in (1, 2):
        path = tmp_path / f"week-{week}.tsv.gz"
        write_session_log(500, path, seed=9, week=week, epoch=MONTH, world_size=SMALL)
        weeks.append(read_rows(path))
    assert weeks[0] != weeks[1]
    first, second = ({(row[1], row[3]): row[4] for row in rows if row[4]} for rows in weeks)
    both = first.keys() & second.keys()
    assert len(both) > 50
    assert all(first[click] == second[click] for click in both)


def test_text_says_what_the_arrays_say(tmp_path, monkeypatch):
    """Row by row, and as many users for each item; written in three blocks."""
    monkeypatch.setattr(synthetic_sessions, "USERS_PER_BLOCK", 200)
    steps = []
    path = tmp_path / "log.tsv.gz"
    summary = write_session_log(
        500, path, seed=9, epoch=MONTH, world_size=SMALL, progress=steps.append
    )
    log = draw_session_log(500, rng=study_rng(9), world_size=SMALL)
    world = draw_session_world(rng=study_rng(9), size=SMALL)
    rows = read_rows(path)
    assert summary.rows == len(rows) == sum(steps) == len(log)
    assert (summary.users, summary.bytes, len(steps)) == (500, path.stat().st_size, 3)
    assert [row[0] for row in rows] == (142 + 37 * log.users).tolist()
    assert [row[2] for row in rows] == log.seconds.tolist()
    assert [row[3] for row in rows] == world.ranks(log.queries, log.urls).tolist()
    assert [row[1].count(" ") + 1 for row in rows] == log.words.counts[log.queries].tolist()
    for kind, in_text in user_items(rows).items():
        in_arrays = items_of(log, kind)
        counts = np.unique_counts(np.array([hash(item[1:]) for item in in_text])).counts
        assert sorted(counts) == sorted(in_arrays.histogram()[1]), kind
        per_user = np.unique_counts(np.array([item[0] for item in in_text])).counts
        assert np.array_equal(per_user, np.unique_counts(in_arrays.users).counts), kind


@pytest.mark.parametrize("epoch", ["2026-W46", "2026-11-10"])
def test_sessions_fit_into_any_epoch_and_stay_sessions_where_there_is_room(epoch):
    """The same pauses inside of sessions, the same ends of sessions, and nothing outside."""
    log, period = draw_session_log(500, rng=study_rng(9), world_size=SMALL), Epoch.parse(epoch)
    start, end = (int(moment.replace(tzinfo=UTC).timestamp()) for moment in period.period)
    times = fit_sessions(log.users, log.seconds, period)
    assert times.min() >= start
    assert times.max() < end
    same = np.diff(log.users) == 0
    old, new = np.diff(log.seconds)[same], np.diff(times)[same]
    assert (new >= 0).all()
    needed = np.bincount(log.users[1:][same], np.minimum(old, SESSION_GAP_SECONDS + 1), 500)
    has_room = (needed < end - start - 1)[log.users[1:][same]]
    assert has_room.mean() > 0.5
    inside = old <= SESSION_GAP_SECONDS
    assert np.array_equal(old[inside & has_room], new[inside & has_room])
    assert (new[~inside & has_room] > SESSION_GAP_SECONDS).all()


def test_same_seed_gives_the_same_bytes(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in ("first", "again", "other")]
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        write_session_log(200, path, seed=seed, epoch=MONTH, world_size=SMALL)
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again != other


def test_memory_does_not_grow_with_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic_sessions, "USERS_PER_BLOCK", 500)

    def peak_bytes(n_users: int) -> int:
        arrow = [0]
        tracemalloc.start()
        write_session_log(
            n_users,
            tmp_path / "log.tsv",
            seed=1,
            epoch=MONTH,
            world_size=1_600,
            progress=lambda _: arrow.append(pa.total_allocated_bytes()),
        )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak + max(arrow)

    assert peak_bytes(4_000) < 1.3 * peak_bytes(1_000)


@pytest.fixture
def small_worlds(monkeypatch):
    small = functools.partial(write_session_log, world_size=SMALL)
    monkeypatch.setattr(tasks.synthetic.generate, "write_session_log", small)


@pytest.mark.usefixtures("small_worlds")
def test_command_writes_a_log_with_sessions(tmp_path):
    out = tmp_path / "log.tsv.gz"
    arguments = [
        "generate",
        "--kind",
        "sessions",
        "--users",
        "50",
        "--seed",
        "9",
        "--epoch",
        "2026-10",
    ]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out), "--json"])
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    assert (summary["users"], summary["rows"]) == (50, len(read_rows(out)))
    # The same that tasks write.
    write_session_log(50, tmp_path / "again.tsv.gz", seed=9, epoch=MONTH, world_size=SMALL)
    assert out.read_bytes() == (tmp_path / "again.tsv.gz").read_bytes()


@pytest.mark.usefixtures("small_worlds")
@pytest.mark.parametrize("wish", [("--records", "one"), ("--no-click-share", "0.3")])
def test_command_refuses_wishes_that_sessions_cannot_grant(tmp_path, wish):
    arguments = ["generate", "--kind", "sessions", "--out", tmp_path / "log.tsv", *wish]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2
    assert "sessions must decide themselves" in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []
