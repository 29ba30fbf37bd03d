"""Combine what both groups estimate, each by its precision."""

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require
from hybriddp.estimate import Estimate


def blend(optin: Estimate, clients: Estimate) -> Estimate:
    """Return w p_O + (1-w) p_C with w = v_C/(v_O + v_C), which has the least variance.

    An infinite variance gives weight 0, a variance of 0 all the weight; two sources of equal
    standing (both know nothing, or both are certain) share evenly. JPC19 figure 7, theorem 3.7.

    Privacy claim: none; post-processing of estimates.
    """
    require(
        optin.values.shape == clients.values.shape,
        "both groups must estimate the same elements",
        f"shapes {optin.values.shape} and {clients.values.shape}",
        "bring the opt-in estimate to the client's cells first",
    )
    v_O, v_C = np.broadcast_arrays(optin.variances, clients.variances)
    require(
        bool(np.all(v_O >= 0) and np.all(v_C >= 0)),
        "variances must be at least 0",
        "a negative or undefined one",
        "a variance below 0 would weigh a source outside [0, 1]",
    )
    differs = (v_O != v_C) & ~(np.isinf(v_O) & np.isinf(v_C))
    # v_C/(v_O + v_C), written so that an infinity on either side comes out as 0 or 1.
    ratio = np.divide(v_O, v_C, out=np.full(v_O.shape, np.inf), where=differs & (v_C > 0))
    w = np.where(differs, 1 / (1 + ratio), 0.5)
    values = _weigh(w, optin.values) + _weigh(1 - w, clients.values)
    variances = _weigh(w**2, v_O) + _weigh((1 - w) ** 2, v_C)
    return Estimate(values, variances)


def _weigh(weight: FloatArray, values: FloatArray) -> FloatArray:
    # 0 * inf must be 0: a source without weight adds neither value nor variance.
    weighed = np.zeros(values.shape)
    np.multiply(weight, values, out=weighed, where=weight > 0)
    return weighed
