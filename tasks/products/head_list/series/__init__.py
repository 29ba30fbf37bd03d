"""Head lists that remember: the weeks of a season, what they carry, and what they say together."""
