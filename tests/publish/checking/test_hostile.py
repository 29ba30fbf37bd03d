"""A stranger's folder can neither hang nor fill nor confuse whoever verifies it."""

import json
import os
import shutil
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from tasks.log.raw.files import BadInput
from tasks.publish.shelf import look_up, newest_folder
from tasks.store import reading
from tasks.store.reading import Unreadable, read_file
from tasks.verify import form as manifest_form
from tasks.verify.checks import VerificationFailed
from tasks.verify.signatures import KeyProblem, read_public_key
from tasks.verify.verify import verify_release
from tests.publish.checking.hostile import campaign
from tests.publish.checking.spoiling import Publisher
from tests.publish.checking.test_verify import FILES, sign_again


@pytest.fixture
def key(run) -> bytes:
    return read_public_key(run.home.public / "signing.pub")


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_a_device_a_link_or_a_folder_is_no_file(folder, key, name, tmp_path):
    path, outside = folder / name, tmp_path / "outside"
    shutil.copy(path, outside)
    for make in (
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(outside),
        Path.mkdir,
    ):
        path.unlink() if not path.is_dir() else path.rmdir()
        make(path)
        with pytest.raises(VerificationFailed, match=r"is a link|is no file|is missing"):
            verify_release(folder, key)


def test_no_reader_waits_for_a_pipe_or_reads_a_device(tmp_path):
    for name in ("manifest.json", "latest.json", "trends.jsonl", "signing.pub", "settings.toml"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(KeyProblem):
        read_public_key(tmp_path / "signing.pub")
    with pytest.raises(KeyProblem):
        read_public_key(Path("/dev/zero"))
    with pytest.raises(BadInput, match="no file"):
        look_up(tmp_path, "a", 3)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(BadInput, match="no file"):
        newest_folder(tmp_path)
    for arguments in (["plan", "--previous", tmp_path], ["search", tmp_path, "a"],
                      ["verify", tmp_path, "--key", "/dev/zero"],
                      ["release", "--config", tmp_path / "settings.toml"]):  # fmt: skip
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code in (1, 2), arguments
        assert "unforeseen" not in done.stderr, arguments


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "..", "", "a\nb", "a/b", "\ud800"])
def test_a_signed_name_that_leads_out_of_the_folder_is_refused(run, folder, key, name):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"][name] = manifest["files"]["label.md"]
    sign_again(run, folder, {}, manifest)
    with pytest.raises(VerificationFailed, match="does not know in files"):
        verify_release(folder, key)
    with pytest.raises(Unreadable, match="no name of a file"):
        read_file(folder, name)


def test_a_pointer_that_leads_out_of_the_shelf_is_refused(folder):
    pointer = folder.parent / "latest.json"
    for odd in (b'{"release": "../../../etc"}', b"[]", b'{"release": 7}', b"{", b"[" * 100_000):
        pointer.write_bytes(odd)
        with pytest.raises(BadInput):
            newest_folder(folder.parent)


def test_a_pointer_to_a_link_is_refused_and_a_link_that_was_typed_is_not(folder, tmp_path):
    shelf, typed = folder.parent, tmp_path / "typed"
    typed.symlink_to(shelf)
    assert newest_folder(typed) == typed / folder.name
    typed.unlink()
    typed.symlink_to(folder)
    assert newest_folder(typed) == typed
    (shelf / "x").symlink_to(folder)
    (shelf / "latest.json").write_text('{"release": "x"}')
    for arguments in (["search", shelf, "w"], ["verify", shelf]):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 2, arguments
        assert "is a link" in " ".join(done.stderr.split()), arguments


@pytest.mark.parametrize("bad", [b"{}\n", b"{},", b"[]\n", b'{"query": [0' + b",0" * 10])
def test_rows_are_judged_as_they_are_read(tmp_path, bad):
    """Parsed whole, a file takes up to fifty times its size."""
    (tmp_path / "trends.jsonl").write_bytes(bad * (2**23 // len(bad)))
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match=r"is no row of such a table|is not JSON"):
            look_up(tmp_path, "a", 3)
        assert tracemalloc.get_traced_memory()[1] < 3 * 2**23
    finally:
        tracemalloc.stop()


def test_a_table_of_more_than_128_mib_is_not_read(tmp_path):
    with (tmp_path / "trends.jsonl").open("wb") as file:
        file.truncate(128 * 2**20 + 1)
    with pytest.raises(BadInput, match="larger than the 134217728 bytes"):
        look_up(tmp_path, "a", 3)


@pytest.mark.parametrize(
    ("name", "n_bytes", "words"),
    [
        ("film.jsonl", 1, r"no release of this kind has: film\.jsonl"),
        ("label.md", 2**29, "larger than 536870912 bytes together"),
        ("label.md", 2**28, "larger than the 134217728 bytes"),
    ],
)
def test_what_is_signed_is_bounded_before_it_is_read(run, folder, key, name, n_bytes, words):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"][name] = {"bytes": n_bytes, "sha256": "0" * 64}
    with (folder / name).open("ab") as file:
        file.truncate(n_bytes)
    sign_again(run, folder, {}, manifest)
    with pytest.raises(VerificationFailed, match=words):
        verify_release(folder, key)


def test_a_file_larger_than_what_was_signed_is_not_read(folder, key, monkeypatch):
    with (folder / "trends.jsonl").open("ab") as file:
        file.truncate(2**40)  # takes no room on disk, and all of the memory
    with pytest.raises(VerificationFailed, match=r"trends\.jsonl in .* is larger than"):
        verify_release(folder, key)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    monkeypatch.setattr(reading, "MAX_SMALL_BYTES", 100)
    assert manifest
    with pytest.raises(Unreadable, match="larger than the 100 bytes"):
        read_file(folder, "manifest.json", 100)


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, store_schema=False, **options)
    return bytes(sink.getvalue())


