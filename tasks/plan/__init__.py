"""Plan a head list before anything is spent; no other product has a plan."""
