"""What an operator blocks is blocked, whatever his editor put around it."""

import pytest

from tasks.gates.blocklist import read_blocklist
from tasks.release.refusals import BadInput


@pytest.mark.parametrize(
    ("data", "blocked"),
    [
        (b"\xef\xbb\xbfmaps\r\nnews", {"maps", "news"}),
        (b"\xef\xbb\xbf\xef\xbb\xbfmaps\n\n \n", {"maps", "\ufeffmaps"}),
        ("\u200b maps \u2060\nNews\u00a0".encode(), {"maps", "\u200b maps \u2060", "news"}),
        ("a\u2028b\nc\x85d\ne\x0cf".encode(), {"a b", "c d", "e f"}),
        ("Cafe\u0301  au lait\r\n".encode(), {"caf\u00e9 au lait"}),
        (b"", set()),
    ],
)
def test_every_line_is_a_query_whatever_stands_around_it(tmp_path, data, blocked):
    path = tmp_path / "blocklist.txt"
    path.write_bytes(data)
    assert read_blocklist(path) == blocked


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"maps\nn\xe9ws\n", "line 2: it is not UTF-8"),
        ("maps\nnews".encode("utf-16"), "line 1: it is not UTF-8"),
        ("maps\nnews".encode("utf-16-le"), "zero bytes"),
        (b"maps\rnews\r", "carriage returns"),
    ],
)
def test_a_file_whose_lines_nobody_knows_is_refused(tmp_path, data, said):
    path = tmp_path / "blocklist.txt"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=said):
        read_blocklist(path)
