"""What published histograms are good for: caching, phrases, substitution."""
