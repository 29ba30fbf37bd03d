"""The catalogue of studies, their plots and pages, and the command."""

import json
import re
from html.parser import HTMLParser

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from flows.cli import study as cli_study
from hybriddp.studies.blender.settings import METHODS
from tasks.studies import request as request_module
from tasks.studies.catalogue import STUDIES, aliases, find_study
from tasks.studies.model import JUDGED, MEASURES, QUANTITIES
from tasks.studies.pages.page import write_index
from tasks.studies.pages.plots import write_plots
from tasks.studies.pages.tables import Tables
from tasks.studies.request import StudyRequest, do_runs


@pytest.fixture(scope="module")
def run():
    app = typer.Typer()
    app.callback()(lambda: None)
    app.command()(cli_study.study)
    return lambda *words: CliRunner().invoke(app, ["study", *map(str, words)])


@pytest.fixture(scope="module")
def quick(run, tmp_path_factory):
    """A quick study through the command: its folder and what was printed."""
    folder = tmp_path_factory.mktemp("studies") / "prior-work"
    return folder, run("figure-12", "--quick", "--out", folder)


@pytest.mark.parametrize("number", range(9, 20))
def test_every_figure_of_the_evaluation_has_a_study(number):
    study = find_study(f"figure-{number}")
    assert f"JPC19 figure {number}" in study.figures


def test_every_figure_of_the_first_version_has_a_study():
    assert {f"sec17-figure-{number}" for number in range(8, 17)} <= set(aliases())


def test_catalogue_is_whole():
    for name, study in STUDIES.items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        sweeps = {sweep.name for sweep in study.sweeps}
        assert {p.sweep for p in study.published} <= sweeps
        assert len({plot.name for plot in study.plots}) == len(study.plots) >= 1
        for plot in study.plots:
            assert set(plot.sweeps) <= sweeps
            assert plot.measure in MEASURES
            methods = {method for s in plot.sweeps for method in study.sweep(s).methods}
            assert {series.method for series in plot.series} <= methods
        for sweep in study.sweeps:
            assert sweep.x in QUANTITIES
        assert 0 < len(study.settings(is_quick=True)) <= len(study.settings(is_quick=False))
    assert set(JUDGED) <= set(MEASURES)


def test_equal_privacy_has_every_method_on_every_axis_and_both_populations():
    study = STUDIES["equal-privacy"]
    assert {sweep.x for sweep in study.sweeps} == {"epsilon", "optin_fraction", "max_head_size"}
    assert {sweep.base.population for sweep in study.sweeps} == {"aol-like", "yandex-like"}
    assert all(sweep.methods == METHODS for sweep in study.sweeps)


class Links(HTMLParser):
    """Collects what a page shows and links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.images: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs)["src"])
        if tag in ("a", "link", "script"):
            self.links.append(dict(attrs).get("href") or dict(attrs).get("src"))


def test_quick_study_runs_through_the_command(quick):
    folder, result = quick
    assert result.exit_code == 0, result.output
    assert f"Page: {folder / 'index.html'}" in result.output
    runs, summary = (pq.read_table(folder / f"{name}.parquet") for name in ("runs", "summary"))
    assert runs.num_rows == 2 * summary.num_rows
    assert (folder / "runs.csv").read_text().count("\n") == runs.num_rows + 1
    assert {"l1_records", "l1_records_se", "n"} <= set(summary.column_names)


def test_page_shows_every_plot_and_needs_nothing_else(quick):
    folder, _ = quick
    text = (folder / "index.html").read_text()
    page = Links(text)
    assert sorted(page.images) == sorted(path.name for path in folder.glob("*.svg"))
    assert {path.stem for path in folder.glob("*.png")} == {
        path.stem for path in folder.glob("*.svg")
    }
    assert all((folder / name).is_file() for name in page.links)
    assert "http" not in text
    for words in ("What was varied", "What the papers say", "0.974", "0.385", "± "):
        assert words in text


def test_index_over_all_studies_links_to_each(quick):
    folder, _ = quick
    page = Links((folder.parent / "index.html").read_text())
    assert page.links == ["prior-work/index.html"]


def test_a_strangers_index_page_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    assert write_index(tmp_path) is None
    assert (tmp_path / "index.html").read_text() == "mine"


def test_equal_data_gives_equal_bytes(quick, tmp_path):
    folder, _ = quick
    summary = pq.read_table(folder / "summary.parquet").to_pylist()
    write_plots(STUDIES["prior-work"], summary, tmp_path)
    for name in ("ndcg.svg", "ndcg.png"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_command_lists_studies_and_refuses_others(run):
    listed = json.loads(run("--list", "--json").output)
    assert set(listed["studies"]) == set(STUDIES)
    assert "equal-privacy" in run("--list").output
    assert run("nonsense").exit_code == 2
    assert run().exit_code == 2
    assert run("delta", "--seeds", 0).exit_code == 2


def test_default_folder_is_in_the_home_and_quick_runs_have_their_own(monkeypatch):
    monkeypatch.setenv("HYBRIDDP_HOME", "somewhere")
    folders = [str(StudyRequest(name="figure-13", quick=quick).folder) for quick in (False, True)]
    assert folders == ["somewhere/studies/optin-share", "somewhere/studies/optin-share-quick"]


def test_a_study_has_its_own_number_of_seeds_unless_another_is_asked_for(monkeypatch, tmp_path):
    asked = []

    def note(study, folder, *, seeds, **_):
        asked.append(seeds)
        return []

    monkeypatch.setattr(request_module, "execute", note)
    monkeypatch.setattr(request_module, "make_tables", lambda *_: Tables([], [], []))
    for name, options in (
        ("mean-kmeans", {}),
        ("delta", {}),
        ("mean-kmeans", {"quick": True}),
        ("mean-kmeans", {"seeds": 3}),
    ):
        do_runs(StudyRequest(name=name, out=tmp_path, **options))
    assert asked == [26, 20, 2, 3]


def test_flow_does_the_same_steps_as_the_command(quick, monkeypatch):
    """Without Prefect's engine; what the command stored is not run again."""
    from flows import study as flow_module
    from tasks.studies import orchestrated

    folder, _ = quick
    for name in ("do_runs", "show"):
        monkeypatch.setattr(flow_module, name, getattr(orchestrated, name).fn)
    left: list[str] = []
    monkeypatch.setattr(
        flow_module, "leave_page", lambda *given: left.append(orchestrated.as_markdown(*given))
    )
    stored, page = (folder / "runs.jsonl").read_bytes(), (folder / "index.html").read_bytes()
    request = StudyRequest(name="prior-work", quick=True, out=folder)
    assert flow_module.study.fn(request) == folder / "index.html"
    assert (folder / "runs.jsonl").read_bytes() == stored
    assert (folder / "index.html").read_bytes() == page
    (shown,) = left
    assert shown.startswith("# ")
    assert "](data:image/svg+xml;base64," in shown
