"""The control door: REST over the hub, for the command line, programs and the page."""
