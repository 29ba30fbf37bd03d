"""From noisy counts to published histograms."""
