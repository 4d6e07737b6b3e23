"""Frozen values and pure functions from values to values: no I/O, no clock, no async."""
