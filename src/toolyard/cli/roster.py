"""The options and paths that commands about agents share."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

Said = dict[str, Any]

executor_option = click.option(
    "--executor", default="", metavar="EXECUTOR", help="Where it runs, if not on this machine."
)
agent_option = click.option("--agent", required=True, metavar="AGENT", help="Whose run it is.")


def agent_path(agent: str, *more: str) -> str:
    """Where the API has an agent, or what belongs to it."""
    return "/".join(("/api/v1/agents", *(quote(each, safe="") for each in (agent, *more))))
