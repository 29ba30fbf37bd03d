"""A whole release of every product on both engines: only their noise may differ."""

import pytest

from tasks.ledger.ledger import Ledger
from tasks.products.registry import product_of
from tasks.publish.shelf import published_heads
from tasks.release.walk import run_release
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication
from tests.clusters import support as clusters
from tests.homes import new_home
from tests.mean import support as mean
from tests.release import support as lists
from tests.release.series.support import series_home, usual, week_request, write_week
from tests.spark.test_release import homes
from tests.spark.watched import charged, watched
from tests.zealous import support as histograms

# The more popular of two queries has twice as many people, so noise does not change their order.
N_PEOPLE = 640


def head_list_log(folder):
    """People with one search each, in groups of a half, a quarter and so on, and three rejects."""
    rows = [
        f"p{n}\tQuery  {min((n & -n).bit_length(), 4)}\t2026-11-1{n % 3} 10:00:00\t1\t"
        f"http://{n % 2}.com\t{n % 5 < 3:d}"
        for n in range(1, N_PEOPLE + 1)
    ]
    rows += ["p1\ttoo\tfew", "p2\tquery\tno time\t1\thttp://1.com\t1", rows[0]]
    log = folder / "log.tsv"
    log.write_text("\n".join([lists.COLUMNS, *rows]) + "\n")
    return log


def counts(folder):
    return [lists.request_for(head_list_log(folder), optin_fraction=0.4)]


def weights(folder):
    return [
        lists.request_for(
            head_list_log(folder), columns={"optin": "optin"}, optin_fraction=None,
            headlist_user_fraction=None, records_per_user=4,
        )
    ]  # fmt: skip


def two_weeks(folder):
    series_home(folder / "duckdb")  # a season has a cap of its own
    logs = [write_week(folder / f"week-{week}.tsv", usual()) for week in (1, 2)]
    return [week_request(log, week) for week, log in enumerate(logs, start=1)]


def every_histogram(folder):
    return [histograms.request_for(histograms.popular_log(folder / "log.tsv"))]


def means_by_country(folder):
    log = mean.write_numbers(folder / "numbers.csv", mean.usual_rows())
    roster = mean.write_roster(folder / "roster.csv", mean.usual_people())
    return [
        mean.request_for(log, roster=roster, by="country", optin_fraction=None),
        mean.request_for(log, product="one-mean"),
    ]


def three_clusters(folder):
    return [clusters.request_for(clusters.write_points(folder / "log.csv"))]


PRODUCTS = (counts, weights, two_weeks, every_histogram, means_by_country, three_clusters)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("requests", PRODUCTS, ids=lambda requests: requests.__name__)
def test_everything_but_the_noise_is_the_same(requests, tmp_path, monkeypatch):
    new_home(tmp_path / "duckdb", known_keys=True)
    asked, found = requests(tmp_path), {}
    for engine, home in homes(tmp_path).items():
        with watched(monkeypatch) as seen:
            for request in asked:
                request = request.model_copy(update={"engine": engine})
                working = product_of(request.measurement_parameters()).working
                folder = run_release(working.identify(request, home))
                verify_publication(home, folder, read_public_key(home.public / "signing.pub"))
        Ledger(home.ledger).verify(published_heads(home))
        found[engine] = charged(home), seen.judged, seen.counted
    for said in zip(*found.values(), strict=True):
        assert said[0] == said[1]
    reserved, judged, counted = found["spark"]
    assert len(reserved) == len(judged) == len(asked)
    assert len(counted) >= len(asked)
