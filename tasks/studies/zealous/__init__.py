"""Studies of histograms: the tables and figures of ZEAL, its attacks, and BLENDER beside it."""
