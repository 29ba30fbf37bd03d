"""What everybody who opted in says with Gaussian noise: weights, and then shares."""

import numpy as np

from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.evidence.combining import Evidence
from hybriddp.blender.evidence.posterior import tail_exponent
from hybriddp.blender.evidence.sources import CentralCounts, Source
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import weighted_mechanism
from hybriddp.blender.weighted.ratios import ratio_of
from hybriddp.blender.weighted.records import Given, records_of, spread_of
from hybriddp.params import BlenderParams


def weighted_evidence(
    params: BlenderParams, head_list: HeadList, draws: Draws, clients: Source
) -> Evidence:
    """Put the draws of a release together; everything that was named was measured.

    Privacy claim: none; post-processing of a WeightedListDraw and of reports.
    """
    assert draws.noisy_counts is not None
    assert draws.measured is not None
    event, named, n_people = weighted_mechanism(params).event, draws.candidates, draws.n_finders
    sums = draws.measured[:-1]
    shares = sums[named.record_cells]
    given = Given.of(event, draws.noisy_counts, shares)
    ratio = ratio_of(given)
    spread = spread_of(event.share_scale, int(draws.measured[-1]), int(shares.sum()))
    of_records = records_of(given, ratio, spread, n_people)
    is_kept = np.isin(named.query_ids, head_list.query_ids)
    records = np.flatnonzero(is_kept[named.query_of_record])
    listed = sums[np.repeat(is_kept, named.list_sizes[:-1])]
    # Everybody's shares sum up to one, so what is on no listed cell is known, too.
    units = np.append(listed, n_people * event.share_units - listed.sum())
    noise = np.full(head_list.n_cells, (event.share_scale / event.share_units) ** 2)
    noise[-1] *= max(len(listed), 1)
    of_cells = CentralCounts(units / (event.share_units * n_people), n_people, noise, spread)
    return Evidence(
        head_list,
        [of_records.at(records)],
        [of_cells],
        clients,
        tail_exponent(draws.noisy_counts, event.threshold + 0.5),
        n_people,
        event.threshold / (event.weight_units * ratio.of_lightest * n_people),
    )
