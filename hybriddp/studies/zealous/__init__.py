"""Studies of histograms: the tables and figures of ZEAL."""
