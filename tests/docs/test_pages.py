"""The pages and the code say the same."""

import re

import pytest

from bench.plots import SHOWN, small
from flows.cli.main import Commands
from tasks.studies.catalogue import STUDIES
from tests.docs.pages import (
    INDEX,
    PAGES,
    README,
    anchors,
    blocks,
    code_spans,
    hybriddp_commands,
    links,
    shell_lines,
    target_of,
)
from tests.repository import ROOT


def name_of(page) -> str:
    return str(page.relative_to(ROOT))


def test_readme_is_read_in_a_minute_or_three():
    assert len(README.read_text().split()) <= 900


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_a_heading(page):
    for link in links(page):
        if "://" in link:
            continue
        target, anchor = target_of(page, link)
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_of_docs_is_reached_from_the_index():
    reached, waiting = {INDEX}, [INDEX]
    while waiting:
        page = waiting.pop()
        for link in links(page):
            target, _ = target_of(page, link)
            if "://" not in link and target.suffix == ".md" and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert [name_of(page) for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_function_that_a_page_names_is_where_it_says(page):
    for file, name in re.findall(r"`([\w/]+\.py)::(\w+)", page.read_text()):
        assert (ROOT / file).exists(), file
        assert re.search(rf"(def|class) {name}\b", (ROOT / file).read_text()), (file, name)


def test_every_page_that_the_code_names_exists():
    for folder in ("hybriddp", "tasks", "flows", "bench", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            for named in re.findall(r"docs/[\w/-]+\.md", file.read_text()):
                assert (ROOT / named).exists(), (name_of(file), named)


def test_every_erratum_names_tests_that_exist():
    text = (ROOT / "docs" / "errata.md").read_text()
    items = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    numbers = {re.match(r"\d+", item).group() for item in items}
    assert numbers == {str(number) for number in range(1, 13)}
    for item in items:
        shown_by = re.findall(r"`(tests/\S+)::(\w+)`", item)
        assert shown_by or item.startswith("5. "), item.splitlines()[0]
        for path, test in shown_by:
            assert f"def {test}(" in (ROOT / path).read_text(), (path, test)


def options_of(words: list[str]) -> set[str]:
    """Return the options of the command that these words name; fail if there is none."""
    assert words[0] in Commands.table, words
    command = Commands.table[words[0]].load()
    inner = getattr(command, "commands", None)
    if inner is not None and len(words) > 1:
        assert words[1] in inner, words
        command = inner[words[1]]
    return {name for param in command.params for name in (*param.opts, *param.secondary_opts)}


def all_options() -> set[str]:
    """Return every option of every command."""
    found = {"--help", "--version"}
    for name, entry in Commands.table.items():
        inner = getattr(entry.load(), "commands", {})
        for words in [[name, sub] for sub in inner] or [[name]]:
            found |= options_of(words)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_a_page_names_exist_and_have_these_options(page):
    for words in hybriddp_commands(page):
        if words[0].startswith("--"):  # of the whole program
            assert words[0] in ("--help", "--version")
            continue
        named = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert named <= options_of(words) | {"--help"}, words


def test_options_that_stand_alone_are_those_of_some_command():
    known = all_options()
    for page in PAGES:
        for span in code_spans(page):
            if span.startswith("--"):
                assert span.split()[0].partition("=")[0] in known, (name_of(page), span)


def test_pages_name_every_command_and_targets_that_exist():
    named = {words[0] for page in PAGES for words in hybriddp_commands(page)}
    assert named >= set(Commands.table)
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for line in [*shell_lines(page), *code_spans(page)]:
            for target in re.findall(r"^make (\w+)", line):
                assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), (page, target)


def test_studies_that_pages_name_exist():
    for page in PAGES:
        for words in hybriddp_commands(page):
            if words[0] == "study" and len(words) > 1 and re.fullmatch(r"[a-z-]+", words[1]):
                assert words[1].startswith("--") or words[1] in STUDIES, words


def test_readme_shows_a_release_and_its_label_as_they_are_printed():
    readme = README.read_text()
    shown, _picture = (text for _, text in blocks(README, "text"))
    rows = re.findall(r"^ \d +\S.* http\S+ +0\.\d{6} +0\.\d{6} - 0\.\d{6}$", shown, re.MULTILINE)
    assert len(rows) == 5
    products = ROOT / "tasks" / "products"
    label = "".join(file.read_text() for file in products.glob("**/label.py"))
    for words in ("who saw their searches", "Over a lifetime", "are used beyond"):
        assert words in readme
        assert words in label


def test_plots_are_small_shown_in_words_and_drawn_by_their_study():
    files = set((ROOT / "docs" / "plots").iterdir())
    shown = {
        target_of(page, link)[0]: alt
        for page in PAGES
        for alt, link in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text())
    }
    assert set(shown) == files
    assert all(len(alt.split()) > 10 for alt in shown.values())
    assert all(file.stat().st_size < 80_000 for file in files)
    drawn = {f"{study}-{plot}.png" for study, plots in SHOWN.items() for plot in plots}
    assert {file.name for file in files} == drawn
    for study, plots in SHOWN.items():
        small_one = small(STUDIES[study], plots)
        assert {plot.name for plot in small_one.plots} == set(plots)
        for plot in small_one.plots:
            assert tuple(line.method for line in plot.series) == plots[plot.name]


def test_picture_fits_a_terminal():
    _shown, picture = (text for _, text in blocks(README, "text"))
    assert max(map(len, picture.splitlines())) <= 88
