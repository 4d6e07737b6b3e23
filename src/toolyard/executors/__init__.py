"""Places where servers run: start, reach, stop; none knows another."""
