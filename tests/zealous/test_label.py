"""The label says what was promised, and nothing that was not published is to be found anywhere."""

import json
import shutil
import traceback
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

import tasks.log.engine
from tasks.budget.policy import Policy, set_policy
from tasks.budget.showing.export import public_export
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.log.failures import EngineFailed
from tasks.products.histograms.draws import identify
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tasks.store.keys import make_keys
from tests.homes import new_home
from tests.release.support import waive_gates
from tests.zealous.support import N_PEOPLE, SECRETS, ledger_rows, request_for

pytestmark = pytest.mark.usefixtures("gates_waived")

# What only a few people typed: parts of it are as telling as the whole.
RARE = ("xyzzy", "plover", "secret", "rare3", "own3", "http://3.org")


@pytest.fixture(scope="module")
def others(log, fast_folder):
    """A release by indistinguishability, of two items from people who opted in, under a window."""
    home = new_home(fast_folder / "label")
    make_keys(home)
    set_policy(Ledger(home.ledger), Policy(Charge(6 * EPSILON_UNITS, DELTA_UNITS // 1000), 365))
    roster = fast_folder / "roster.csv"
    people = "\n".join(f"{number},1" for number in range(N_PEOPLE))
    roster.write_text(f"person,optin\n{people}\n{SECRETS[2]},1\n")
    request = request_for(
        log, roster=roster, relaxation="indistinguishable", items_per_user=2, epsilon=3,
        delta=1e-9, histograms=("queries", "clicks"), product="other", locale="en-US",
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        return home, run_release(identify(request, home))


def said(label, words):
    """Compare without regard to how the lines are broken."""
    return " ".join(words.split()) in " ".join(label.split())


def test_label_of_the_probabilistic_promise(folder):
    label = (folder / "label.md").read_text()
    for words in (
        "# Privacy label: histograms, all, 2026-W46",
        f"many of {N_PEOPLE + 1} people share",
        "at most 1 different item to each",
        "are not all who have an item.** Whoever has more than 1 contributes 1 of them, picked",
        "is a lower bound of them; how far above it they are was not measured",
        "| queries | 3 | 38 | 6 | 1 | 2.5e-06 |",
        "| pairs | 2 | 38 | 6 | 1 | 2.5e-06 |",
        "pays epsilon 4 and delta 1e-05: the histograms come from the same people, so their costs",
        "one person's data replaced by any other",
        "probabilistic differential privacy",
        "But for outcomes that have a chance of delta altogether",
        "Among the excepted outcomes a search of few people may become visible",
        "Everybody in the log, and all of them trusted the curator",
        "so being in the log of this epoch is not protected",
        "Only rows whose time lies in this epoch, in UTC, count.",
        "Over a lifetime** nobody's searches are used beyond (epsilon 12, delta 0.0001)",
        "What it does not promise",
    ):
        assert said(label, words), words
    assert not said(label, "indistinguishability")


def test_label_of_indistinguishability(others):
    _, folder = others
    label = (folder / "label.md").read_text()
    for words in (
        "# Privacy label: other, en-US, 2026-W46",
        "at most 2 different items to each",
        "pays epsilon 3 and delta 1e-09",
        "(indistinguishability)",
        "but for a chance of delta. This is weaker than the probabilistic promise",
        "it does not bound how often *some* person's search becomes visible, only how often a",
        "People who opted in, and so trusted the curator.",
        "Over any 365 days** nobody's searches are used beyond (epsilon 6, delta 0.001)",
        "over 10 years the worst case is (epsilon 66, delta 0.011)",
    ):
        assert said(label, words), words
    assert not said(label, "probabilistic differential privacy")
    assert not said(label, "being in the log"), "the roster says who took part"


def test_the_numbers_of_the_label_are_those_of_the_ledger(run, folder):
    """What everybody paid, and what keeps it: from the reservation, not from the request."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for kind, terms in run.reservation.groups.items():
        promise = manifest["guarantees"][kind]
        assert (promise["people"], promise["epsilon_nano"], promise["delta_atto"]) == (
            terms.members, terms.epsilon_nano, terms.delta_atto,
        )  # fmt: skip
        assert float(manifest["histograms"][kind]["leak"]) <= terms.delta_atto / DELTA_UNITS
    # Nobody has a Gaussian loss, so no part for such losses is stated.
    kept = replace(Policy.stated(run.reservation.policy), with_gaussian=None)
    assert manifest["cap"] == kept.statement.as_json()


def everything_below(folder):
    """Yield every text that a reader of these files can find: raw bytes, and tables unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name
            yield path.read_bytes().decode("utf-8", errors="replace")
            if path.suffix == ".parquet":
                yield json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False, default=str)


def leaks(texts, words=(*SECRETS, *RARE)):
    return [word for text in texts for word in words if word in text]


@pytest.mark.parametrize("which", ["probabilistic", "indistinguishable"])
def test_nothing_that_was_not_published_leaves_the_private_zone(original, others, which):
    """Whoever gives one item gives the rare one at times: a threshold of 2 hides it for certain.

    Under indistinguishability a single item passes with probability at most 1e-9 in all.
    """
    home = original.home if which == "probabilistic" else others[0]
    texts = [*everything_below(home.public), *everything_below(home.measurements)]
    texts.append(json.dumps(public_export(home)))
    assert leaks(texts) == []
    # The search itself finds what is there.
    assert leaks(texts, ["news today", "http://news.com"])


def test_the_ledger_itself_holds_no_text_of_the_log_but_what_was_blocked(run):
    path = run.home.root / "blocked.txt"
    path.write_text(f"{SECRETS[0]}\nmaps\n")
    run_reprocess(ReprocessRequest(release_id=run.release_id, blocklist=path), run.home)
    rows = json.dumps([entry.payload.as_json() for entry in Ledger(run.home.ledger).entries()])
    assert leaks([rows]) == [], "a blocked text that was never published is not written down"
    assert '"blocked": ["maps"]' in rows
    assert leaks([rows], ["weather", "http://news.com"]) == []
    assert leaks([json.dumps(public_export(run.home))], ["maps"]) == []


def test_the_private_zone_forgets_the_log_after_the_last_draw(original):
    assert leaks(everything_below(original.home.private)) == []


def test_an_error_of_the_engine_quotes_nothing(log, home, root, monkeypatch):
    """DuckDB's own message would hold the text that is no number."""
    shutil.copytree(tasks.log.engine.SQL, root / "sql")
    failing = (
        (root / "sql/histograms/query_counts.sql").read_text().replace(".text as", ".text::int as")
    )
    (root / "sql/histograms/query_counts.sql").write_text(failing)
    monkeypatch.setattr(tasks.log.engine, "SQL", root / "sql")
    with pytest.raises(EngineFailed, match="step named_counts failed") as raised:
        run_release(identify(request_for(log, histograms=("queries",)), home))
    told = "".join(traceback.format_exception(raised.value))
    assert leaks([told], [*SECRETS, *RARE, "weather", "Could not convert"]) == []
    assert ledger_rows(home, Kind.DRAW_STARTED) == [], "it failed before its draw, for free"
