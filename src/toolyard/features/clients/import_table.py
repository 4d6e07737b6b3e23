"""Servers of clients as a table: what they run, and what becomes of the rest of their entries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolyard.console.context import CliContext
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.model import Pairs
    from toolyard.features.clients.importing import FoundServer
    from toolyard.features.clients.untaken import Untaken

TITLES = ("name", "runs", "with", "from")
PATH_LONGEST = 24


def show_servers(context: CliContext, servers: Sequence[FoundServer]) -> None:
    """Show servers in a table, and below it what is not taken over."""
    rows = [
        [
            server.name,
            " ".join(map(shorten_path, run_words(server))),
            ", ".join(variables(server)),
            ", ".join(sources(server)),
        ]
        for server in servers
    ]
    if rows:
        context.terminal.table(TITLES, rows)
    for server in servers:
        name_untaken(context, server)


def name_untaken(context: CliContext, server: FoundServer) -> None:
    """Name the keys of a server that are not taken over."""
    if opening := listed(part for part in server.untaken if part.opens):
        context.terminal.say(f"'{server.name}' loses its restrictions: {clean(opening)}")
    others = [part for part in server.untaken if not part.opens and not part.is_input]
    if lost := listed(others):
        context.terminal.say(f"'{server.name}' is imported without {clean(lost)}")


def listed(untaken: Iterable[Untaken]) -> str:
    """Return keys with the clients that they are from."""
    return ", ".join(f"{part.key} ({part.client})" for part in untaken)


def amount(servers: Sequence[object], what: str = "server") -> str:
    """Return how many there are, in words."""
    return f"{len(servers)} {what}{'s' * (len(servers) != 1)}"


def shorten_path(word: str) -> str:
    """Return a word of a command; of a long path only its end, of anything else all."""
    is_path = word.startswith(("/", "~/", "./", "../"))
    if not is_path or len(word) <= PATH_LONGEST:
        return word
    return f".../{os.path.basename(word.rstrip('/'))}"


def run_words(server: FoundServer) -> Sequence[str]:
    """The command that would be run, or the address that would be reached.

    Of a project's file every character, because somebody else may have hidden something in it.
    """
    from toolyard.core.model import Command
    from toolyard.records.secrets.plain_secrets import without_secrets

    endpoint = server.endpoint if server.is_shared else without_secrets(server.endpoint)
    return endpoint.argv if isinstance(endpoint, Command) else (endpoint.url,)


def variables(server: FoundServer) -> list[str]:
    """The names of its variables or headers; of a project's file with their values.

    Those of the user's own files may be secrets. What a project's file has can be read by all who
    have the project, and a value such as `LD_PRELOAD` decides what is run; a token decides nothing.
    """
    from toolyard.records.secrets.mask import HIDDEN
    from toolyard.records.secrets.token_shapes import MARKED_TOKEN

    if server.is_shared:
        values = ((name, MARKED_TOKEN.sub(HIDDEN, value)) for name, value in pairs(server))
        return [f"{name}={value}" for name, value in values]
    return [name for name, _ in pairs(server)]


def pairs(server: FoundServer) -> Pairs:
    """Its variables or headers."""
    from toolyard.core.model import Command

    endpoint = server.endpoint
    return endpoint.env if isinstance(endpoint, Command) else endpoint.headers


def sources(server: FoundServer) -> list[str]:
    """The clients that have it, with the project if it is only for one."""
    texts = (
        f"{place.client.name} ({place.project})" if place.project else place.client.name
        for place in server.places
    )
    return list(dict.fromkeys(texts))
