"""Synthetic searches: words, queries, sessions, logs."""
