"""What the tests about the code itself share."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import hybriddp

ROOT = Path(__file__).parents[1]
LIBRARY = sorted((ROOT / "hybriddp").glob("*.py"))


def imported_roots(path: Path) -> set[str]:
    """Return the top-level packages that a module imports."""
    roots = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    return roots


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
