"""The command line, with lazy imports."""
