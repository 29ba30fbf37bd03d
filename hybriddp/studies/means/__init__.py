"""Studies of hybrid means and clusters: the figures of MEAN20."""
