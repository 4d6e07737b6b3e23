"""The command `toolyard`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; the stdio entry goes by itself, because it must be quick."""
    words = sys.argv[1:]
    if words[:1] == ["mcp"]:
        from toolyard.doors.stdio import attach
        from toolyard.launching import serve_remote, serve_stdio

        options = attach.parse(words[1:])
        if options is not None:
            return attach.run(options, serve_stdio, serve_remote)
    from toolyard.command_line import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
