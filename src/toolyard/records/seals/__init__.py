"""Seals of logs: a chain of digests by which altered, removed and inserted rows are found."""
