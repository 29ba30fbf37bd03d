"""Every function that touches private data states a claim, and every claim is alive."""

import ast
import inspect
import re

from tests.events import EVENT_TYPES
from tests.repository import ROOT, documented_functions

CLAIM_KEYS = [
    "Neighbours", "Guarantee", "Assumes", "Excludes", "Charged as", "Reference", "Audit",
]  # fmt: skip


def touches_data(name: str, function) -> bool:
    """Public functions that are given arrays of data, records or estimates, and all draws."""
    last = name.split(".")[-1]
    if last.startswith("_"):
        return False
    annotations = inspect.signature(function).parameters.values()
    takes_data = any(
        re.search(r"ndarray\[|Record|Estimate", str(p.annotation)) for p in annotations
    )
    return takes_data or last in {"draw", "report", "simulate"}


def claims() -> dict[str, dict[str, str]]:
    """Return the full claim blocks of the library, key by key."""
    found = {}
    for name, function in documented_functions():
        doc = inspect.getdoc(function) or ""
        if "Privacy claim\n" in doc:
            block = doc.split("Privacy claim\n")[1].split("\n\n")[0]
            joined = re.sub(r"\n {4,}", " ", block)
            fields = re.findall(r"^ {2}(\w+(?: as)?) {2,}(.*)$", joined, flags=re.MULTILINE)
            found[name] = dict(fields)
    return found


def test_everything_that_touches_data_states_its_privacy_claim():
    checked = [name for name, function in documented_functions() if touches_data(name, function)]
    assert len(checked) > 25
    for name, function in documented_functions():
        if touches_data(name, function):
            assert "Privacy claim" in (inspect.getdoc(function) or ""), name


def test_every_draw_has_a_whole_claim():
    drawing = {name for name, _ in documented_functions() if name.endswith((".draw", ".report"))}
    assert drawing == set(claims())
    for name, claim in claims().items():
        assert list(claim) == CLAIM_KEYS, name


def test_every_claim_names_a_living_audit_test():
    for name, claim in claims().items():
        path, test = claim["Audit"].split("::")
        source = ast.parse((ROOT / path).read_text())
        assert test in {n.name for n in source.body if isinstance(n, ast.FunctionDef)}, name


def test_every_claim_cites_a_known_reference_and_a_registered_event():
    known = (ROOT / "docs" / "references.md").read_text()
    known_events = {event.__name__ for event in EVENT_TYPES}
    for name, claim in claims().items():
        assert f"**{claim['Reference'].split()[0]}**" in known, name
        charged = {
            event.strip().removeprefix("events.") for event in claim["Charged as"].split(",")
        }
        assert charged <= known_events, name


def test_privacy_page_prices_every_event():
    table = (ROOT / "PRIVACY.md").read_text()
    for event in EVENT_TYPES:
        assert f"`{event.__name__}`" in table
