"""From a head list's measurements to its tables."""
