"""The command `toolyard`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; the stdio entry goes by itself, because it must be quick."""
    words = sys.argv[1:]
    if words[:1] == ["mcp"]:
        from toolyard.cli import attach

        options = attach.parse(words[1:])
        if options is not None:
            return attach.run(options)
    from toolyard.cli.entry import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
