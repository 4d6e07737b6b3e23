"""The bundled example: a small MCP server for times, units and dates.

`toolyard up` offers it as long as no other server is known, and it shows how
little an MCP server needs: standard library only, and nothing of ours.
"""
