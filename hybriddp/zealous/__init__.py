"""ZEALOUS: histograms of the items that enough people share."""
