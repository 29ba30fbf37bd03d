"""Sums of old charges, sealed, so that nobody adds up ten years of participation files."""
