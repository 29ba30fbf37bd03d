"""What a study shows: tables, plots, a page."""
