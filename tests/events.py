"""Every type of event that the library declares."""

import importlib

from hybriddp.accounting.event import _KNOWN
from tests.repository import modules_of

for _module in modules_of("hybriddp"):
    if _module.endswith(".events"):
        importlib.import_module(_module)
EVENT_TYPES = tuple(_KNOWN.values())
