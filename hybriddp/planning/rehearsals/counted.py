"""A release rehearsed on a prior, from counts instead of people: what the planner repeats.

Everything after the draws is the library's own code, so a better estimator is a better
prediction at once. Only how counts come about is modelled here: people hold records of the prior
independently, and all groups' counts together are the truth that the release is measured with.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.estimation.pipeline import estimate, strategy_of
from hybriddp.blender.headlist import HeadList, RecordCounts
from hybriddp.blender.mechanisms import finding_mechanism, measured_vector, measuring_mechanism
from hybriddp.blender.simulate import Level, levels_of
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import PAPER
from hybriddp.planning.prior import Prior
from hybriddp.planning.rehearsals.client_counts import draw_report_counts
from hybriddp.planning.rehearsals.held import Found, Held, chances_and_cdfs, multinomial
from hybriddp.planning.setting import Setting
from hybriddp.randomizers.laws import client_response

# Users beyond the threshold that a record of the far tail is assumed never to have.
_TAIL_REACH = 20


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsed release and what it would be compared with."""

    head_list: HeadList
    records: Level
    queries: Level
    truth: RecordCounts
    covered: float  # probability that a search's query and url are both listed


class Stage:
    """A prior and a setting, ready to be rehearsed as often as one likes."""

    def __init__(self, prior: Prior, setting: Setting) -> None:
        self.prior, self.setting, self.params = prior, setting, setting.params
        self.mechanism = finding_mechanism(self.params)
        self._named_chance, self._named_units = self.far_tail()

    def rehearse(self, *, rng: np.random.Generator) -> Rehearsal:
        """Draw one release.

        Privacy claim: none; the data comes from a public prior.
        """
        setting = self.setting
        found = self.find(rng=rng)
        query_ids, url_ids, law = found.query_ids, found.url_ids, found.law
        measured = self._hold(setting.n_measurers, law, rng)
        clients = multinomial(setting.n_clients, law, rng=rng)
        waiting = multinomial(setting.n_users - setting.n_serving, law, rng=rng)
        truth = found.holders + measured.firsts + clients + waiting
        draws = self._draw(found, measured, clients, rng)
        estimates = estimate(self.params, draws)
        head_list = estimates.head_list
        records, queries = levels_of(self.params, draws, estimates)
        cells = head_list.cells_of(query_ids, url_ids)
        mass = np.bincount(cells, law, head_list.n_cells)
        occurring = truth > 0
        return Rehearsal(
            head_list,
            records,
            queries,
            RecordCounts(query_ids[occurring], url_ids[occurring], truth[occurring]),
            float(mass[head_list.record_cells].sum()),
        )

    def _draw(self, found: Found, held: Held, clients: IntArray, rng: np.random.Generator) -> Draws:
        """Measure and report on what was found, as a release does."""
        setting, params = self.setting, self.params
        noisy = None if params.strategy == PAPER else found.noisy
        draws = Draws(found.candidates, noisy, setting.n_finders, None, setting.n_measurers, None)
        draws = replace(draws, measured=self.measure(draws, found, held, rng=rng))
        head_list = strategy_of(params).choose(params, draws)
        response = client_response(params, head_list.list_sizes.tolist())
        holders = found.on_cells(head_list, clients, setting.n_clients)
        return replace(draws, reports=draw_report_counts(response, holders, rng=rng))

    def measure(
        self, draws: Draws, found: Found, held: Held, *, rng: np.random.Generator
    ) -> IntArray | None:
        """Draw what T counts, if anybody is in it.

        Privacy claim: none; the data comes from a public prior.
        """
        is_paper = self.params.strategy == PAPER
        if not (is_paper or self.setting.n_measurers):
            return None
        strategy = strategy_of(self.params)
        head_list = draws.candidates if is_paper else strategy.choose(self.params, draws)
        return _measured(self.setting, head_list, found, held, rng)

    def count_found(self, *, rng: np.random.Generator) -> int:
        """Draw only how many queries S would find, at most M.

        Privacy claim: none; the data comes from a public prior.
        """
        found = self.find(rng=rng)
        return min(len(np.unique(found.query_ids[found.named])), self.params.max_head_size)

    def find(self, *, rng: np.random.Generator) -> Found:
        """Draw what S finds.

        Privacy claim: none; the data comes from a public prior.
        """
        prior = self.prior
        held = self._hold(self.setting.n_finders, prior.probabilities, rng)
        occurs = np.flatnonzero((held.units > 0) & prior.is_nameable)
        drawn = self.mechanism.simulate(held.units[occurs], rng=rng)
        tail_group, tail_units, tail_noisy = self.name_tail(rng=rng)
        # From here on the named records of the tail stand one by one, too.
        n_known, n_tail = len(prior.query_ids), len(tail_group)
        return Found(
            np.append(prior.query_ids, prior.n_queries + np.arange(n_tail)),
            np.append(prior.url_ids, np.zeros(n_tail, dtype=np.int64)),
            np.append(prior.probabilities, prior.group_probabilities[tail_group]),
            np.append(held.firsts, -(-tail_units // self.params.max_records_optin)),
            np.append(occurs[drawn.is_named], n_known + np.arange(n_tail)),
            np.append(drawn.noisy_counts, tail_noisy),
        )

    def _hold(self, n: int, law: FloatArray, rng: np.random.Generator) -> Held:
        """Draw the records of n users: all m alike, or m independent ones."""
        m = self.params.max_records_optin
        n_alike = rng.binomial(n, 1 / self.setting.distinct_clicks) if m > 1 else n
        alike = multinomial(n_alike, law, rng=rng)
        if n_alike == n:
            return Held(m * alike, alike, alike)
        first = multinomial(n - n_alike, law, rng=rng)
        others = multinomial((n - n_alike) * (m - 1), law, rng=rng)
        return Held(m * alike + first + others, alike + first, alike)

    def far_tail(self) -> tuple[FloatArray, FloatArray]:
        """Return each group's chance that a record is named, and the cdf of its units then.

        Privacy claim: none; the data comes from a public prior.
        """
        m, n, same = (
            self.params.max_records_optin,
            self.setting.n_finders,
            1 / self.setting.distinct_clicks,
        )
        p = self.prior.group_probabilities[:, None]
        units = np.arange(self.mechanism.threshold + _TAIL_REACH * m)
        alike = np.where(units % m == 0, stats.poisson.pmf(units // m, n * same * p), 0.0)
        single = stats.poisson.pmf(units, n * m * (1 - same) * p) if m > 1 else (units == 0) * 1.0
        single = np.broadcast_to(single, alike.shape)
        law = np.array(
            [np.convolve(a, b)[: len(units)] for a, b in zip(alike, single, strict=True)]
        )
        law = law.reshape(len(p), len(units))
        return chances_and_cdfs(law * self.mechanism.release_probability(units))

    def name_tail(self, *, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
        """Draw the tail's named records: their groups, units and noisy units.

        Privacy claim: none; the data comes from a public prior.
        """
        n_named = rng.binomial(self.prior.group_sizes, np.minimum(self._named_chance, 1))
        group = np.repeat(np.arange(len(n_named)), n_named)
        units = (self._named_units[group] < rng.random(len(group))[:, None]).sum(axis=1)
        noisy = self.above(units, rng=rng)
        return group, units.astype(np.int64), noisy.astype(np.int64)

    def above(self, units: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Draw what is noisy of these units, given that it exceeds the threshold.

        Privacy claim: none; the data comes from a public prior.
        """
        noise, threshold = self.mechanism.noise, self.mechanism.threshold
        assert isinstance(noise, DiscreteLaplace)
        # Beyond 0 the noise is geometric, so what exceeds the threshold is geometric, too.
        noisy = threshold + rng.geometric(1 - noise.decay, len(units))
        high = np.flatnonzero(units > threshold)
        while high.size:
            noisy[high] = noise.simulate(units[high], rng=rng)
            high = high[noisy[high] <= threshold]
        return noisy


def _measured(
    setting: Setting,
    head_list: HeadList,
    found: Found,
    held: Held,
    rng: np.random.Generator,
) -> IntArray:
    """Draw what T counts on a list, with its noise."""
    params, n, m = setting.params, setting.n_measurers, setting.params.max_records_optin
    if params.strategy == PAPER:
        on_records = found.on_cells(head_list, held.units, n)[head_list.record_cells]
        counts = np.append(on_records, n - on_records.sum())
    else:
        units = found.on_cells(head_list, held.units, m * n)
        cells = head_list.cells_of(found.query_ids, found.url_ids)
        listed = np.isin(cells, head_list.record_cells)
        singles = (held.firsts - held.alike)[listed]
        again = rng.binomial(singles * (m - 1), np.minimum(found.law[listed], 1))
        repeats = int(m * held.alike[listed].sum() + singles.sum() + again.sum())
        counts = measured_vector(params, units, repeats)
    return measuring_mechanism(params).simulate(counts, rng=rng)
