"""What runs on a person's device, with Python's standard library only.

Names are loaded on first use: the rules that curator and devices share are in this room, too.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybriddp.device.reporting import DEFAULT_CAP as DEFAULT_CAP
    from hybriddp.device.reporting import AccountCorrupt as AccountCorrupt
    from hybriddp.device.reporting import BudgetExceeded as BudgetExceeded
    from hybriddp.device.reporting import Device as Device
    from hybriddp.device.reporting import NotItsWeek as NotItsWeek
    from hybriddp.device.reporting import ReportRefused as ReportRefused
    from hybriddp.device.reporting import SeasonNotOver as SeasonNotOver

__all__ = [
    "DEFAULT_CAP", "AccountCorrupt", "BudgetExceeded", "Device", "NotItsWeek", "ReportRefused",
    "SeasonNotOver",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hybriddp.device' has no attribute {name!r}")
    return getattr(import_module("hybriddp.device.reporting"), name)
