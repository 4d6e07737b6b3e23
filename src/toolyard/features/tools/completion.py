"""Completes the names of tools in a shell, from the running hub; silently none without one."""

from __future__ import annotations

import click

from toolyard.console.context import CliContext, complete_servers

PATIENCE = 1.0
"""Seconds that somebody who pressed a key waits."""


def complete_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the full names of tools that begin like this."""
    return _ask(incomplete)


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the full names of tools, and the names of servers, that begin like this."""
    return [*_ask(incomplete), *complete_servers(ctx, param, incomplete)]


def complete_words(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the tools of a server, after its name."""
    if ctx.params.get("words"):
        return []
    return _ask(incomplete, str(ctx.params.get("name") or ""))


def _ask(begin: str, server: str = "") -> list[str]:
    from toolyard.core.errors import ToolyardError

    try:
        hub = CliContext().find_hub()
        if hub is None:
            return []
        # Only now: with no hub to ask, nobody should wait for these to be imported.
        from toolyard.features.tools.operations import NamesQuery, list_names

        return hub.run(list_names, NamesQuery(begin, server), PATIENCE).names
    except ToolyardError:
        return []
