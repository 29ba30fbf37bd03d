"""BLENDER: from the groups' noisy counts to the head of a search log."""
