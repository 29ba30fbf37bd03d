"""What the code itself must keep, in every room: each guard names whatever breaks it.

They read sources below a root, so that a test can plant what each must catch in a room of its own.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.repository import (
    ROOT,
    import_graph,
    imported_roots,
    imports_of,
    modules_of,
    reached_from,
)

PRODUCT_LIBRARIES = {"prefect", "polars", "duckdb", "pydantic", "great_expectations"}
# What algorithms need; neither files nor servers are among it.
ALGORITHMS_NEED = {
    "hybriddp", "numpy", "scipy", "opendp", "dp_accounting", *sys.stdlib_module_names,
}  # fmt: skip
# What single modules take if it is there, and do without if not.
MAY_TAKE = {"hybriddp.reader.signature": {"cryptography"}}
# Studies, generators and attacks: rooms that no release may import.
NO_RELEASE = ("hybriddp.studies", "tasks.studies", "tasks.synthetic", "flows.study", "flows.cli")
# Where generators are made, for synthetic people; a draw must not reach one.
GENERATORS = {
    "hybriddp.planning.populations": {
        "np.random.PCG64",
        "np.random.PCG64()",
        "np.random.Generator()",
    }
}
# The modules with draws: nothing that they import knows a generator but as a type.
DRAWING = {
    "hybriddp.blender.clients", "hybriddp.blender.finding", "hybriddp.blender.optin",
    "hybriddp.blender.weighted.mechanism", "hybriddp.series.finding",
    "hybriddp.client", "hybriddp.kmeans.groups", "hybriddp.kmeans.mechanism",
    "hybriddp.mean.clients", "hybriddp.mean.trusted", "hybriddp.noise.exact_gaussian",
    "hybriddp.noise.exact_laplace", "hybriddp.noise.gaussian", "hybriddp.noise.laplace",
    "hybriddp.noise.words", "hybriddp.randomizers.numbers.bounded", "hybriddp.randomizers.laws",
    "hybriddp.randomizers.numbers.mixed", "hybriddp.randomizers.numbers.reports",
    "hybriddp.randomizers.one_stage", "hybriddp.randomizers.response",
    "hybriddp.randomizers.stages", "hybriddp.randomizers.subset",
    "hybriddp.randomizers.two_stage", "hybriddp.zealous.mechanism",
}  # fmt: skip


def foreign_imports_of_the_library(root: Path = ROOT) -> Iterator[str]:
    """Algorithms are pure: no product library, nothing of the layers above."""
    for name, path in modules_of("hybriddp", root).items():
        for foreign in sorted(imported_roots(path) - ALGORITHMS_NEED - MAY_TAKE.get(name, set())):
            yield f"{name} imports {foreign}"


def arithmetic_in_flows(root: Path = ROOT) -> Iterator[str]:
    """Flows list steps; whatever computes is below them."""
    for name, path in modules_of("flows", root).items():
        for library in sorted(imported_roots(path) & {"numpy", "scipy", "pyarrow"}):
            yield f"{name} imports {library}"


def layers_upside_down(root: Path = ROOT) -> Iterator[str]:
    """Tasks do not know flows."""
    for name, path in modules_of("tasks", root).items():
        if "flows" in imported_roots(path):
            yield f"{name} imports flows"


def printing_with_rich(root: Path = ROOT) -> Iterator[str]:
    """Elsewhere than in the terminal's module, a text from outside would be taken for markup."""
    for name, path in modules_of("flows", root).items():
        if name != "flows.console.terminal":
            for imported in sorted(imports_of(path) & {"rich", "rich.console", "rich.table"}):
                yield f"{name} imports {imported}"


def generators_elsewhere(root: Path = ROOT) -> Iterator[str]:
    """Everywhere but in one place `np.random.Generator` is only the type of an argument."""
    for name, path in modules_of("hybriddp", root).items():
        allowed = {"np.random.Generator"} | GENERATORS.get(name, set())
        for use in sorted(_uses_of_generators(path) - allowed):
            yield f"{name} uses {use}"


def draws_that_reach_a_generator(root: Path = ROOT) -> Iterator[str]:
    """Nothing that a draw imports makes generators, or simulates."""
    graph = import_graph("hybriddp", root=root)
    for name in sorted(DRAWING & set(graph)):
        for reached in sorted(reached_from(name, graph)):
            if reached in GENERATORS or reached == "hybriddp.blender.simulate":
                yield f"{name} reaches {reached}"


def releases_that_reach_a_study(root: Path = ROOT) -> Iterator[str]:
    """What releases, publishes or verifies does not know studies, generators and attacks."""
    graph = import_graph("hybriddp", "tasks", "flows", root=root)
    for name, imported in sorted(graph.items()):
        if name.startswith(NO_RELEASE) or name == "flows.__main__":
            continue
        for other in sorted(imported):
            if other.startswith(NO_RELEASE) and not other.startswith("flows"):
                yield f"{name} imports {other}"


def cycles(package: str, root: Path = ROOT) -> Iterator[str]:
    """No module of a package reaches itself through others."""
    graph = import_graph(package, root=root)
    for name in graph:
        for other in sorted(graph[name]):
            if name in reached_from(other, graph):
                yield f"{name} and {other} import each other"


def long_modules(package: str, most: int, root: Path = ROOT) -> Iterator[str]:
    """A module fits into a reader's head."""
    for name, path in modules_of(package, root).items():
        n_lines = len(path.read_text().splitlines())
        if n_lines > most:
            yield f"{name} has {n_lines} lines"


def crowded_rooms(
    package: str, most: int, root: Path = ROOT, modules: str = "*.py"
) -> Iterator[str]:
    """A room has few modules; what it says of itself, in `__init__`, is none."""
    rooms = {path.parent for path in modules_of(package, root).values()}
    for room in sorted(rooms):
        n_modules = len([path for path in room.glob(modules) if path.name != "__init__.py"])
        if n_modules > most:
            yield f"{room.relative_to(root)} has {n_modules} modules"


def _uses_of_generators(path: Path) -> set[str]:
    """Return what a module touches of `random` and `numpy.random`, type annotations included."""
    used = {name for name in imported_roots(path) if name == "random"}
    used |= {name for name in imports_of(path) if name.startswith("numpy.random")}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            words = ast.unparse(node)
            if words.startswith(("np.random.", "numpy.random.")):
                used.add(words)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("np.random"):
            used.add(f"{ast.unparse(node.func)}()")
    return used


# What several products share is in no product's room.
PRODUCT_ROOMS = {
    **{f"tasks.products.{name}": name for name in ("head_list", "histograms", "mean", "clusters")},
    "hybriddp.blender": "head_list", "hybriddp.zealous": "histograms",
    "hybriddp.mean": "mean", "hybriddp.kmeans": "clusters",
}  # fmt: skip


def products_that_know_each_other(root: Path = ROOT) -> Iterator[str]:
    """Importing a product does not import another's; the registry has them described."""
    graph = import_graph("hybriddp", "tasks", root=root)
    for name, imported in sorted(graph.items()):
        own = _product(name)
        for other in sorted(imported):
            theirs = _product(other)
            if own and theirs and own != theirs:
                yield f"{name} imports {other}"


def _product(module: str) -> str | None:
    for room, product in PRODUCT_ROOMS.items():
        if module == room or module.startswith(f"{room}."):
            return product
    return None
