"""Events of the accounting as JSON, for the ledger's rows, and back."""

from collections.abc import Mapping
from typing import Any

from hybriddp.bounded_reports import BitReport, WindowReport
from hybriddp.errors import UnknownEvent
from hybriddp.event_rules import REPLACE_ONE_SENSITIVITY
from hybriddp.events import (
    EVENT_TYPES,
    ClientReport,
    Event,
    HeadListDraw,
    ItemHistogram,
    OptinHistogram,
    SubsetReport,
)
from hybriddp.gaussian import DiscreteGaussian
from hybriddp.kmeans_events import ClusterReport, ClusterSums
from hybriddp.mean_events import BoundedReport, BoundedSum, ReportLaw
from hybriddp.mean_reports import GaussianReport, LaplaceReport
from hybriddp.mixed_reports import MixedReport
from hybriddp.noise import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.response import RandomizedResponse
from hybriddp.subset import SubsetResponse

_NOISES = {noise.__name__: noise for noise in (DiscreteLaplace, DiscreteGaussian)}


def to_json(event: Event) -> dict[str, Any]:
    """Write an event with exact numbers: fractions as text, floats as hexadecimal."""
    if type(event) not in EVENT_TYPES:  # a ledger keeps for ever what nobody could price
        raise UnknownEvent(
            f"event must be one of {[t.__name__ for t in EVENT_TYPES]}, got "
            f"{type(event).__name__}; give it a form in tasks.events first."
        )
    fields: dict[str, Any] = {
        "type": type(event).__name__,
        "epsilon": str(event.budget.epsilon),
        "delta": str(event.budget.delta),
    }
    match event:
        case HeadListDraw():
            fields |= {
                "noise_scale": event.noise_scale.hex(),
                "threshold": event.threshold,
                "records_per_user": event.records_per_user,
            }
        case OptinHistogram():
            fields |= {
                "noise_scale": event.noise_scale.hex(),
                "l1_sensitivity": event.l1_sensitivity,
            }
        case ItemHistogram():
            fields |= {
                "relaxation": event.relaxation,
                "noise_scale": event.noise_scale.hex(),
                "first_threshold": event.first_threshold,
                "threshold": event.threshold,
                "items_per_user": event.items_per_user,
                "n_users": event.n_users,
            }
        case BoundedSum():
            fields |= {
                "noise": type(event.noise).__name__,
                "noise_scale": event.noise.scale.hex(),
                "largest": event.largest,
            }
        case BoundedReport():
            fields |= {"law": type(event.law).__name__, **_law(event.law)}
        case ClusterSums():
            fields |= _clusters(event)
        case ClusterReport():
            fields |= {**_clusters(event), "response": _response(event.response)}
        case SubsetReport():
            response = event.response
            fields |= {"response": [response.n_values, response.size, response.truth_words]}
        case ClientReport():
            fields |= {
                "query": _response(event.query),
                "urls": [_response(url) for url in event.urls],
                "n_reports": event.n_reports,
            }
    return fields


def from_json(fields: Mapping[str, Any]) -> Event:
    """Rebuild an event; it checks again that it keeps its budget."""
    match fields.get("type"):
        case "HeadListDraw":
            scale = float.fromhex(fields["noise_scale"])
            # Ledgers of the first version knew one record a user only.
            records = fields.get("records_per_user", 1)
            return HeadListDraw(_budget(fields), scale, fields["threshold"], records)
        case "OptinHistogram":
            scale = float.fromhex(fields["noise_scale"])
            moved = fields.get("l1_sensitivity", REPLACE_ONE_SENSITIVITY)
            return OptinHistogram(_budget(fields), scale, moved)
        case "ItemHistogram":
            return ItemHistogram(
                _budget(fields),
                fields["relaxation"],
                float.fromhex(fields["noise_scale"]),
                fields["first_threshold"],
                fields["threshold"],
                fields["items_per_user"],
                fields["n_users"],
            )
        case "BoundedSum":
            noise = _NOISES[fields["noise"]](float.fromhex(fields["noise_scale"]))
            return BoundedSum(_budget(fields), noise, fields["largest"])
        case "BoundedReport":
            return BoundedReport(_budget(fields), _law_from(fields))
        case "ClusterSums":
            return ClusterSums(_budget(fields), *_clusters_from(fields))
        case "ClusterReport":
            response = RandomizedResponse(*fields["response"])
            return ClusterReport(_budget(fields), *_clusters_from(fields), response)
        case "SubsetReport":
            return SubsetReport(_budget(fields), SubsetResponse(*fields["response"]))
        case "ClientReport":
            urls = tuple(RandomizedResponse(*url) for url in fields["urls"])
            query = RandomizedResponse(*fields["query"])
            return ClientReport(_budget(fields), query, urls, fields["n_reports"])
    raise UnknownEvent(
        "the ledger holds an event that this version does not know; update hybriddp."
    )


def _clusters(event: ClusterSums | ClusterReport) -> dict[str, Any]:
    return {
        "grid": event.grid,
        "n_dimensions": event.n_dimensions,
        "n_iterations": event.n_iterations,
        "noise_scale": event.noise_scale,
    }


def _clusters_from(fields: Mapping[str, Any]) -> tuple[int, int, int, int]:
    names = "grid", "n_dimensions", "n_iterations", "noise_scale"
    grid, n_dimensions, n_iterations, noise_scale = (fields[name] for name in names)
    return grid, n_dimensions, n_iterations, noise_scale


def _law(law: ReportLaw) -> dict[str, Any]:
    match law:
        case LaplaceReport() | GaussianReport():
            return {"grid": law.grid, "scale": law.scale.hex()}
        case BitReport():
            return {"grid": law.grid, "words": [law.low_words, law.step_words]}
        case WindowReport():
            return {"grid": law.grid, "words": [law.width, law.inside_words]}
        case MixedReport():
            bit, window = _law(law.bit), _law(law.window)
            return {
                "grid": law.grid,
                "words": [*bit["words"], *window["words"], law.window_words],
            }


def _law_from(fields: Mapping[str, Any]) -> ReportLaw:
    grid, words = fields["grid"], fields.get("words", [])
    match fields["law"]:
        case "LaplaceReport":
            return LaplaceReport(grid, float.fromhex(fields["scale"]))
        case "GaussianReport":
            return GaussianReport(grid, float.fromhex(fields["scale"]))
        case "BitReport":
            return BitReport(grid, *words)
        case "WindowReport":
            return WindowReport(grid, *words)
        case "MixedReport":
            bit, window = BitReport(grid, *words[:2]), WindowReport(grid, *words[2:4])
            return MixedReport(bit, window, words[4])
    raise UnknownEvent("the ledger holds a report that this version does not know; update it.")


def _budget(fields: Mapping[str, Any]) -> Budget:
    return Budget(fields["epsilon"], fields["delta"])


def _response(response: RandomizedResponse) -> list[int]:
    return [response.n_values, response.lie_words]
