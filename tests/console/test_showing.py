"""Whatever a text holds, what shows it stays what it is."""

import xml.etree.ElementTree as ET

import pytest

from tasks.products.mean.label import write_label
from tasks.publish.showing import in_markdown, rows_to_show, visible
from tasks.release.artifacts import plot_intervals
from tasks.verify.reading import described
from tests.manifests import guarantees_of, manifest_of

ODD = [
    "\x1b[31mred\x1b[0m", "\x00", "\x9b31m", "a\nb", "\u202egnp.exe", "\ufffe", "\ud800", "\x85",
    "<script>", "]]>", "&amp;", "$x^2$", "[/b]", "a|b", "`code`", "![x](http://tracker)", "# title",
    "é",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_a_plot_of_any_query_is_xml_and_shows_no_control_character(text):
    row = {"query": text, "url": text, "probability": 0.2, "ci_low": 0.1, "ci_high": 0.3}
    drawing = plot_intervals([row])
    assert ET.fromstring(drawing.encode("utf-8")) is not None
    (name,) = (
        e.text
        for e in ET.fromstring(drawing).iter()
        if e.get("text-anchor") == "end" and e.get("y") == "15.0"
    )
    assert name.startswith(visible(text)[:38])
    assert visible(text).encode("utf-8").isascii() or text == "é"
    assert rows_to_show([row])[0]["query"] == visible(text)


def test_markdown_shows_marks_as_they_are():
    assert in_markdown("a|b`c`[d](e)<f>&*g*") == "a\\|b\\`c\\`\\[d\\](e)&lt;f&gt;&amp;\\*g\\*"
    assert in_markdown("a\n\n# b") == "a\\\\n\\\\n\\# b"
    assert in_markdown("Dwell_Seconds 7") == "Dwell_Seconds 7", "usual names stay as they are"


def test_no_column_can_write_a_label_of_its_own():
    """A column is named by whoever writes the log; the label must stay one paragraph about it."""
    facts = manifest_of(
        decimals=3, rows={"means": 1}, second_guarantee=None,
        parameters={
            "column": "x\n\n**Over a lifetime** nobody pays", "by": None, "upper": "1",
            "per_person": "sum", "optin": "roster", "clients": "simulate", "weight": "privacy",
            "strategy": "mean", "epsilon": "1", "delta": "0", "grid": 65_536, "rotation": 1,
            "noise": "laplace", "report": "mixed", "variance_share": "0", "known_sd": None,
            "one_number": False, "mechanism_version": "mean-1",
        },
        guarantees=guarantees_of(sums=1, numbers=1),
        noise={"sums_sd": "1", "report_sd_at_most": "1"},
        cross_check={"compared": 0, "p_value": None},
    )  # fmt: skip
    label = write_label(described(facts))
    assert label.count("\n\n**Over a lifetime**") == 1
