"""Export of calls and orders as lines of JSON: once, or as they happen."""
