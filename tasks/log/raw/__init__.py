"""A log's files as bytes and lines, before anything takes them for rows of people."""
