"""What the tests about the code itself share: its modules in all rooms, and who imports whom."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import hybriddp
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]


def modules_of(package: str, root: Path = ROOT) -> dict[str, Path]:
    """Return every module below a package, however deep, by its name."""
    found = {_name_of(path, root): path for path in sorted((root / package).rglob("*.py"))}
    assert found, f"{package} has no module below {root}"
    return found


def imports_of(path: Path) -> set[str]:
    """Return what a module imports, at once or later: modules, and the names in them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively; name what is meant in full"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def imported_roots(path: Path) -> set[str]:
    """Return the top-level packages that a module imports."""
    return {name.split(".")[0] for name in imports_of(path)}


def import_graph(*packages: str, root: Path = ROOT) -> dict[str, set[str]]:
    """Return which of our modules each of them imports itself, at once or later."""
    files = {name: path for package in packages for name, path in modules_of(package, root).items()}
    graph = {}
    for name, path in files.items():
        found = imports_of(path) & set(files)
        # `from room import module` runs the room's own file, too, but needs nothing of it.
        graph[name] = found - {name} - {module.rpartition(".")[0] for module in found}
    return graph


def reached_from(first: str, graph: dict[str, set[str]]) -> set[str]:
    """Return all modules that one imports, itself or through others."""
    reached, waiting = set(), [first]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def documented_functions(package: ModuleType = hybriddp) -> Iterator[tuple[str, Callable]]:
    """Yield every function and method that a package defines, in all its rooms, by its name."""
    prefix = f"{package.__name__}."
    for info in pkgutil.walk_packages(package.__path__, prefix):
        module = importlib.import_module(info.name)
        room = info.name.removeprefix(prefix)
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(member):
                yield f"{room}.{name}", member
            elif inspect.isclass(member):
                for attribute, raw in vars(member).items():
                    function = getattr(raw, "__func__", raw)
                    if inspect.isfunction(function):
                        yield f"{room}.{name}.{attribute}", function


def _name_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
