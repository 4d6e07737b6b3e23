"""`python -m toolyard.example`: speak MCP over stdin and stdout until stdin closes."""

from __future__ import annotations

import os
import sys

from toolyard.example.protocol import answer_line


def main() -> None:
    """Answer line by line; a client that goes away is a normal end."""
    try:
        for line in sys.stdin.buffer:
            if answer := answer_line(line):
                sys.stdout.buffer.write(answer + b"\n")
                sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Python flushes stdout once more on its way out, and would complain aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
