"""One reading of a hub's file: each server is translated, and whatever is left out is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from glob import escape
from typing import Any, Final

from toolyard.core.endpoint_fields import ENDPOINT_KEYS, LONGEST_CALL, write_timeout
from toolyard.core.fields import FaultsError, FieldFault
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.server_entries import SWITCH_KEYS, TITLE_KEYS, read_entry
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.model import (
    UNFILTERED,
    PeerFile,
    PeerFilter,
    PeerProfile,
    PeerServer,
)
from toolyard.features.clients.untaken import Untaken, untaken_keys, untaken_references

USUAL: Final = (*ENDPOINT_KEYS, *SWITCH_KEYS, *TITLE_KEYS)
"""The keys that most hubs have from clients, and that mean the same here."""


@dataclass(frozen=True, slots=True)
class Translated:
    """One server in our words."""

    entry: JsonObject
    taken: tuple[str, ...] = ()
    """The keys beyond the usual ones that were understood."""
    filter: PeerFilter = UNFILTERED
    tags: tuple[str, ...] = ()
    untaken: tuple[Untaken, ...] = ()


Translate = Callable[[JsonObject], Translated]


class PeerDraft:
    """Collects what one file says."""

    def __init__(self, document: PeerDocument) -> None:
        self._document = document
        self._servers: list[PeerServer] = []
        self._profiles: list[PeerProfile] = []
        self._untaken: list[Untaken] = []
        self._problems: list[Problem] = []

    def take(self, key: object, raw: object, translate: Translate) -> None:
        """Take a server; one that cannot be used becomes a problem."""
        name = str(key)  # in YAML, `yes` is a key too, and no text
        try:
            if not isinstance(raw, dict):
                raise fault("", "it is not an object", "write it as {...}")
            told = translate(raw)
            written = read_entry(told.entry)
        except FaultsError as error:
            self.refuse(name, str(error), error.hint)
            return
        untaken = (
            *untaken_keys(raw, (*USUAL, *told.taken)),
            *told.untaken,
            *untaken_references(written.endpoint),
        )
        names = tuple(dict.fromkeys(untaken))
        self._servers.append(PeerServer(name, written, told.filter, told.tags, names))

    def refuse(self, name: str, text: str, hint: str) -> None:
        """Note that a server cannot be imported."""
        subject = str(self._document.path)
        whole = f"'{subject}': server '{name}' cannot be imported: {text}"
        self._problems.append(Problem(ProblemCode.CLIENT_ENTRY, whole, hint, subject))

    def select(self, name: str, members: Iterable[tuple[str, PeerFilter]], title: str = "") -> None:
        """Take a named selection of servers."""
        self._profiles.append(PeerProfile(name, tuple(members), title))

    def leave(self, key: str) -> None:
        """Name a part of the file that is not taken."""
        self._untaken.append(Untaken(key))

    def leave_rest(self, taken: Iterable[str]) -> None:
        """Name the keys at the top of the file that nothing was taken from."""
        skipped = frozenset(taken)
        for key, value in self._document.value.items():
            if key not in skipped and value not in (None, "", [], {}):
                self.leave(str(key))

    def finish(self) -> PeerFile:
        """Return all that was read; a tag is a selection of the servers that have it."""
        tags = dict.fromkeys(tag for server in self._servers for tag in server.tags)
        for tag in tags:
            members = [(server.name, UNFILTERED) for server in self._servers if tag in server.tags]
            self.select(tag, members)
        return PeerFile(
            tuple(self._servers),
            tuple(self._profiles),
            tuple(dict.fromkeys(self._untaken)),
            tuple(self._problems),
        )


def usual(raw: JsonObject) -> JsonObject:
    """Return the part of an entry that means the same here."""
    return {key: raw[key] for key in USUAL if key in raw}


def fault(field: str, text: str, hint: str) -> FaultsError:
    """Return the error that refuses one server."""
    return FaultsError([FieldFault("", field, text, hint)])


def table(value: object) -> JsonObject:
    """Return an object as it is, and nothing in place of anything else."""
    return value if isinstance(value, dict) else {}


def names(raw: JsonObject, key: str) -> tuple[str, ...]:
    """Return a list of names; empty if it is not there.

    Raises:
        FaultsError: It is something else. A filter that is misread would show what was hidden.
    """
    value = raw.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise fault(key, f"'{key}' is not a list of names", 'write it as ["a", "b"]')
    return tuple(value)


def pairs(raw: JsonObject, key: str) -> dict[str, str]:
    """Return an object of texts; empty if it is not there.

    Raises:
        FaultsError: It is something else.
    """
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or any(isinstance(v, dict | list) for v in value.values()):
        raise fault(key, f"'{key}' is not an object of texts", 'write it as {"A": "b"}')
    return {str(name): _as_text(item) for name, item in value.items()}


def listed(raw: JsonObject, only: str, hide: str) -> PeerFilter:
    """Return the filter that two lists of tools make: those that are shown, those that are not.

    Raises:
        FaultsError: One of them is no list of names.
    """
    shown = exactly(names(raw, only)) if raw.get(only) is not None else None
    return PeerFilter(shown, exactly(names(raw, hide)))


def exactly(tools: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns that match these names and no others."""
    return tuple(map(escape, tools))


def milliseconds(raw: JsonObject, *keys: str) -> JsonObject:
    """Return the timeout that the first of these keys gives, as an entry has it."""
    for key in keys:
        value = _number(raw.get(key))
        if value is not None and 0 < value / 1000 <= LONGEST_CALL:
            return {"timeout": write_timeout(round(value / 1000, 3))}
    return {}


def _number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
