"""What parameters call the kinds of release; every other strategy is one of a head list."""

ZEALOUS, MEAN, KMEANS = "zealous", "mean", "kmeans"
