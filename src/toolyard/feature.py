"""Features: one folder for each thing a user can name.

A feature says where its parts are; nothing of it is imported before it is used, so that the
command line can list every command without loading one.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import click

    from toolyard.core.model import Offer
    from toolyard.core.open_pages import OpenPage
    from toolyard.core.ports import RecordSource
    from toolyard.operation import Operation
    from toolyard.relay.guards import GuardMaker
    from toolyard.yard import Yard


class Heading(StrEnum):
    """The headings of `toolyard --help`, in their order."""

    HUB = "Hub"
    SERVERS = "Servers"
    TOOLS = "Tools"
    CLIENTS = "Clients"
    FIND = "Find"
    AGENTS = "Agents and places"
    ACCESS = "Access"
    TEAM = "Team"


@dataclass(frozen=True, slots=True)
class CliCommand:
    """A command of the command line: its name, its sentence, and where it is."""

    name: str
    summary: str
    heading: Heading
    place: str
    """`module:attribute` in the feature's package."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing a user can name: what it keeps, reports, answers and is told.

    A place is `module:attribute` inside the feature's package.
    """

    package: str
    operations: str = ""
    """The module whose operations are the feature's."""
    tools: str = ""
    """The tools of the hub itself by which a model asks what some of these ask. They are described
    apart from the operations, which a hub loads only when one of its pages or commands does."""
    parts: str = ""
    """A function that builds, on what there is, what the feature needs besides."""
    sources: str = ""
    """A function that gives the feature's sources."""
    pages: str = ""
    """A function that gives the pages that need no token."""
    guards: str = ""
    """A function that gives what says which tools are guarded, and how."""
    commands: tuple[CliCommand, ...] = ()
    uses: tuple[Feature, ...] = ()
    """Features whose parts it works with; they are built before it."""

    @property
    def name(self) -> str:
        """The name of the feature: that of its folder."""
        return self.package.rpartition(".")[2]

    def load_operations(self) -> list[Operation[Any, Any]]:
        """Return the feature's operations, in the order in which they are written."""
        if not self.operations:
            return []
        from toolyard.operation import Operation

        module = importlib.import_module(f"{self.package}.{self.operations}")
        return [value for value in vars(module).values() if isinstance(value, Operation)]

    def load_tools(self) -> Sequence[Offer]:
        """Return the tools of the hub itself that are the feature's."""
        tools: Sequence[Offer] = load(self.package, self.tools) if self.tools else ()
        return tools

    def make_parts(self, yard: Yard) -> Iterable[object]:
        """Build what the feature needs on a yard."""
        if not self.parts:
            return ()
        make: Callable[[Yard], Iterable[object]] = load(self.package, self.parts)
        return make(yard)

    def make_sources(self, yard: Yard) -> Sequence[RecordSource]:
        """Build what reports to the board."""
        if not self.sources:
            return ()
        make: Callable[[Yard], Sequence[RecordSource]] = load(self.package, self.sources)
        return make(yard)

    def make_pages(self, yard: Yard) -> Sequence[OpenPage]:
        """Build the pages that need no token; none where the feature is not in use."""
        if not self.pages:
            return ()
        make: Callable[[Yard], Sequence[OpenPage]] = load(self.package, self.pages)
        return make(yard)

    def make_guards(self, yard: Yard) -> Iterable[GuardMaker]:
        """Build what guards calls of tools."""
        if not self.guards:
            return ()
        make: Callable[[Yard], Iterable[GuardMaker]] = load(self.package, self.guards)
        return make(yard)

    def load_command(self, name: str) -> click.Command | None:
        """Return a command of the feature, if it has one of that name."""
        for command in self.commands:
            if command.name == name:
                loaded: click.Command = load(self.package, command.place)
                return loaded
        return None


def load(package: str, place: str) -> Any:
    """Return what stands at a place of a package."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(f"{package}.{module}"), attribute)
