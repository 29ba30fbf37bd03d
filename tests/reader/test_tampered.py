"""No reader gives out what its publisher did not sign, and each says why in the same word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.reader import REASONS, Reason, Release, ReleaseRefused, open_release
from tests.reader.servers import serving
from tests.reader.variants import FOLDERS, READ, VARIANTS

OFFLINE = {Reason.NO_CACHE, Reason.REDIRECTED, Reason.TIMED_OUT, Reason.UNREACHABLE}


def require_refused(reason: str, *asked, **settings) -> ReleaseRefused:
    """See that a release is refused, with this word, and in words for people."""
    with pytest.raises(ReleaseRefused) as caught:
        open_release(*asked, **settings)
    error = caught.value
    assert error.reason == reason, str(error)
    assert type(error) is REASONS[error.reason][0]
    words = str(error)
    assert 20 < len(words) < 600
    assert words.endswith(".")
    return error


def test_what_is_not_spoilt_is_opened_from_a_folder_and_from_an_address(shelf, server):
    found = open_release(shelf.path, shelf.key)
    assert open_release(server.address, shelf.key.hex()) == found
    assert open_release(shelf.newest, shelf.key, of="search/all") == found
    assert open_release(f"{server.address}/{shelf.newest.name}/", shelf.key) == found
    assert (found.manifest.sequence, found.manifest.epoch) == (2, "2026-W41")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_spoilt_release_is_refused_for_the_same_reason_wherever_it_lies(name, shelf, server):
    reason, spoil = VARIANTS[name]
    spoil(shelf)
    in_folder = require_refused(reason, shelf.path, shelf.key, of="search/all")
    at_address = require_refused(reason, server.address, shelf.key, of="search/all")
    assert in_folder.file == at_address.file


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_no_file_is_refused_at_once_and_no_link_is_followed(name, shelf):
    reason, spoil = FOLDERS[name]
    spoil(shelf)
    require_refused(reason, shelf.path, shelf.key)


def test_every_reason_is_met_by_a_variant_or_by_a_server():
    met = {reason for reason, _ in [*VARIANTS.values(), *FOLDERS.values()]}
    assert {*met, Reason.EXPIRED, Reason.ROLLED_BACK} | OFFLINE == set(Reason)
    assert len(VARIANTS) + len(FOLDERS) > 200


@given(data=st.data())
def test_no_changed_byte_of_any_file_changes_what_is_read(published, tmp_path_factory, data):
    """Whatever is written into a release: the reader gives out what was signed, or refuses."""
    shelf = published.copied(tmp_path_factory.mktemp("bytes") / "shelf")
    as_signed = open_release(shelf.path, shelf.key)
    names = ("manifest.json", "manifest.sig", "../latest.json", *READ)
    path = shelf.newest / data.draw(st.sampled_from(names))
    was = path.read_bytes()
    first = data.draw(st.integers(0, len(was)))
    last = data.draw(st.integers(first, min(len(was), first + 4)))
    path.write_bytes(was[:first] + data.draw(st.binary(max_size=4)) + was[last:])
    try:
        found = open_release(shelf.path, shelf.key)
    except ReleaseRefused:
        return
    assert isinstance(found, Release)
    assert found == as_signed


def test_files_that_a_reader_does_not_need_are_not_read(shelf, server):
    (shelf.newest / "head_list.parquet").write_bytes(b"x")
    (shelf.newest / "more").write_bytes(b"x")
    open_release(server.address, shelf.key)
    assert not [path for path in server.asked if path.endswith((".parquet", "more"))]


def test_a_link_that_the_caller_names_is_his_own(shelf, root):
    (root / "link").symlink_to(shelf.path)
    assert open_release(root / "link", shelf.key) == open_release(shelf.path, shelf.key)


def test_another_servers_shelf_beside_it_does_not_matter(shelf, root):
    with serving(root) as server:
        assert len(open_release(f"{server.address}/shelf", shelf.key)) > 0
