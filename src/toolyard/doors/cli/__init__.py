"""The command line: how commands are found, listed, helped with and ended."""
