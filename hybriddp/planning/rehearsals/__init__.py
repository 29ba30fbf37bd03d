"""Releases rehearsed on a public prior, from counts instead of people."""
