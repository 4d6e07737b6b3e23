"""The doors: MCP over HTTP and stdio, the control API, the page.

None of them knows a feature by name.
"""
