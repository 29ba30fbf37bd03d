"""A head list's draws, what devices are sent, and what they send."""
