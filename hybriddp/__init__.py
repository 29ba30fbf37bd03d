"""Publish the head of a search log under hybrid differential privacy.

Names are loaded on first use, so that `hybriddp.client`, which runs on devices with the
standard library only, does not pull numpy in.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybriddp.accounting import compose_basic as compose_basic
    from hybriddp.accounting import compose_parallel as compose_parallel
    from hybriddp.accounting import compose_pld as compose_pld
    from hybriddp.errors import HybridDPError as HybridDPError
    from hybriddp.errors import InvalidParameter as InvalidParameter
    from hybriddp.errors import UnknownEvent as UnknownEvent
    from hybriddp.params import BlenderParams as BlenderParams
    from hybriddp.params import Budget as Budget
    from hybriddp.simulation import SimulatedRelease as SimulatedRelease
    from hybriddp.simulation import simulate as simulate

_HOME = {
    "BlenderParams": "params",
    "Budget": "params",
    "HybridDPError": "errors",
    "InvalidParameter": "errors",
    "SimulatedRelease": "simulation",
    "UnknownEvent": "errors",
    "compose_basic": "accounting",
    "compose_parallel": "accounting",
    "compose_pld": "accounting",
    "simulate": "simulation",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hybriddp' has no attribute {name!r}")
    return getattr(import_module(f"hybriddp.{_HOME[name]}"), name)
