"""A year of weekly lists on synthetic people: what remembering gives, while searches change."""
