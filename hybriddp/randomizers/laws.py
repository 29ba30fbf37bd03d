"""Which law a client's report follows: one decision for devices and for simulated clients.

Standard library only.
"""

from collections.abc import Sequence

from hybriddp.params import ONE_STAGE, TWO_STAGE, TWO_STAGE_EXACT, BlenderParams, Budget
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.subset import SubsetResponse

# A report in one stage is a set of cells; whoever reads it knows how likely the truth, a lie and
# two of them are in it, and nothing else of the law.
OneStageResponse = SubsetResponse
ClientResponse = TwoStageResponse | OneStageResponse


def client_response(params: BlenderParams, list_sizes: Sequence[int]) -> ClientResponse:
    """Return the law of one report; `list_sizes[q]` counts the urls of query q with its wildcard.

    The last query is the wildcard, of size 1.
    """
    if params.client_report == ONE_STAGE:
        return OneStageResponse.for_budget(params.budget, sum(list_sizes))
    if params.client_report == TWO_STAGE_EXACT:
        return TwoStageResponse.for_exact_loss(
            params.budget, params.query_budget_fraction, list_sizes
        )
    return TwoStageResponse.for_budgets(
        params.client_query_budget, params.client_url_budget, list_sizes
    )


def client_budget(params: BlenderParams) -> Budget:
    """Return what a client pays: only the paper's two stages use a delta."""
    budget = params.budget
    return budget if params.client_report == TWO_STAGE else Budget(budget.epsilon)
