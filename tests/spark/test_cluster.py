"""A real cluster on this machine, on which everything dies that can: workers, drivers, all of it.

What a release decides before any noise is then what DuckDB decides in peace, and nobody pays twice.
`make test-spark` kills in some calls of the engine, `make campaign-spark` in all.
"""

import shutil
import signal
from contextlib import ExitStack

import pytest

from tasks.ledger.rules import Kind
from tests.examples import IS_CAMPAIGN
from tests.groups import FILES, GROUPS
from tests.homes import new_home, steps_of
from tests.patience import PATIENCE
from tests.release.conftest import fast_folder  # noqa: F401 - a fixture
from tests.release.faults import (
    join,
    kill_and_go_on,
    read_lines,
    run_child,
    run_to_the_end,
    run_until,
    start_child,
)
from tests.release.support import request_by_column
from tests.spark.faults import Plan, Whom, calls_in, let_go_on, on_cluster, reached_in
from tests.spark.standalone import Cluster, end, until
from tests.spark.test_products import head_list_log
from tests.spark.watched import charged

pytestmark = [pytest.mark.slow, pytest.mark.kills]
MODES = ("simulate", "reports")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return head_list_log(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A folder with a home, whose keys all have."""
    root = tmp_path_factory.mktemp("base")
    new_home(root / "home", known_keys=True)
    return root


@pytest.fixture
def root(base, tmp_path):
    return shutil.copytree(base, tmp_path / "spark")


@pytest.fixture(scope="module")
def paid(cluster, base, log, tmp_path_factory):
    """A folder whose driver died as soon as people were charged."""
    root = shutil.copytree(base, tmp_path_factory.mktemp("paid") / "spark")
    point = ("after RESERVED", 0)
    args = cluster.driver, None, run_until, root, request_for(log), point
    assert run_child(on_cluster, *args) == -signal.SIGKILL
    return root


@pytest.fixture
def drawing(paid, tmp_path):
    return shutil.copytree(paid, tmp_path / "spark")


def request_for(log, clients="simulate", engine="spark"):
    return request_by_column(log, optin_fraction=None, clients=clients, engine=engine)


@pytest.fixture(scope="module")
def in_peace(base, log, tmp_path_factory):
    """What DuckDB's releases decide: who pays what, and what is counted."""
    found = {}
    for clients in MODES:
        root = shutil.copytree(base, tmp_path_factory.mktemp("duckdb") / clients)
        request = request_for(log, clients, "duckdb")
        assert run_child(on_cluster, {}, None, run_until, root, request, None) == 0
        found[clients] = decided(root)
    return found


def decided(root):
    """Return who was charged what, and once each what noise was added to."""
    return charged(new_home(root / "home")), sorted(set(read_lines(root / "counted")))


def running(cluster, root, request, plan):
    """Begin a release on a cluster."""
    return start_child(on_cluster, cluster.driver, plan, run_until, root, request, None)


@pytest.mark.parametrize("clients", MODES)
def test_a_worker_and_its_executor_die_in_the_middle_of_steps(
    clients, cluster, root, log, in_peace
):
    plan = Plan(Whom.WORKER, every=1 if IS_CAMPAIGN else 8)
    release, n_replaced = running(cluster, root, request_for(log, clients), plan), 0
    while release.is_alive():
        release.join(0.2)
        n_replaced += cluster.replace_dead_workers()
    assert join(release) == 0
    assert reached_in(root) == calls_in(root)
    assert n_replaced == len(reached_in(root)) > 2
    print(f"{n_replaced} workers and their executors were killed: {reached_in(root)}")
    assert decided(root) == in_peace[clients]


# When a driver dies in a draw, and whether that burns it.
MOMENTS = (
    *(("before DRAW_STARTED {}", False), ("after DRAW_STARTED {}", True)),
    *(("before replace {file}", True), ("after the insert of DRAWN {}", True)),
    ("after DRAWN {}", False),
)
DRAWS = [
    (moment.format(group, file=FILES[group]), is_burnt)
    for group in GROUPS
    for moment, is_burnt in MOMENTS
]
SOME = (DRAWS[1], DRAWS[7], DRAWS[14])


@pytest.mark.parametrize(("point", "is_burnt"), DRAWS if IS_CAMPAIGN else SOME)
def test_a_driver_dies_in_a_draw(point, is_burnt, cluster, drawing, log, in_peace):
    def run(*args):
        return run_child(on_cluster, cluster.driver, None, *args)

    kill_and_go_on(drawing, request_for(log), (point, 0), is_burnt=is_burnt, run=run)
    paid, counted = decided(drawing)
    expected, counted_in_peace = in_peace["simulate"]
    assert paid[:1] == expected
    assert set(counted_in_peace) <= set(counted)
    assert is_burnt or counted == counted_in_peace


@pytest.mark.long
def test_a_driver_dies_in_the_middle_of_every_step(cluster, root, log, in_peace):
    """Workers do not know it at once; whoever comes next finds no row of theirs."""
    plan, n_runs = Plan(Whom.DRIVER, is_counted=False), 0
    while join(running(cluster, root, request_for(log), plan)):
        n_runs += 1
        assert n_runs == len(reached_in(root)), "a run died otherwise"
    assert n_runs > 20
    print(f"{n_runs} drivers were killed: {reached_in(root)}")
    assert decided(root) == in_peace["simulate"]


WAITS = Plan(Whom.WAIT, only="step-headlist_counts")  # between the charge and the first draw


def test_a_release_goes_on_without_the_master(drawing, log, in_peace, tmp_path):
    with ExitStack() as stack:
        other = Cluster(tmp_path / "other", stack)
        release = running(other, drawing, request_for(log), WAITS)
        until(lambda: reached_in(drawing) or not release.is_alive(), "the step runs")
        end(other.master)
        let_go_on(drawing)
        assert join(release) == 0
    assert decided(drawing) == in_peace["simulate"]


def test_a_cluster_that_is_gone_is_refused_and_the_release_goes_on_on_another(
    cluster, drawing, log, in_peace, tmp_path
):
    request = request_for(log)
    with ExitStack() as stack:
        other = Cluster(tmp_path / "other", stack, **{"spark.hybriddp.patience": "6"})
        release = start_child(on_cluster, other.driver, WAITS, run_to_the_end, drawing, request)
        until(lambda: reached_in(drawing) or not release.is_alive(), "the step runs")
        other.kill()
        release.join(PATIENCE)
        assert join(release) == 1
    [outcome] = read_lines(drawing / "outcome")
    said = "EngineLost: step head_list/headlist_counts was not finished: the cluster had no worker"
    assert f"{said} for 6 s" in outcome["failed"]
    kinds = [row.kind for row in steps_of(new_home(drawing / "home"))]
    assert kinds == [Kind.RESERVED]
    assert join(running(cluster, drawing, request, None)) == 0
    assert decided(drawing) == in_peace["simulate"]
