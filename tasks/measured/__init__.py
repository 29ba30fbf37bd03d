"""Measurements: drawn once, stored, read ever after, and what is computed from them."""
