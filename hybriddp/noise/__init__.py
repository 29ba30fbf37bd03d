"""Exact samplers: integer noise, and the random words that it is made of."""
