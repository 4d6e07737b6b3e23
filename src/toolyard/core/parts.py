"""The parts of a server that a person approves, and what stands for each of them.

A model reads all of them as if the user had written them: tools, prompts, resources, templates of
resources, and what the server says of itself in its instructions.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

from toolyard.core.canonical import canonical
from toolyard.core.canonical import read_unique as read_unique
from toolyard.core.model import Offers, Part, Peer

INSTRUCTIONS: Final[Part] = ("instructions", "")
LOOSE: Final = "any:"
"""The beginning of a mark for which any text will do."""
_TEXTS: Final = frozenset({"description", "title"})
_DATA: Final = frozenset({"size", "annotations"})
"""Members of a resource that change with what is in it."""
_WORD: Final = re.compile(r"\w+")
_NAMES: Final = {"prompts": "prompt ", "resources": "resource ", "templates": "template "}


def parts_of(offers: Offers | None, peer: Peer | None) -> dict[Part, bytes]:
    """Return all that can be approved of what a server offers and says, as JSON."""
    parts: dict[Part, bytes] = {}
    if offers is not None:
        parts |= {("tools", offer.key): offer.raw for offer in offers.tools}
        parts |= {("prompts", offer.key): offer.raw for offer in offers.prompts}
        parts |= {("resources", offer.key): offer.raw for offer in offers.resources}
        parts |= {("templates", offer.key): offer.raw for offer in offers.templates}
    if peer is not None:
        parts[INSTRUCTIONS] = json.dumps({"instructions": peer.instructions}).encode()
    return parts


def spell(part: Part) -> str:
    """Return what people call a part: a tool by its name, all else with its kind."""
    kind, key = part
    return kind if part == INSTRUCTIONS else f"{_NAMES.get(kind, '')}{key}"


def tool_hash(raw: bytes) -> str:
    """The hash of a definition: any change to any part of it makes another."""
    try:
        text = canonical(read_unique(raw))
    except (ValueError, RecursionError):
        # A name twice in one object, endless digits, endless depth: every byte counts then.
        text = b"raw\0" + raw
    return hashlib.sha256(b"toolyard tool\0" + text).hexdigest()


def part_hash(part: Part, raw: bytes) -> str:
    """The hash of a part, without what changes with the data it leads to."""
    return tool_hash(judged_text(part, raw))


def judged_text(part: Part, raw: bytes) -> bytes:
    """Return what counts of a part: all of it but, for a resource, the state of its data."""
    if part[0] != "resources":
        return raw
    try:
        resource = read_unique(raw)
    except (ValueError, RecursionError):
        return raw
    if not isinstance(resource, dict):
        return raw
    return canonical({key: value for key, value in resource.items() if key not in _DATA})


def loose_hash(part: Part, raw: bytes) -> str:
    """The hash of a part whatever its words say: names, arguments and schemas still count."""
    if part == INSTRUCTIONS:
        return LOOSE + hashlib.sha256(b"toolyard instructions").hexdigest()
    texts = _TEXTS | {"name"} if part[0] == "resources" else _TEXTS
    try:
        wordless = _wordless(read_unique(judged_text(part, raw)), texts)
        return LOOSE + tool_hash(canonical(wordless))
    except (ValueError, RecursionError):
        return LOOSE + tool_hash(raw)


def _wordless(value: Any, texts: frozenset[str]) -> Any:
    """The same value without texts for people; an argument may have such a name, and stays."""
    if isinstance(value, dict):
        return {
            key: _wordless(item, texts)
            for key, item in value.items()
            if key not in texts or not isinstance(item, str)
        }
    if isinstance(value, list):
        return [_wordless(item, texts) for item in value]
    return value


def words_hash(raw: bytes) -> str:
    """The hash of the words of a part in whatever order they come."""
    words = sorted(_WORD.findall(raw.decode("utf-8", "replace")))
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def schema_tokens(raws: list[bytes]) -> int:
    """About how many tokens a model reads for these definitions: a quarter of their bytes."""
    return sum(len(raw) for raw in raws) // 4
