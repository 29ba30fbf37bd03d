"""A list that is released every week and remembers: one budget for a season of weeks."""
