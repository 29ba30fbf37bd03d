"""What releases from a log of searches share."""
