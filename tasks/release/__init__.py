"""One release: what was asked for, its steps, and how it ended."""
