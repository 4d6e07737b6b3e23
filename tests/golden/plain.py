"""Answers without what differs from run to run, and as text that can be read in a difference.

Every value keeps its type, so that a recorded answer is still an answer: a number that differs
becomes 1, a time another time, a path one below `{home}`. What is zero or null stays so.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolyard import __version__

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 100

NUMBERS = frozenset(
    "answered expires_at memory memory_bytes pid port revision seals since size".split()
)
"""The fields whose numbers are of one run, unless they are zero."""
DURATIONS = frozenset(
    "all_p50_ms all_p95_ms first_answer_ms milliseconds ms p50_ms p95_ms person_at_ms person_ms"
    " seconds start_ms uptime_s".split()
)
"""The fields that say how long something took, which may round to zero."""

TEXTS: tuple[tuple[str, str], ...] = (
    # Times, as we write them, as a journal numbers changes by them, and as HTTP does.
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "2000-01-01T00:00:00Z"),
    (r"\b\d{8}-\d{9}-[0-9a-f]{4}\b", "20000101-000000000-0000"),
    # Ports and processes of this machine.
    (r"(?<![\d.])(127\.0\.0\.1|localhost|host\.docker\.internal)(:|%3A)\d+", r"\1\g<2>1"),
    (r"\b(pid|uid|revision is) \d+", r"\1 1"),
    # Secrets, hashes and ids that are drawn by lot.
    (r"\bty_[\w-]{20,}", "ty_0"),
    (r"\b[0-9a-f]{64}\b", "0" * 64),
    (r"(/packages/[^/]+)/[0-9a-f]{8}\b", r"\1/00000000"),
    (r"\b[0-9a-f]{16,63}\b", "0" * 16),
    (r"\b(code|client_id|state|code_challenge|redirect_uri)=[^&\s\"]+", r"\1=0"),
    # Install links of the hub, which hold a path of this machine, encoded.
    (r"(vscode:mcp/install\?)\S+", r"\1{entry}"),
    (r"(mcp/install\?name=toolyard&config=)\S+", r"\1{entry}"),
    # Our version, and how long calls took, among the numbers for Prometheus.
    (rf"\b(Toolyard |version=\"){re.escape(__version__)}\b", r"\g<1>0.0.0"),
    (r"^(toolyard_call_duration_seconds_(?:bucket|sum)\{[^}]*\}) [\d.e+-]+$", r"\1 1"),
)
"""Patterns of texts that are of one run, and what stands for them."""


def plain(value: Any, home: Path, *, numbers: bool = True) -> Any:
    """A value of one run as it is of every run, the keys of its objects in order."""
    return _Plain(home, numbers).of(value)


class _Plain:
    def __init__(self, home: Path, numbers: bool) -> None:
        self._numbers = numbers
        places = {
            str(home): "{home}",
            sys.executable: "{python}",
            os.path.dirname(sys.executable): "{bin}",
            str(ROOT): "{root}",
        }
        self._places = sorted(places.items(), key=lambda place: -len(place[0]))

    def of(self, value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {self._text(name): self.of(value[name], name) for name in sorted(value)}
        if isinstance(value, list | tuple):
            return [self.of(item, key) for item in value]
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bool) or value is None or not self._numbers:
            return value
        return type(value)(1) if key in DURATIONS or (key in NUMBERS and value) else value

    def _text(self, text: str) -> str:
        if text == __version__:
            return "0.0.0"
        for place, name in self._places:
            text = text.replace(place, name)
        for pattern, instead in TEXTS:
            text = re.sub(pattern, instead, text)
        return text


def written(value: Any, indent: int = 0) -> str:
    """JSON in which all that fits on a line stands on one."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = indent + 1
    if isinstance(value, dict):
        names = {name: json.dumps(name, ensure_ascii=False) for name in value}
        rows = [f"{names[name]}: {written(value[name], inner)}" for name in value]
    elif all(isinstance(item, int | float) for item in value):
        rows = textwrap.wrap(line[1:-1], WIDTH - inner)
        return _block("[]", " ", rows, indent)
    else:
        rows = [written(item, inner) for item in value]
    return _block("{}" if isinstance(value, dict) else "[]", ", ", rows, indent)


def _block(ends: str, comma: str, rows: list[str], indent: int) -> str:
    pad = " " * indent
    inner = f"{comma.rstrip()}\n {pad}".join(rows)
    return f"{ends[0]}\n {pad}{inner}\n{pad}{ends[1]}"
