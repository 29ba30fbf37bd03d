"""Publish the head of a search log under hybrid differential privacy.

Names are loaded on first use, so that `hybriddp.client`, which runs on devices with the
standard library only, does not pull numpy in.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybriddp.accounting.accountants import compose_basic as compose_basic
    from hybriddp.accounting.accountants import compose_parallel as compose_parallel
    from hybriddp.accounting.accountants import compose_pld as compose_pld
    from hybriddp.blender.simulate import SimulatedRelease as SimulatedRelease
    from hybriddp.blender.simulate import simulate as simulate
    from hybriddp.errors import HybridDPError as HybridDPError
    from hybriddp.errors import InvalidParameter as InvalidParameter
    from hybriddp.errors import UnknownEvent as UnknownEvent
    from hybriddp.params import BlenderParams as BlenderParams
    from hybriddp.params import Budget as Budget

_HOME = {
    "BlenderParams": "params",
    "Budget": "params",
    "HybridDPError": "errors",
    "InvalidParameter": "errors",
    "SimulatedRelease": "blender.simulate",
    "UnknownEvent": "errors",
    "compose_basic": "accounting.accountants",
    "compose_parallel": "accounting.accountants",
    "compose_pld": "accounting.accountants",
    "simulate": "blender.simulate",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hybriddp' has no attribute {name!r}")
    return getattr(import_module(f"hybriddp.{_HOME[name]}"), name)
