"""`token`: tokens for agents and members, which open the MCP door alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option

if TYPE_CHECKING:
    from toolyard.features.tokens.operations import TokenRow

TITLES = (
    *("token", "member", "agent", "executor", "servers", "profile", "tools"),
    *("created", "expires", "last used"),
)


@click.group("token")
@json_option
def token_command() -> None:
    """Create tokens for agents and members, each limited to what it is for."""


@token_command.command("create")
@click.argument("name")
@click.option("--servers", metavar="A,B", help="Limit it to these servers.")
@click.option("--profile", default="", metavar="NAME", help="Limit it to this profile.")
@click.option("--agent", default="", metavar="NAME", help="Limit it to the servers of this agent.")
@click.option(
    "--member", default="", metavar="EMAIL", help="Make it a member's: it shows what they see."
)
@click.option(
    "--discover", is_flag=True, help="Let it read the list of announced servers, and nothing else."
)
@click.option(
    "--days",
    type=click.IntRange(0, 3650),
    default=90,
    show_default=True,
    help="Let it expire after this many days; 0 for never.",
)
@click.option(
    "--tier",
    type=click.Choice(["read", "write", "destroy"]),
    default="destroy",
    help="Limit it to tools that say they only read, or destroy nothing.",
)
@json_option
@click.pass_obj
def create_command(
    context: CliContext,
    name: str,
    servers: str | None,
    profile: str,
    agent: str,
    member: str,
    discover: bool,
    days: int,
    tier: str,
) -> None:
    """Create a token for an agent or a member; it is shown once.

    The token gives access to MCP and nothing else. Without --servers, --profile and --agent, that
    is the whole yard, or what the member sees. With --discover, it opens GET /api/v1/announced
    instead, for programs on other machines that look for servers.

    \b
    toolyard token create cursor --profile review
    toolyard token create ci --servers git,files
    toolyard token create scout --tier read --days 7
    toolyard token create laptop --member ann@example.com
    """
    from toolyard.core.tiers import Tier
    from toolyard.features.tokens.operations import NewToken, create_token

    if discover and (servers is not None or profile or agent or member):
        raise click.UsageError("--discover cannot be combined with limits")
    names = [word.strip() for word in (servers or "").split(",") if word.strip()]
    if servers is not None and not names:
        raise click.UsageError("--servers names no server; leave it out to allow all of them")
    order = NewToken(name, names, profile, agent, discover, days, Tier(tier), member)
    if agent:  # the hub alone knows agents
        context.need_hub()
    token = context.run(create_token, order).token
    answer = {"name": name, "token": token, "servers": names, "profile": profile, "agent": agent}
    if member:
        answer["member"] = member
    context.terminal.answer(answer, lambda: _show_once(context, token))


@token_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the tokens, without their secrets."""
    from toolyard.features.tokens.operations import list_tokens
    from toolyard.operation import NoInput

    tokens = context.run(list_tokens, NoInput())
    context.terminal.answer(tokens, lambda: _show(context, tokens.tokens))


@token_command.command("revoke")
@click.argument("name")
@click.option("--member", default="", metavar="EMAIL", help="The member whose token it is.")
@json_option
@click.pass_obj
def revoke_command(context: CliContext, name: str, member: str) -> None:
    """Revoke a token, and end the sessions that it opened."""
    from toolyard.features.tokens.operations import TokenName, revoke_token

    context.run(revoke_token, TokenName(name, member))
    answer = {"done": "revoked", "token": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"revoked the token '{name}'"))


def _show_once(context: CliContext, token: str) -> None:
    context.terminal.say(token)
    context.terminal.note("store it now; it is not shown again")


def _show(context: CliContext, rows: list[TokenRow]) -> None:
    if not rows:
        context.terminal.say("no tokens yet; create one with: toolyard token create NAME")
        return
    cells = [
        [
            *(row.name, row.member, row.agent, row.executor),
            *(_describe_servers(row), row.profile, row.tier),
            *(row.created_at, row.expires_at or "never", row.used_at),
        ]
        for row in rows
    ]
    context.terminal.table(TITLES, cells)


def _describe_servers(row: TokenRow) -> str:
    if row.discovers:
        return "none; reads the announced list"
    return ", ".join(row.servers) or "all"
