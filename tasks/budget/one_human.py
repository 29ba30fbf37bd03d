"""One human has one budget: a home has devices that report, or charges people who did not opt in.

A device keeps its person's account, and is told when its person opts in. Nobody tells it of a
release that charges people who did not: clients simulated from the log, or everybody in it. With
both in one home, one human could pay up to the cap in the ledger and once more on their device.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Entry, live_reservations
from tasks.products.registry import product_of
from tasks.products.request import LogRequest
from tasks.release.refusals import BudgetRefused

# How a reservation names opt-in people whose devices can have been told.
_NAMED = ("roster", "column")


def require_one_budget(request: LogRequest, entries: list[Entry]) -> None:
    """Refuse a new reservation of one kind if one of the other kind stands in the ledger.

    What was reserved before is not judged: version 0.1.0 made homes with both, and what was paid
    there goes on to its end.
    """
    groups, parameters = tuple(request.prices()), request.measurement_parameters()
    others = _others_charged(groups, parameters)
    for entry in live_reservations(entries):
        reserved = entry.said(Reserved)
        there = reserved.parameters
        others_there = _others_charged(reserved.groups, there)
        if _has_devices(parameters) and others_there:
            conflict = f"has charged {others_there}, and this one would take reports of devices"
        elif others and _has_devices(there):
            conflict = f"takes reports of devices, and this one would charge {others}"
        else:
            continue
        raise BudgetRefused(
            f"release {entry.release_id} of this home (product {reserved.product}, epoch "
            f"{reserved.epoch}) {conflict}. One human would have two budgets that do not "
            "know each other: the ledger's, and that of their device. Name the opt-in people by a "
            "roster or a column, with no clients in the log; or keep the two kinds in different "
            "homes of different people. Nobody was charged."
        )


def _has_devices(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters.get("clients") == "reports")


def _others_charged(groups: Iterable[str], parameters: Mapping[str, Any]) -> str | None:
    """Say which people a release charges who did not opt in; None if there are none.

    With devices the ledger charges opt-in people only, and that these are everybody in the log is
    said by the operator (`tasks.products.head_list.run.identify`).
    """
    if _has_devices(parameters):
        return None
    product = product_of(parameters)
    if any(product.groups[group].is_client for group in groups):
        return "clients simulated from the log, who did not opt in"
    if parameters["optin"] not in _NAMED:
        return "everybody in the log, whoever opted in"
    return None
