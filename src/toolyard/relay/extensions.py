"""Extensions of the protocol that servers have: which are declared to clients, and who answers.

Declared is only what is passed on. A method that the hub does not know goes to the one server it
can be meant for, if there is just one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Entry
from toolyard.wire import era, jsonrpc

NO_METHODS: Final = frozenset({era.PREFIX + "ui"})
"""Extensions that are done with tools and resources alone; any number of servers may have them."""
OF_THE_DOOR: Final = frozenset(
    {era.PREFIX + "oauth-client-credentials", era.PREFIX + "enterprise-managed-authorization"}
)
"""Extensions about how clients are let in. That is the hub's own matter."""
_METHOD: Final = re.compile(r"[A-Za-z0-9_.$/-]{1,128}")
_CORE: Final = frozenset(
    {
        *("initialize", "ping"),
        *("tools", "prompts", "resources", "completion", "logging", "tasks"),
        *("server", "subscriptions", "notifications", "sampling", "elicitation", "roots"),
    }
)
"""Beginnings of the protocol's own methods, in any era; no extension has a say in them."""


class Extensions:
    """The extensions that servers of one view declare."""

    def __init__(self) -> None:
        self._declared: dict[str, dict[str, JsonObject]] = {}
        """By extension, then by alias: the settings."""
        self._experimental: era.Capabilities = {}
        self._tasks: set[era.Era] = set()
        """The eras in which some server has tasks."""

    def note(self, entry: Entry) -> None:
        """Take up what a server declares."""
        if entry.peer is None:
            return
        declared = jsonrpc.to_python(entry.peer.capabilities)
        extensions = _objects(declared.get("extensions"))
        for name, settings in extensions.items():
            self._declared.setdefault(name, {})[entry.alias] = settings
        self._experimental = {**_objects(declared.get("experimental")), **self._experimental}
        is_modern = entry.peer.era == "modern"
        if era.TASKS in extensions if is_modern else isinstance(declared.get("tasks"), dict):
            self._tasks.add(entry.peer.era)

    def has_tasks(self, *, modern: bool) -> bool:
        """Tell whether a server has tasks of an era; they do not cross from one to the other."""
        return ("modern" if modern else "legacy") in self._tasks

    def capabilities(self, *, modern: bool, foreign: bool) -> era.Capabilities:
        """Return what clients of an era are told; `foreign` if unknown methods are passed on."""
        out: era.Capabilities = {}
        if extensions := dict(self._passed_on(modern, foreign)):
            out["extensions"] = extensions
        if self._experimental:
            out["experimental"] = self._experimental
        if self.has_tasks(modern=False) and not modern:
            out["tasks"] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        return out

    def _passed_on(self, modern: bool, foreign: bool) -> Iterator[tuple[str, JsonObject]]:
        for name, by in self._declared.items():
            if name == era.TASKS:
                if modern and self.has_tasks(modern=True):
                    yield name, {}
            elif name in NO_METHODS or (foreign and name not in OF_THE_DOOR and len(by) == 1):
                yield name, next(iter(by.values()))

    def owner(self, method: str) -> str:
        """The alias of the one server whose extension a method is of; empty if there is none."""
        owners: dict[int, set[str]] = {}
        for name, by in self._declared.items():
            if name not in OF_THE_DOOR and (nearness := _nearness(name, method)):
                owners.setdefault(nearness, set()).update(by)
        nearest = owners[max(owners)] if owners else set()
        return nearest.pop() if len(nearest) == 1 else ""


def is_foreign(method: str) -> bool:
    """Tell whether a method is none of the protocol's own, and may be passed on as it is."""
    return bool(_METHOD.fullmatch(method)) and method.partition("/")[0] not in _CORE


def _nearness(extension: str, method: str) -> int:
    """Rate how surely a method is of an extension; 0 if it is not.

    It begins with the whole name of the extension, with the last part of it, or with its maker's.
    """
    maker, _, name = extension.partition("/")
    if f"{method}/".startswith(f"{extension}/"):
        return 3
    namespace = method.partition("/")[0]
    if namespace == name:
        return 2
    return int(namespace == maker and not extension.startswith(era.PREFIX))


def _objects(declared: Any) -> dict[str, JsonObject]:
    """The members that are objects, as they all should be; clients fail of others."""
    members = declared.items() if isinstance(declared, dict) else ()
    return {name: settings for name, settings in members if isinstance(settings, dict)}


def knows_tasks(capabilities: Mapping[str, Any]) -> bool:
    """Tell whether a modern client declares that it can follow tasks."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and era.TASKS in extensions


def without_tasks(capabilities: era.Capabilities) -> era.Capabilities:
    """The capabilities of a legacy client for modern servers, whose tasks it could not follow."""
    extensions = {k: v for k, v in capabilities["extensions"].items() if k != era.TASKS}
    return {**capabilities, "extensions": extensions}
