"""Rules about the code itself: layers, randomness, privacy claims, packaging."""

import ast
import importlib
import inspect
import pkgutil
import random
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import hybriddp
from hybriddp import accounting
from hybriddp.client import Client
from hybriddp.headlist import HeadList, HeadListMechanism
from hybriddp.local import ClientMechanism
from hybriddp.optin import HistogramMechanism
from hybriddp.params import BlenderParams

ROOT = Path(__file__).parents[2]
LIBRARY = sorted((ROOT / "hybriddp").glob("*.py"))
PRODUCT_LIBRARIES = {"prefect", "polars", "duckdb", "pydantic", "great_expectations"}


def imported_roots(path: Path) -> set[str]:
    roots = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    return roots


# --- layers ----------------------------------------------------------------------------------


def test_library_imports_only_what_pure_algorithms_need():
    allowed = {"hybriddp", "numpy", "scipy", "opendp", "dp_accounting", *sys.stdlib_module_names}
    for path in LIBRARY:
        assert imported_roots(path) <= allowed, path.name
    assert not PRODUCT_LIBRARIES & allowed


def test_flows_contain_no_arithmetic_libraries():
    for path in (ROOT / "flows").glob("*.py"):
        assert not imported_roots(path) & {"numpy", "scipy", "pyarrow"}, path.name


BLOCKED = """
import sys
class Uninstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Uninstalled())
"""


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_library_works_without_the_product_libraries():
    output = run_python(
        BLOCKED.format(names=PRODUCT_LIBRARIES)
        + """
import numpy as np, hybriddp
zeros = np.zeros(1000, int)
release = hybriddp.simulate(
    zeros, zeros, np.arange(1000) < 300, hybriddp.BlenderParams(), rng=np.random.default_rng(1)
)
print(release.head_list.n_queries, sorted(set(sys.modules) & {"prefect", "polars", "duckdb"}))
"""
    )
    assert output.strip() == "1 []"


def test_client_needs_the_standard_library_only():
    output = run_python(
        BLOCKED.format(names={"numpy", "scipy", "opendp", "dp_accounting", *PRODUCT_LIBRARIES})
        + """
from hybriddp.client import Client
from hybriddp.params import BlenderParams
print(Client({"a": ["x"]}, BlenderParams()).report([("a", "x")])[0] in range(3))
"""
    )
    assert output.strip() == "True"


# --- randomness ------------------------------------------------------------------------------


