"""Small logs with sessions, quick requests, and who was charged for what."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.budget.reserve import reserve
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry, Kind
from tasks.log.engine import open_duckdb
from tasks.log.ingest import ingest
from tasks.products.histograms.draws import ZealousRun, choose_people, identify
from tasks.products.histograms.request import ZealousRequest
from tasks.release.run import Release
from tasks.store.home import Home
from tasks.store.keys import make_keys
from tests.flow.logs import SECRETS

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"

# A person, a query as typed, a time, a url.
Row = tuple[str, str, str, str]

# Everybody's session: half an hour between the last two queries is still one session.
SESSION = (
    ("Weather", "10:00:00", "http://weather.com"),
    ("News  Today", "10:10:00", "http://news.com"),
    ("maps", "10:40:00", ""),
)
# Of 600 people, at least 200 choose among four keywords, three queries, two pairs and two clicks,
# and the others among these and a few of their own. So each has at least 80 people, but with
# probability below 1e-9. At the default budget all of them are published and nothing else is: the
# thresholds are 2 and 38, and noise of scale 2 reaches 40 with probability below 2e-9.
N_PEOPLE = 600
PUBLISHED = {
    "keywords": {("weather",), ("news",), ("today",), ("maps",)},
    "queries": {("weather",), ("news today",), ("maps",)},
    "pairs": {("weather", "news today"), ("news today", "maps")},
    "clicks": {("weather", "http://weather.com"), ("news today", "http://news.com")},
}


def write_log(path: Path, rows: Iterable[Row]) -> Path:
    """Write rows in the format of AOL's log."""
    lines = [f"{person}\t{query}\t{time}\t1\t{url}" for person, query, time, url in rows]
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return path


def popular_log(path: Path) -> Path:
    """Give everybody the same session, every third person a query of their own, one secrets."""
    rows = [
        (str(person), query, f"2026-11-10 {time}", url)
        for person in range(N_PEOPLE)
        for query, time, url in SESSION
    ]
    rows += [
        (str(person), f"rare{person} own{person}", "2026-11-10 12:00:00", f"http://{person}.org")
        for person in range(0, N_PEOPLE, 3)
    ]
    rows.append((SECRETS[2], SECRETS[0], "2026-11-10 10:00:00", SECRETS[1]))
    rows.append((SECRETS[2], SECRETS[3], "not a time", "http://x.org"))
    write_log(path, rows)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{SECRETS[2]}\t{SECRETS[4]}\n")
    return path


def request_for(log: Path, **settings: object) -> ZealousRequest:
    """Ask for histograms of one week."""
    return ZealousRequest(log=log, **({"epoch": "2026-W46"} | settings))


def reserve_log(request: ZealousRequest, home: Home) -> ZealousRun:
    """Run the steps up to the charge, and no further."""
    run = identify(request, home)
    ingest(run)
    choose_people(run)
    reserve(run)
    return run


def reserve_people(
    home: Home, release_id: str, accounts: Iterable[bytes], **settings: object
) -> ZealousRun:
    """Charge these accounts for every histogram, without a log."""
    make_keys(home)
    request = request_for(Path("nowhere.tsv"), **({"product": f"p-{release_id}"} | settings))
    run = ZealousRun(home, release_id, 1, request)
    people = [(account, kind) for account in accounts for kind in request.kinds]
    with open_duckdb(home.warehouse(release_id)) as engine:
        accounts, kinds = zip(*people, strict=True) if people else ((), ())
        given = {"account": pa.array(accounts, pa.binary()), "cohort": pa.array(kinds, pa.string())}
        engine.put("given", pa.table(given))
        engine._connection.execute("create or replace table candidates as select * from given")
    reserve(run)
    return run


def ledger_rows(home: Home, kind: Kind) -> list[Entry]:
    """Return the ledger's rows of one kind."""
    return [entry for entry in Ledger(home.ledger).entries() if entry.kind is kind]


def participants(run: Release) -> set[tuple[bytes, str]]:
    """Return who was sealed into which histogram, read by another library than the tasks use."""
    table = pq.read_table(run.home.participation / f"{run.reservation.participation}.parquet")
    return set(zip(table["account"].to_pylist(), table["cohort"].to_pylist(), strict=True))


def published_items(folder: Path, kind: str) -> list[tuple]:
    """Return a histogram's rows without their rank, in their order."""
    return [
        tuple(row.values())[1:] for row in pq.read_table(folder / f"{kind}.parquet").to_pylist()
    ]
