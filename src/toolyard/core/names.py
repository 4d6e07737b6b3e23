"""The names that clients see: valid everywhere, unique, stable, and found in a table.

Clients accept `[A-Za-z0-9_-]`, 64 characters at most; one bad name can cost all
tools. So names are made to fit, once, and looked up ever after.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Final

from toolyard.core.errors import UnknownNameError

LONGEST: Final = 64
NAME_CHARS: Final = 1024
"""Characters of any name that a client or a server sends; nothing with a longer one is known."""
QUOTED: Final = 100
"""Characters of what a stranger sent that a message quotes."""
_HASH: Final = 8
_BAD: Final = re.compile(r"[^A-Za-z0-9_-]")
SEPARATORS: Final = ("__", ".", "/", "")
"""What may stand between alias and name; none at all suits a single server."""


def exposed_names(
    alias: str, names: Iterable[str], separator: str, taken: set[str], longest: int = LONGEST
) -> dict[str, str]:
    """Map each of a server's names to the name clients see; `taken` grows with them.

    A name that had to be changed, is too long or is taken gets a hash of what
    it stands for, so that it is the same in every run.
    """
    table: dict[str, str] = {}
    for name in names:
        plain = alias + separator + name if separator else name
        fitted = _fit(plain, separator, longest)
        if fitted in taken:
            fitted = _hashed(fitted, f"{alias}\0{name}", longest)
        while fitted in taken:
            fitted = _hashed(fitted, f"{alias}\0{name}\0{fitted}", longest)
        taken.add(fitted)
        table[name] = fitted
    return table


def _fit(plain: str, separator: str, longest: int) -> str:
    """A valid name; what had to be changed is told apart by a hash."""
    keep = separator if separator in (".", "/") else ""
    clean = "".join(c if c == keep or not _BAD.match(c) else "_" for c in plain)
    if clean == plain and len(clean) <= longest:
        return clean
    return _hashed(clean, plain, longest)


def _hashed(clean: str, meaning: str, longest: int = LONGEST) -> str:
    digest = hashlib.sha256(meaning.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{clean[: longest - _HASH - 1]}_{digest}"


def own_alias(name: str) -> str:
    """Return the alias that a server's name stands for, if nobody else has it."""
    return _BAD.sub("_", name) or "server"


def other_alias(name: str, source: str, is_free: Callable[[str], bool]) -> str:
    """Return a free alias for a server whose own is not: it says where the server is from."""
    alias = f"{own_alias(name)}-{source}"
    while not is_free(alias):
        alias = _hashed(alias, f"{name}\0{source}\0{alias}")
    return alias


def quoted(text: str) -> str:
    """A stranger's text in quotes, for a message; of a long one the beginning."""
    return repr(text) if len(text) <= QUOTED else f"{text[:QUOTED]!r}…"


def check_name(kind: str, name: str) -> None:
    """Refuse a name that is too long to be one.

    Raises:
        UnknownNameError: It is.
    """
    if len(name) > NAME_CHARS:
        text = f"the name of a {kind} has at most {NAME_CHARS} characters; this one has {len(name)}"
        raise UnknownNameError(text)


def closest(query: str, candidates: Iterable[str], limit: int = 5) -> list[str]:
    """The candidates most like a name, best first."""
    if len(query) > NAME_CHARS:
        return []
    import difflib

    names = list(candidates)
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(query.lower(), list(folded), n=limit, cutoff=0.5)
    matches = [folded[name] for name in near]
    matches += [n for n in names if query and query.lower() in n.lower() and n not in matches]
    return matches[:limit]
