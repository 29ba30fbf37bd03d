"""Products: what each publishes, and what all of them share."""