def uses_of_generators(path: Path) -> set[str]:
    """Return what a module touches of `random` and `numpy.random`, type annotations included."""
    tree = ast.parse(path.read_text())
    touched = {name for name in imported_roots(path) if name == "random"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith(
            ("np.random.", "numpy.random.")
        ):
            touched.add(ast.unparse(node))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numpy.random"):
            touched.add(node.module)
    return touched


def test_generators_are_made_in_one_place_that_no_release_imports():
    """Everywhere else `np.random.Generator` is only the type of an argument."""
    for path in LIBRARY:
        expected = {"np.random.Generator"}
        if path.name == "populations.py":
            expected |= {"np.random.PCG64"}
        assert uses_of_generators(path) <= expected, path.name
    drawing = {"noise", "headlist", "optin", "response", "local", "client"}
    for path in LIBRARY:
        if path.stem in drawing:
            assert "hybriddp.populations" not in path.read_text()
            assert "hybriddp.simulation" not in path.read_text()
            calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
            assert not [c for c in calls if ast.unparse(c.func).startswith("np.random")], path.name


def draw_everything() -> None:
    """The three draws of a release, and a device's."""
    params = BlenderParams(4, "1e-5")
    head_list = HeadList.from_records(np.array([0, 0, 1]), np.array([0, 1, 0]))
    HeadListMechanism.for_budget(params.budget).draw(np.array([1, 50]))
    HistogramMechanism.for_budget(params.budget).draw(np.array([5, 0, 7]))
    ClientMechanism.for_head_list(head_list, params).draw(np.arange(head_list.n_cells))
    Client({"a": ["x", "y"], "b": ["z"]}, params).report([("a", "x")])


@pytest.fixture
def poisoned_generators(monkeypatch):
    """Make every use of numpy's or Python's non-cryptographic generators an error."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a non-cryptographic generator was reached")

    for module in (np.random, random):
        for name in dir(module):
            if (
                callable(getattr(module, name))
                and not name.startswith("_")
                and name != "SystemRandom"
            ):
                if inspect.isclass(getattr(module, name)) and module is random:
                    continue
                monkeypatch.setattr(module, name, refuse)
    for name in ("random", "getrandbits", "seed", "randbytes"):
        monkeypatch.setattr(random.Random, name, refuse)
    monkeypatch.setattr(np.random.mtrand, "_rand", None)


@pytest.mark.usefixtures("poisoned_generators")
def test_no_numpy_or_random_generator_reaches_a_release():
    draw_everything()
    with pytest.raises(AssertionError, match="non-cryptographic"):
        np.random.default_rng()  # the poison works
    with pytest.raises(AssertionError, match="non-cryptographic"):
        random.random()
    with pytest.raises(AssertionError, match="non-cryptographic"):
        random.Random(1)


def test_no_draw_accepts_a_generator():
    for owner in (HeadListMechanism, HistogramMechanism, ClientMechanism):
        assert "rng" not in inspect.signature(owner.draw).parameters
        rng = inspect.signature(owner.simulate).parameters["rng"]
        assert rng.kind is inspect.Parameter.KEYWORD_ONLY
        assert rng.default is inspect.Parameter.empty


def test_every_generator_argument_is_keyword_only_without_default():
    for name, function in documented_functions():
        parameter = inspect.signature(function).parameters.get("rng")
        if parameter is not None and not name.split(".")[-1].startswith("_"):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name
            assert parameter.default is inspect.Parameter.empty, name


def test_two_draws_differ():
    """No seed is hidden anywhere: 200 noisy zeros are equal with probability below 1e-20."""
    mechanism = HistogramMechanism.for_budget(BlenderParams().budget)
    first, second = (mechanism.draw(np.zeros(200, np.int64)).tolist() for _ in range(2))
    assert first != second


# --- privacy claims --------------------------------------------------------------------------

CLAIM_KEYS = [
    "Neighbours", "Guarantee", "Assumes", "Excludes", "Charged as", "Reference", "Audit",
]  # fmt: skip


def documented_functions():
    """Yield every function and method that hybriddp defines, with its qualified name."""
    for info in pkgutil.iter_modules(hybriddp.__path__):
        module = importlib.import_module(f"hybriddp.{info.name}")
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(member):
                yield f"{info.name}.{name}", member
            elif inspect.isclass(member):
                for attribute, raw in vars(member).items():
                    function = getattr(raw, "__func__", raw)
                    if inspect.isfunction(function):
                        yield f"{info.name}.{name}.{attribute}", function


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
    events = {event.__name__ for event in accounting.EVENT_TYPES}
    for name, claim in claims().items():
        assert f"**{claim['Reference'].split()[0]}**" in known, name
        charged = {
            event.strip().removeprefix("accounting.") for event in claim["Charged as"].split(",")
        }
        assert charged <= events, name


def test_privacy_page_prices_every_event():
    table = (ROOT / "PRIVACY.md").read_text()
    for event in accounting.EVENT_TYPES:
        assert f"`{event.__name__}`" in table


# --- packaging and docs ----------------------------------------------------------------------


def test_wheel_holds_the_library_only(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"hybriddp"}


def test_every_dependency_is_pinned_and_no_address_is_named():
    pins = (ROOT / "constraints.txt").read_text()
    assert "//" not in pins
    assert "@" not in pins
    pinned = {line.split("==")[0] for line in pins.splitlines() if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert {re.split(r"[<>=]", item)[0] for item in wanted} <= pinned


def test_caps_that_no_package_declares_are_kept():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for cap in ("prefect>=3.8.8,<3.9", "fastapi>=0.139,<0.151", "sqlalchemy>=2.0,<2.1"):
        assert cap in project["dependencies"]


def test_every_erratum_names_tests_that_exist():
    text = (ROOT / "docs" / "errata.md").read_text()
    items = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    numbers = {re.match(r"\d+", item).group() for item in items}
    assert numbers == {"1", "2", "3", "4", "5", "6", "7", "8"}
    for item in items:
        shown_by = re.findall(r"`(tests/\S+)::(\w+)`", item)
        assert shown_by or item.startswith("5. "), item.splitlines()[0]
        for path, test in shown_by:
            assert f"def {test}(" in (ROOT / path).read_text(), (path, test)


def test_readme_names_make_targets_and_commands_that_exist():
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:`|^)make (\w+)", readme, flags=re.MULTILINE))
    assert {"setup", "release", "test", "check", "bench", "serve"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    from flows.cli import app

    for command in app.registered_commands:
        assert f"hybriddp {command.name or command.callback.__name__}" in readme


def test_readmes_python_example_runs():
    (example,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL
    )
    assert run_python(example).startswith("[1 2 3 4 5] [0.")


def test_readme_shows_what_make_release_prints():
    """The shown release is a real one: same seed, same rows."""
    from tasks.in_memory import release_in_memory

    release = release_in_memory("aol-like", None, 0.05, BlenderParams(4, "1e-5"), seed=1)
    readme = (ROOT / "README.md").read_text()
    for row in release.rows[:5]:
        assert re.search(
            rf"{re.escape(row.query)} +{re.escape(row.url)} +{row.probability:.5f}", readme
        )
