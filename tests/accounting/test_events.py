"""Events survive the ledger exactly, and nothing unknown gets in or out."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.accounting.event import from_json, to_json
from hybriddp.blender.events import HeadListDraw
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.blender.weighted.mechanism import WeightedListMechanism
from hybriddp.errors import InvalidParameter, UnknownEvent
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.mean.clients import REPORT_KINDS, ClientMeanMechanism
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.params import Budget
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.two_stage import ClientMechanism
from hybriddp.series.design import SeasonDesign
from hybriddp.series.events import SeasonTests, SeasonWeek
from hybriddp.zealous.events import RELAXATIONS
from hybriddp.zealous.mechanism import ZealousMechanism
from tests.events import EVENT_TYPES

CLUSTERS = KMeansMechanism.for_budget(Budget("7/3"), n_clusters=4, n_iterations=5, n_dimensions=2)
WEEKS = SeasonDesign(n_weeks=8).season(Budget("4", "1/100000"))
EVENTS = [
    HeadListMechanism.for_budget(Budget("4", "1/100000")).event,
    HeadListMechanism.for_budget(Budget("1/3", "1/7000000")).event,
    HistogramMechanism.for_budget(Budget("4", "1/100000")).event,
    HistogramMechanism.for_budget(Budget("0.1", "1e-9")).event,
    HeadListMechanism.tight(Budget("4", "1/100000"), 5).event,
    HistogramMechanism.for_budget(Budget("4"), 15).event,
    WeightedListMechanism.for_budget(Budget("4", "1/100000"), 20).event,
    SeasonWeek(Budget("4", "1/100000"), WEEKS, 1),
    SeasonTests(Budget("4", "1/100000"), WEEKS),
    SubsetMechanism.for_cells(Budget("4"), 115).event,
    SubsetMechanism.for_cells(Budget("1/3"), 2).event,
    BoundedSumMechanism.for_budget(Budget("1/3"), 1 << 32).event,
    BoundedSumMechanism.gaussian(Budget("1/3", "1e-6"), 1 << 10).event,
    *(
        ClientMeanMechanism.for_budget(Budget("1.3", "1e-6"), kind, 1000).event
        for kind in REPORT_KINDS
    ),
    CLUSTERS.trusted_event,
    CLUSTERS.client_event,
    *(
        ZealousMechanism.for_budget(Budget("1/3", "1/1000"), relaxation, 5, 500_000).event
        for relaxation in RELAXATIONS
    ),
    *(
        ClientMechanism(
            Budget(4 * n, "1/100000"),
            TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), sizes),
            n,
        ).event
        for n, sizes in [(1, [3, 2, 7, 1]), (2, [2, 1]), (3, [2] * 40 + [1])]
    ),
]


def test_every_type_of_event_is_tested():
    assert {type(event) for event in EVENTS} == set(EVENT_TYPES)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_from_json_as_it_was(event):
    text = json.dumps(to_json(event))
    assert from_json(json.loads(text)) == event
    assert "." not in text.replace("0x1.", ""), "no number is rounded on its way into the ledger"


def test_events_of_the_first_version_are_still_read():
    head_list, histogram = EVENTS[0], EVENTS[2]
    old = to_json(head_list)
    del old["records_per_user"]
    assert from_json(old) == head_list
    old = to_json(histogram)
    del old["l1_sensitivity"]
    assert from_json(old) == histogram


@given(
    st.fractions(min_value="1/1000", max_value=20, max_denominator=10**6),
    st.fractions(min_value="1/1000000000", max_value="1/10", max_denominator=10**9),
)
def test_any_budget_comes_back_exactly(epsilon, delta):
    for mechanism in (HeadListMechanism, HistogramMechanism):
        event = mechanism.for_budget(Budget(epsilon, delta)).event
        assert from_json(json.loads(json.dumps(to_json(event)))) == event


@pytest.mark.parametrize("fields", [{"type": "Mystery"}, {}, {"type": None}, {"type": "Event"}])
def test_an_unknown_event_in_the_ledger_is_refused(fields):
    with pytest.raises(UnknownEvent, match="update hybriddp"):
        from_json({"epsilon": "1", "delta": "0"} | fields)
    with pytest.raises(UnknownEvent):
        from_json(fields)


class Cheaper(HeadListDraw):
    """An event whose checks somebody might have lifted."""


@pytest.mark.parametrize("event", [Cheaper(Budget(4, "1e-5"), 0.5, 30), Budget(4), None, "S"])
def test_an_unknown_event_is_never_written(event):
    with pytest.raises(UnknownEvent, match="declare how it"):
        to_json(event)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_that_was_made_cheaper_in_the_ledger_is_refused(event):
    fields = to_json(event) | {"epsilon": "1/1000"}
    with pytest.raises(InvalidParameter):
        from_json(fields)
    with pytest.raises(InvalidParameter):
        replace(event, budget=Budget("1/1000", "1e-12"))
