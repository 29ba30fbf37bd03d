"""Weeks of a season, through the product's own steps."""
