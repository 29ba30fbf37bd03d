"""What each group says about the cells of a list, and what is known after all of it."""
