"""Synthetic logs, and releases in memory; no release imports anything from here."""
