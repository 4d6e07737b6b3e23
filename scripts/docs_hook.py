"""A hook of MkDocs: links to files beside `docs/`, which are no pages, become their names."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:src|examples)/[^)#\s]+|[A-Z_]+\.md)[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Name the file where the repository has a link to it."""
    return OUTSIDE.sub(r"\1 (`\2` in the repository)", markdown)
