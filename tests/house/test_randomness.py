"""No numpy or `random` generator can reach a release."""

import inspect
import random

import numpy as np
import pytest

from hybriddp.blender.clients import client_mechanism
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import finding_mechanism, measuring_mechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.client import Client
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.kmeans.start import first_centres
from hybriddp.mean.clients import REPORT_KINDS, ClientMeanMechanism
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.params import CLIENT_REPORTS, BlenderParams
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.subset import SubsetResponse
from hybriddp.randomizers.two_stage import ClientMechanism
from hybriddp.zealous.mechanism import ZealousMechanism
from tests.guards import DRAWING, draws_that_reach_a_generator, generators_elsewhere
from tests.repository import documented_functions, modules_of


def test_generators_are_made_in_one_place_that_no_draw_reaches():
    assert list(generators_elsewhere()) == []
    assert set(modules_of("hybriddp")) >= DRAWING
    assert list(draws_that_reach_a_generator()) == []


def draw_everything() -> None:
    """The draws of a head list of either strategy, a device's, ZEALOUS's, of means and clusters."""
    params = BlenderParams(4, "1e-5")
    names = {"a": ["x", "y"], "b": ["z"]}
    head_list = HeadList.from_records(np.array([0, 0, 1]), np.array([0, 1, 0]))
    HeadListMechanism.for_budget(params.budget).draw(np.array([1, 50]))
    HistogramMechanism.for_budget(params.budget).draw(np.array([5, 0, 7]))
    ClientMechanism.for_head_list(head_list, params).draw(np.arange(head_list.n_cells))
    Client(names, params).report([("a", "x")])
    for client_report in CLIENT_REPORTS:
        ours = BlenderParams(1, "1e-5", strategy="high-utility", client_report=client_report)
        finding_mechanism(ours).draw(np.array([1, 5_000]))
        measuring_mechanism(ours).draw(np.array([5, 0, 7]))
        client_mechanism(head_list, ours).draw(np.arange(head_list.n_cells))
        Client(names, ours).report([("a", "x")])
    SubsetResponse.of_size(params.budget, 9, 4).draw(3)
    ZealousMechanism.for_budget(params.budget, "probabilistic", 2, 99).draw(np.array([1, 5_000]))
    values, keys = np.arange(99), np.zeros(99, np.int64)
    BoundedSumMechanism.for_budget(params.budget, 100).draw(values, keys, 1)
    BoundedSumMechanism.gaussian(params.budget, 100).draw(values, keys, 1)
    for kind in REPORT_KINDS:
        ClientMeanMechanism.for_budget(params.budget, kind, 100).draw(values, keys, 1)
    clusters = KMeansMechanism.for_budget(
        params.budget, n_clusters=2, n_iterations=2, n_dimensions=1, grid=100
    )
    clusters.draw(values[:, None], values[:, None], first_centres(2, 1, 100))


@pytest.fixture
def poisoned_generators(monkeypatch):
    """Make every use of numpy's or Python's non-cryptographic generators an error."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a non-cryptographic generator was reached")

    for module in (np.random, random):
        for name in dir(module):
            if (
                callable(getattr(module, name))
                and not name.startswith("_")
                and name != "SystemRandom"
            ):
                if inspect.isclass(getattr(module, name)) and module is random:
                    continue
                monkeypatch.setattr(module, name, refuse)
    for name in ("random", "getrandbits", "seed", "randbytes"):
        monkeypatch.setattr(random.Random, name, refuse)
    monkeypatch.setattr(np.random.mtrand, "_rand", None)


@pytest.mark.usefixtures("poisoned_generators")
def test_no_numpy_or_random_generator_reaches_a_release():
    draw_everything()
    with pytest.raises(AssertionError, match="non-cryptographic"):
        np.random.default_rng()  # the poison works
    with pytest.raises(AssertionError, match="non-cryptographic"):
        random.random()
    with pytest.raises(AssertionError, match="non-cryptographic"):
        random.Random(1)


def test_no_draw_accepts_a_generator():
    for owner in (
        HeadListMechanism, HistogramMechanism, ClientMechanism, SubsetMechanism, ZealousMechanism,
    ):  # fmt: skip
        assert "rng" not in inspect.signature(owner.draw).parameters
        rng = inspect.signature(owner.simulate).parameters["rng"]
        assert rng.kind is inspect.Parameter.KEYWORD_ONLY
        assert rng.default is inspect.Parameter.empty


def test_every_generator_argument_is_keyword_only_without_default():
    for name, function in documented_functions():
        parameter = inspect.signature(function).parameters.get("rng")
        if parameter is not None and not name.split(".")[-1].startswith("_"):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name
            assert parameter.default is inspect.Parameter.empty, name


def test_two_draws_differ():
    """No seed is hidden anywhere: 200 noisy zeros are equal with probability below 1e-20."""
    mechanism = HistogramMechanism.for_budget(BlenderParams().budget)
    first, second = (mechanism.draw(np.zeros(200, np.int64)).tolist() for _ in range(2))
    assert first != second
