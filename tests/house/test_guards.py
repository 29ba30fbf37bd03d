"""Every guard of the code sees every room: what each must catch is planted, and caught."""

import importlib
import sys

import pytest

from tests import guards
from tests.house.test_claims import touches_data
from tests.repository import ROOT, documented_functions, import_graph, modules_of

PLANTED = [
    ("foreign_imports_of_the_library", "hybriddp/room/deep/a.py", "def f():\n    import duckdb\n"),
    ("foreign_imports_of_the_library", "hybriddp/room/a.py", "from tasks.store import home\n"),
    ("foreign_imports_of_the_library", "hybriddp/room/signature.py", "import cryptography\n"),
    ("arithmetic_in_flows", "flows/room/a.py", "import numpy as np\n"),
    ("layers_upside_down", "tasks/room/deep/a.py", "from flows.cli import main\n"),
    ("printing_with_rich", "flows/room/a.py", "from rich.console import Console\n"),
    ("printing_with_rich", "flows/room/a.py", "from rich import print\n"),
    ("generators_elsewhere", "hybriddp/room/a.py", "import random\n"),
    ("generators_elsewhere", "hybriddp/room/a.py", "x = np.random.default_rng()\n"),
    ("generators_elsewhere", "hybriddp/room/deep/a.py", "from numpy.random import PCG64\n"),
    ("draws_that_reach_a_generator", "hybriddp/noise/words.py",
     "from hybriddp.planning import populations\n"),
    ("draws_that_reach_a_generator", "hybriddp/zealous/mechanism.py",
     "def f():\n    from hybriddp.blender.simulate import simulate\n"),
    ("releases_that_reach_a_study", "tasks/products/head_list/a.py",
     "from hybriddp.studies.attacks.games import play\n"),
    ("releases_that_reach_a_study", "hybriddp/blender/a.py", "import hybriddp.studies.a.b\n"),
    ("releases_that_reach_a_study", "flows/room/a.py", "from tasks.synthetic import generate\n"),
    ("products_that_know_each_other", "tasks/products/mean/a.py",
     "def f():\n    from tasks.products.head_list.deep.b import c\n"),
    ("products_that_know_each_other", "hybriddp/zealous/a.py",
     "import hybriddp.blender.simulate\n"),
]  # fmt: skip
# So that whatever a plant imports is there.
THERE = [
    "hybriddp/__init__.py", "hybriddp/planning/populations.py", "hybriddp/blender/simulate.py",
    "hybriddp/studies/attacks/games.py", "hybriddp/studies/a/b.py", "tasks/__init__.py",
    "tasks/synthetic/generate.py", "flows/__init__.py", "tasks/products/head_list/deep/b.py",
]  # fmt: skip


def write(root, path, text=""):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.mark.parametrize(("guard", "path", "text"), PLANTED)
def test_what_is_planted_in_a_room_is_caught(tmp_path, guard, path, text):
    for there in THERE:
        write(tmp_path, there)
    assert list(getattr(guards, guard)(tmp_path)) == []
    write(tmp_path, path, text)
    name = path.removesuffix(".py").replace("/", ".")
    found = list(getattr(guards, guard)(tmp_path))
    assert found
    assert all(name in offence for offence in found)


def test_size_and_shape_are_seen_in_rooms(tmp_path):
    write(tmp_path, "hybriddp/room/a.py", "def f():\n    from hybriddp.room.deep import b\n")
    write(tmp_path, "hybriddp/room/deep/b.py", "import hybriddp.room.a\n" + "\n" * 250)
    assert len(list(guards.cycles("hybriddp", tmp_path))) == 2
    assert list(guards.long_modules("hybriddp", 250, tmp_path)) == [
        "hybriddp.room.deep.b has 251 lines"
    ]
    assert list(guards.crowded_rooms("hybriddp", 0, tmp_path)) == [
        "hybriddp/room has 1 modules", "hybriddp/room/deep has 1 modules",
    ]  # fmt: skip


def test_functions_without_a_claim_are_seen_in_rooms(tmp_path, monkeypatch):
    write(tmp_path, "planted/__init__.py")
    write(tmp_path, "planted/room/__init__.py")
    write(tmp_path, "planted/room/deep/__init__.py")
    write(tmp_path, "planted/room/deep/a.py", "class M:\n    def draw(self, counts): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = dict(documented_functions(importlib.import_module("planted")))
    assert list(found) == ["room.deep.a.M.draw"]
    assert touches_data("room.deep.a.M.draw", found["room.deep.a.M.draw"])
    for name in [name for name in sys.modules if name.split(".")[0] == "planted"]:
        del sys.modules[name]


def test_every_folder_with_modules_is_a_room_that_is_walked():
    """A folder without its own file would be passed by in silence."""
    for package in ("hybriddp", "tasks", "flows"):
        rooms = {path.parent for path in modules_of(package).values()}
        assert {room for room in rooms if not (room / "__init__.py").is_file()} == set()
        assert len(import_graph(package)) == len(list((ROOT / package).rglob("*.py")))
