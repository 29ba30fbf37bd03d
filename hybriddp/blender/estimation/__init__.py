"""From the groups' noisy counts to a distribution over the list: free, and deterministic."""
