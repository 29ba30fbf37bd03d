"""The public zone: the shelf, what stands on it, takedowns, and what a person signs off."""
