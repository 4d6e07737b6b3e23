"""MCP on the wire: envelopes with raw bodies, framing, both eras. Knows no hub."""
