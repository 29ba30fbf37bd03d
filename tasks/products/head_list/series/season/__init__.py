"""A season: which week of it a release is, what it carries from week to week, and how it ends."""
