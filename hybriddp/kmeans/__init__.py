"""Hybrid k-means: the clusters that people's points form, from both groups."""
