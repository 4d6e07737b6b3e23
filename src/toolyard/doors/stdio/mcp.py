"""`mcp`: the full command line of the stdio entry, for its help and errors; see `attach`."""

from __future__ import annotations

import sys

import click

from toolyard.console.context import CliContext
from toolyard.doors.stdio import attach


@click.command("mcp")
@click.option("--server", default="", metavar="NAME", help="Offer this server alone.")
@click.option("--app", default="", metavar="NAME", help="Stand in for the hub of this app.")
@click.option("--profile", default="", metavar="NAME", help="Show what this profile selects.")
@click.option("--agent", default="", metavar="NAME", help="Show what this agent is given.")
@click.option("--executor", default="", metavar="NAME", help="Where that agent runs, if not here.")
@click.option(
    "--separator",
    default="",
    metavar="__|.|/",
    help="Put this between variant (or server) and tool.",
)
@click.option("--config", default="", metavar="FILE", help="The servers file, if a hub is started.")
@click.option("--hub", default="", metavar="URL", help="Stand in for this hub; see toolyard login.")
@click.option("--standalone", is_flag=True, help="Be a hub of its own instead of sharing one.")
@click.pass_obj
def mcp_command(context: CliContext, /, standalone: bool, **values: str) -> None:
    """Serve one MCP client on stdin and stdout.

    This is what clients start. It attaches to the running hub, starting one in the background if
    there is none, stays when the hub is restarted, and leaves when its stdin closes.

    With --hub it stands in for the hub of your team, where you have logged in, and shows what you
    may use there, or what one --profile or --server of it offers.
    """
    options = attach.McpOptions()
    options.standalone = standalone
    for name, value in values.items():
        setattr(options, name, value)
    assert context.serve_stdio is not None and context.serve_remote is not None  # it can
    sys.exit(attach.run(options, context.serve_stdio, context.serve_remote))
