"""Where things lie: the zones of a home, keys, measurements, and careful reading."""
