"""What clients' reports by subset selection say about the cells of a list."""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.evidence.sources import normal_log_likelihood
from hybriddp.errors import require
from hybriddp.randomizers.laws import OneStageResponse


@dataclass(frozen=True, slots=True)
class SubsetReports:
    """Reports by subset selection, turned back into probabilities."""

    values: FloatArray
    n_clients: int
    response: OneStageResponse

    @classmethod
    def of(
        cls, response: OneStageResponse, report_counts: IntArray, n_clients: int
    ) -> "SubsetReports":
        """Estimate probabilities from how many of the clients' reports hold each cell.

        p_hat = (f - q*)/(p* - q*); the estimates of all cells sum to 1, because every report
        holds equally many.

        Privacy claim: none; post-processing of client reports.
        """
        require(
            n_clients >= 1,
            "there must be at least 1 client report",
            n_clients,
            "collect reports first, or publish the opt-in estimates alone",
        )
        truth, lie = float(response.p_truth), float(response.p_lie)
        return cls((report_counts / n_clients - lie) / (truth - lie), n_clients, response)

    def variance_at(self, probabilities: FloatArray) -> FloatArray:
        """F(1-F)/(n (p* - q*)^2), where F = q* + p(p* - q*) is the chance to be reported.

        Where fewer than one report would lack a cell, it counts as if one did.

        Privacy claim: none; post-processing of client reports.
        """
        gap = float(self.response.p_truth) - float(self.response.p_lie)
        return self._spread(probabilities) / (self.n_clients * gap**2)

    def excess_kurtosis_at(self, probabilities: FloatArray) -> FloatArray:
        """1/(n F(1-F)) - 6/n: how far a sum of n reports on a cell is from normal.

        Privacy claim: none; post-processing of client reports.
        """
        return (1 / self._spread(probabilities) - 6) / self.n_clients

    def log_likelihood(self, grid: FloatArray, centres: FloatArray) -> FloatArray:
        """Normal: there are many reports.

        Privacy claim: none; post-processing of client reports.
        """
        return normal_log_likelihood(self, grid)

    def at(self, cells: IntArray) -> "SubsetReports":
        """Return the same for some cells.

        Privacy claim: none; post-processing of client reports.
        """
        return replace(self, values=self.values[cells])

    def shared_covariance(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how the errors of different cells go together.

        Two cells are both in a report with probability s1 if the client holds one of them, and
        s2 if not: Cov = (p_i + p_j) s1 + (1 - p_i - p_j) s2 - F_i F_j, over n (p* - q*)^2. With
        F = q* + p(p* - q*) that is bilinear in (1, p_i) and (1, p_j).

        Privacy claim: none; post-processing of client reports.
        """
        response = self.response
        directions = np.stack([np.ones_like(probabilities), probabilities], axis=1)
        if response.n_values == 1:
            return directions, np.zeros((2, 2))
        gap, lie = float(response.p_truth - response.p_lie), float(response.p_lie)
        s1, s2 = (float(response.p_pair(holds_one=one)) for one in (True, False))
        mixed = s1 - s2 - lie * gap
        mixing = np.array([[s2 - lie**2, mixed], [mixed, -(gap**2)]])
        return directions, mixing / (self.n_clients * gap**2)

    def covariance(self, probabilities: FloatArray) -> FloatArray:
        """Return the covariance matrix of the estimates of cells with these probabilities.

        Privacy claim: none; post-processing of client reports.
        """
        directions, mixing = self.shared_covariance(probabilities)
        matrix: FloatArray = directions @ mixing @ directions.T
        np.fill_diagonal(matrix, self.variance_at(probabilities))
        return matrix

    def _spread(self, probabilities: FloatArray) -> FloatArray:
        """Return F(1-F), and not less than what n reports can tell from none that lacks a cell.

        At an epsilon of 40 a double takes p* for 1: reports of what everybody holds would be sure.
        """
        truth, lie = float(self.response.p_truth), float(self.response.p_lie)
        reported = lie + probabilities * (truth - lie)
        return reported * np.maximum(1 - reported, 1 / self.n_clients)