def test_a_signed_parquet_file_that_lies_or_swells_is_refused(run, folder, key):
    data = (folder / "trends.parquet").read_bytes()
    rows = pq.read_table(folder / "trends.parquet")
    zeros, long_text = pa.array([0] * rows.num_rows), pa.array(["x" * 1_000_000])
    repeated = pa.DictionaryArray.from_arrays(zeros, long_text)
    swollen = rows.set_column(rows.schema.names.index("query"), "query", repeated)
    for odd, words in (
        (b"", "damaged"),
        (b"PAR1", "damaged"),
        (data[:-20] + b"\xa5" * 12 + data[-8:], "damaged"),
        (data.replace(b"query", b"\xff\xfe\xff\xfe\xff"), "damaged|other columns"),
        (parquet(rows, compression="gzip"), "packed in another way"),
        (parquet(pa.concat_tables([rows] * 1_000)), "not as many rows"),
        (parquet(swollen), "longer texts"),
    ):
        sign_again(run, folder, {"trends.parquet": odd})
        with pytest.raises(VerificationFailed, match=rf"trends\.parquet .*({words})"):
            verify_release(folder, key)


def test_a_parquet_column_of_another_type_is_refused_before_it_is_unpacked(run, folder, key):
    """A list in one row may say a text a hundred times, in a file of a few kilobytes."""
    rows = pq.read_table(folder / "trends.parquet")
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100), pa.array(["x" * 1_000_000]))
    lists = pa.ListArray.from_arrays(pa.array([0] + [100] * rows.num_rows, pa.int32()), texts)
    bomb = parquet(rows.set_column(0, rows.schema.names[0], lists))
    assert len(bomb) < 100_000
    sign_again(run, folder, {"trends.parquet": bomb})
    usual, counting = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counting)
    try:
        with pytest.raises(VerificationFailed, match="other columns"):
            verify_release(folder, key)
    finally:
        pa.set_memory_pool(usual)
    assert counting.max_memory() < 10_000_000


def test_a_signed_text_file_that_is_odd_is_refused(run, folder, key):
    for odd in (b"[1]\n", b"[" * 100_000, b'{"rank":NaN}\n', b"\xff\n", b'{"rank": 1}'):
        sign_again(run, folder, {"trends.jsonl": odd})
        with pytest.raises(VerificationFailed):
            verify_release(folder, key)
        with pytest.raises(BadInput):
            look_up(folder, "a", 3)


def test_a_manifest_in_another_spelling_is_refused(run, folder, key):
    publisher = Publisher(run, folder)
    spelt = json.dumps(publisher.manifest, indent=1).encode()
    for odd in (spelt, spelt[:-1] + b',"product":"twice"}', b"[" * 100_000, b"null\n", b"\xff"):
        sign_bytes(run, folder, odd)
        with pytest.raises(VerificationFailed, match="schema"):
            verify_release(folder, key)


def sign_bytes(run, folder: Path, data: bytes) -> None:
    from tasks.store.keys import Keyring
    from tasks.verify.manifest import signed_bytes

    (folder / "manifest.json").write_bytes(data)
    signature = Keyring.open(run.home).signing.sign(signed_bytes(data))
    (folder / "manifest.sig").write_bytes(signature)


def test_odd_but_signed_manifests_are_refused_in_words(run, folder):
    counted = campaign(folder, run.folder, "head list", 150)
    assert counted["refused"] > 120


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), float("inf"), True, "1"])
def test_what_is_no_share_fits_no_form(value):
    """A whole number beyond every float is no error either."""
    assert manifest_form.number(0.5)
    assert not manifest_form.number(value)
