"""Hybrid means: a number of every person, averaged over both groups."""
