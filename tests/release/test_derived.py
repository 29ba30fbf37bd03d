"""What is published is what the estimating steps wrote, and only they can have written it."""

import shutil

import polars as pl
import pytest

from hybriddp.blender.evidence import combining, posterior
from tasks.measured.derived import NotDerived, read_derived, write_derived
from tasks.products.head_list.estimation.processing import estimate_intervals, estimated
from tasks.products.head_list.run import identify
from tasks.publish.publish import publish
from tasks.release.walk import run_release
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication
from tests.homes import new_home
from tests.release.support import request_for, waive_gates, write_log


@pytest.fixture
def estimated_run(tmp_path, monkeypatch):
    """A release whose estimates are written, and nothing published."""
    waive_gates(monkeypatch.setattr)
    log = write_log(tmp_path / "log.tsv", map(str, range(600)))
    run = identify(request_for(log), new_home(tmp_path / "home"))
    run_release(run, before="judge the published list")
    return run


def count_fits(monkeypatch) -> list[int]:
    """Count how often a curve of what is known is computed."""
    fits = []
    for module in (combining, posterior):
        inner = module.posterior
        monkeypatch.setattr(
            module, "posterior", lambda *a, f=inner, **k: fits.append(1) or f(*a, **k)
        )
    return fits


def test_a_release_fits_its_posterior_once_and_its_verification_once(tmp_path, monkeypatch):
    waive_gates(monkeypatch.setattr)
    log = write_log(tmp_path / "log.tsv", map(str, range(600)))
    run = identify(request_for(log), new_home(tmp_path / "home"))
    fits = count_fits(monkeypatch)
    folder = run_release(run)
    # Records of the opt-in side, records of everybody, and the other urls: each once.
    assert len(fits) == 3
    verify_publication(run.home, folder, read_public_key(run.home.public / "signing.pub"))
    assert len(fits) == 6


def test_what_is_published_was_written_by_the_steps(estimated_run):
    """The file of the last estimating step decides; here it says something else."""
    run = estimated_run
    frame = read_derived(run, "published_records")
    write_derived(run, "published_records", frame.with_columns(pl.col("probability") * 0.5))
    folder = publish(run, run.request.settings)
    published = pl.read_parquet(folder / "head_list.parquet")
    assert published["probability"].max() == pytest.approx(frame["probability"].max() / 2, abs=0.2)
    assert published["probability"].sum() < 0.6


@pytest.mark.parametrize(
    "defect",
    [
        "changed",
        "gone",
        "of another version",
        "of another file",
        "no text",
        "a folder",
        "no folder",
    ],
)
def test_what_somebody_else_put_there_is_not_published(estimated_run, monkeypatch, defect):
    run = estimated_run
    folder = run.folder / "derived"
    right = estimated(run)[1].records.values.tolist()
    file, other = folder / "published_records.parquet", folder / "client_records.keyed"
    forged = read_derived(run, "published_records").with_columns(probability=pl.lit(0.5))
    if defect == "changed":
        forged.write_parquet(file)
    elif defect == "gone":
        shutil.rmtree(folder)
    elif defect == "of another version":
        with monkeypatch.context() as patch:
            patch.setattr("tasks.measured.derived.code_version", lambda: "9.9")
            write_derived(run, "published_records", forged)
    elif defect == "of another file":
        file.with_suffix(".keyed").write_bytes(other.read_bytes())
    elif defect == "no text":
        file.with_suffix(".keyed").write_bytes(b"\xc3\xa9\xff")
    elif defect == "a folder":
        file.unlink()
        (file / "of somebody").mkdir(parents=True)
    else:
        shutil.rmtree(folder)
        folder.write_text("a file in its place")
    with pytest.raises(NotDerived):
        read_derived(run, "published_records")
    assert estimated(run)[1].records.values.tolist() == right, "it is computed again"
    assert publish(run, run.request.settings).is_dir()
    if defect == "a folder":
        estimate_intervals(run)
        assert read_derived(run, "published_records")["probability"].to_list() == right
