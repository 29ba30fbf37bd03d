"""A log's files, from bytes on disk to typed rows of people. Everything here is private."""
