"""What a command that only reads spares itself: imports that take longer than all that it does.

Only in a process that ends with the command, so that nothing behind it can miss what was spared.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

is_own_process = False


class _NoPandas:
    """Finds pandas, and does not import it.

    pyarrow imports it, if it can, to ask whether a list is one of pandas' own.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "pandas" else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        raise ImportError("this command does not need pandas")


class _CompiledFunctions:
    """Finds scipy.special, and imports the compiled functions of it alone.

    They are the very functions that scipy.special shows. The rest of the package wraps them for
    other array libraries, for which it imports every part of numpy, its Fortran compiler's, too.
    Whoever asks for a name that is not compiled gets the whole package after all.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        whole = PathFinder.find_spec(name, path) if name == "scipy.special" else None
        if whole is None or whole.loader is None:
            return None
        found = ModuleSpec(name, self, origin=whole.origin, loader_state=whole)  # type: ignore[arg-type]
        found.submodule_search_locations = whole.submodule_search_locations
        return found

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        whole: ModuleSpec = module.__spec__.loader_state  # type: ignore[union-attr]

        def complete(name: str) -> Any:
            del vars(module)["__getattr__"]
            whole.loader.exec_module(module)  # type: ignore[union-attr]
            return getattr(module, name)

        vars(module)["__getattr__"] = complete
        try:
            compiled = import_module("scipy.special._ufuncs")
        except ImportError:  # another scipy keeps them elsewhere
            complete("__all__")
        else:
            vars(module).update({name: getattr(compiled, name) for name in compiled.__all__})


def spare_pandas() -> None:
    """Spare a command the import of pandas, which takes as long as all the rest."""
    if is_own_process:
        sys.meta_path.insert(0, _NoPandas())


def spare_wrappers() -> None:
    """Spare a command that checks numbers all of scipy.special but its functions."""
    if is_own_process:
        sys.meta_path.insert(0, _CompiledFunctions())
