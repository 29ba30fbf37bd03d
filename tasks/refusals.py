"""Why a release does not go on: each kind of refusal has its own exit code.

HybridDPError
├── BadInput        2  a file cannot be used                       (tasks.log_files)
├── BudgetRefused   3  somebody would pay twice or beyond the cap
└── GateRefused     4  a quality gate said no                      (tasks.quality)
"""

from pydantic import ValidationError

from hybriddp.errors import HybridDPError


class BudgetRefused(HybridDPError):
    """The ledger does not allow this release."""


def fields_at_fault(error: ValidationError) -> str:
    """Say which settings break which rule, in one sentence."""
    faults = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'request'}: {fault['msg'].rstrip('.')}"
        for fault in error.errors(include_url=False)
    ]
    return "; ".join(faults) + "."
