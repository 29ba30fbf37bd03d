"""Which code of the library a study's run depends on: a run is stored under a hash of it."""

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


@functools.cache
def code_version(first_module: str) -> str:
    """Return a hash of every library module that a run can reach, but for words about it."""
    digest = hashlib.sha256()
    for name, tree in sorted(reachable(first_module).items()):
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_docstring(body[0]):
                body[0] = ast.Pass()
        digest.update(f"{name} {ast.dump(tree)}".encode())
    return digest.hexdigest()[:12]


def reachable(first_module: str, root: Path = ROOT) -> dict[str, ast.Module]:
    """Return this module of the library and all that it imports, at once or later, parsed."""
    reached: dict[str, ast.Module] = {}
    waiting = [first_module]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            file = _file_of(name, root)
            if file is None:
                raise LookupError(f"{name} is no module below {root}.")  # never left out in silence
            reached[name] = ast.parse(file.read_bytes())
            waiting += _imported(reached[name], root)
    return reached


def _imported(tree: ast.Module, root: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
            # What is no module is a name in one.
            found = [name for name in names if name == module or _file_of(name, root)]
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        else:
            continue
        for name in found:
            if name.split(".")[0] == "hybriddp":
                yield name


def _file_of(module: str, root: Path) -> Path | None:
    path = root.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
