"""Studies of hybrid means and clusters, in the order of MEAN20's sections."""
