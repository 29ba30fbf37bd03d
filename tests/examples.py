"""How many examples a test takes whose every example takes long: `make campaign` has more."""

import os

IS_CAMPAIGN = os.environ.get("HYPOTHESIS_PROFILE") == "campaign"


def few(usual: int, *, in_a_campaign: int) -> int:
    """Return how many examples to try in this run."""
    return in_a_campaign if IS_CAMPAIGN else usual
