"""`token`: tokens for agents, which open the MCP door alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, json_option

if TYPE_CHECKING:
    from toolyard.stores.tokens import TokensFile

TITLES = ("token", "agent", "executor", "servers", "profile", "made")


@click.group("token")
@json_option
def token_command() -> None:
    """Make tokens for agents, which see only what is theirs."""


@token_command.command("create")
@click.argument("name")
@click.option("--servers", metavar="A,B", help="It sees these servers alone.")
@click.option("--profile", default="", metavar="NAME", help="It sees this profile alone.")
@click.option("--agent", default="", metavar="NAME", help="It sees what this agent is given.")
@click.option("--discover", is_flag=True, help="It opens the list of announced servers alone.")
@json_option
@click.pass_obj
def create_command(
    context: CliContext, name: str, servers: str | None, profile: str, agent: str, discover: bool
) -> None:
    """Make a token for an agent; it is shown this once.

    It opens the MCP door and nothing else. Without --servers, --profile and --agent it sees the
    whole yard there. With --discover it opens GET /api/v1/announced instead, for programs on
    other machines that look for servers.
    """
    if discover and (servers is not None or profile or agent):
        raise click.UsageError("--discover goes with none of --servers, --profile and --agent")
    named = [each.strip() for each in (servers or "").split(",") if each.strip()]
    if servers is not None and not named:
        raise click.UsageError("--servers names no server; leave it out for all of them")
    if agent:
        token = context.need_hub().create_token(name, named, profile, agent)
    else:
        hub = context.find_hub()
        make = hub.create_token if hub else partial(_create, context)
        token = make(name, named, profile, discovers=discover)
    answer = {"name": name, "token": token, "servers": named, "profile": profile, "agent": agent}
    context.terminal.answer(answer, lambda: _show_once(context, token))


@token_command.command("list")
@json_option
@click.pass_obj
def list_command(context: CliContext) -> None:
    """List the tokens of agents, without their secrets."""
    hub = context.find_hub()
    rows = hub.tokens()["tokens"] if hub else [_row(each) for each in _file(context).list()]
    context.terminal.answer({"tokens": rows}, lambda: _show(context, rows))


@token_command.command("revoke")
@click.argument("name")
@json_option
@click.pass_obj
def revoke_command(context: CliContext, name: str) -> None:
    """Make a token worthless, and end what was opened with it."""
    hub = context.find_hub()
    if hub:
        hub.revoke_token(name)
    else:
        _file(context).revoke(name)
    answer = {"done": "revoked", "token": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"revoked the token '{name}'"))


def _file(context: CliContext) -> TokensFile:
    from toolyard.stores.tokens import TokensFile

    return TokensFile(context.settings.state_dir / "tokens.json")


def _create(
    context: CliContext, name: str, servers: list[str], profile: str, *, discovers: bool = False
) -> str:
    if profile:
        from toolyard.features.profiles.operations import ProfileName, get_profile

        context.run(get_profile, ProfileName(profile))
    return _file(context).create(name, frozenset(servers), profile, discovers=discovers)


def _row(token: Any) -> dict[str, Any]:
    return {
        "name": token.name,
        "servers": sorted(token.servers),
        "profile": token.profile,
        "created_at": token.created_at,
        "agent": token.agent,
        "executor": token.executor,
        "discovers": token.discovers,
    }


def _show_once(context: CliContext, token: str) -> None:
    context.terminal.say(token)
    context.terminal.note("keep it now; it is not shown again")


def _show(context: CliContext, rows: list[dict[str, Any]]) -> None:
    if not rows:
        context.terminal.say("there are no tokens of agents; make one with: toolyard token create")
        return
    cells = [
        [
            *(row["name"], row.get("agent", ""), row.get("executor", "")),
            *(_seen(row), row["profile"], row["created_at"]),
        ]
        for row in rows
    ]
    context.terminal.table(TITLES, cells)


def _seen(row: dict[str, Any]) -> str:
    if row.get("discovers"):
        return "none: it lists what is announced"
    return ", ".join(row["servers"]) or "all"
