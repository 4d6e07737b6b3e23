"""`login` and `logout`: a member of a team, at the team's hub, from their own machine."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.features.auth.registration import OAuthClient
    from toolyard.features.auth.store import Grants
    from toolyard.features.remote_hub.account import HubAccount
    from toolyard.links.grants import ListedGrant, OAuthGrant


@click.command("login")
@click.argument("url")
@click.option("--no-browser", is_flag=True, help="Only print the URL to open.")
@click.option(
    "--client-id", default="", metavar="ID", help="The ID of a client that you registered by hand."
)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="The local port the browser returns to.",
)
@json_option
@click.pass_obj
def login_command(
    context: CliContext, url: str, no_browser: bool, client_id: str, port: int
) -> None:
    """Log in to the hub of your team.

    Opens the browser. Then let a client start `toolyard mcp --hub URL`, which stands in for that
    hub. You need no hub on this machine.

    \b
    toolyard login https://yard.example.com
    """
    from toolyard.features.auth.registration import OAuthClient
    from toolyard.features.remote_hub.address import read_hub

    hub = read_hub(url)
    client = OAuthClient(client_id, port=port)
    grant, account = asyncio.run(_log_in(context, hub, client, opens=not no_browser))
    answer = {
        "done": "logged-in",
        "hub": hub,
        "person": account.person or None,
        "issuer": grant.issuer,
        "kept_in": grant.place,
        "tools": account.tools,
    }
    context.terminal.answer(answer, lambda: _describe(context, hub, account))


@click.command("logout")
@click.argument("url", required=False)
@json_option
@click.pass_obj
def logout_command(context: CliContext, url: str | None) -> None:
    """Log out of the hub of your team.

    Ends the login at the issuer and deletes it here. Without URL, ends the only login there is.
    """
    from toolyard.features.auth.store import open_hub_grants
    from toolyard.features.remote_hub.address import hub_of

    grants = open_hub_grants(context.settings)
    door = _choose(list(grants.listed()), url)
    trouble = asyncio.run(_log_out(grants, door))
    if trouble:
        context.terminal.note(f"warning: {trouble}")
    hub = hub_of(door)
    answer = {"done": "logged-out", "hub": hub, "revoked": not trouble}
    context.terminal.answer(answer, lambda: context.terminal.say(f"logged out of {hub}"))


async def _log_in(
    context: CliContext, hub: str, client: OAuthClient, *, opens: bool
) -> tuple[ListedGrant, HubAccount]:
    from toolyard.core.model import Url
    from toolyard.features.auth.browsing import page_shower
    from toolyard.features.auth.oauth import login
    from toolyard.features.auth.store import open_hub_grants
    from toolyard.features.remote_hub.account import look_up
    from toolyard.features.remote_hub.address import door_of

    grants, door = open_hub_grants(context.settings), door_of(hub)
    show = page_shower(context.terminal, hub, opens=opens)
    listed = await login(hub, Url(door), grants, show, client)
    if listed.place == "file":
        context.terminal.note(
            f"warning: there is no keyring; the login is stored in {grants.folder},"
            " in a file that only you can read"
        )
    grant = await asyncio.to_thread(grants.read, listed.key)
    assert grant is not None  # it was written just now
    return listed, await look_up(door, grant.access_token)


def _describe(context: CliContext, hub: str, account: HubAccount) -> None:
    who = f" as {account.person}" if account.person else ""
    context.terminal.say(f"logged in to {hub}{who}")
    if account.tools is not None:
        count = len(account.tools)
        context.terminal.say(f"you can use {count} tool{'' if count == 1 else 's'} there")
    context.terminal.say(f"let your clients start: toolyard mcp --hub {hub}")


def _choose(doors: list[str], url: str | None) -> str:
    """Return the door of the hub to log out of."""
    from toolyard.features.remote_hub.address import door_of, hub_of, read_hub

    if url is not None:
        door = door_of(read_hub(url))
        if door not in doors:
            raise CommandError(f"you are not logged in to {hub_of(door)}", "", Exit.NOT_FOUND)
        return door
    if not doors:
        raise CommandError("you are not logged in to any hub", "", Exit.NOT_FOUND)
    if len(doors) > 1:
        hubs = ", ".join(map(hub_of, sorted(doors)))
        raise CommandError(f"you are logged in to several hubs: {hubs}", "name one", Exit.USAGE)
    return doors[0]


async def _log_out(grants: Grants, door: str) -> str:
    """Delete a login, after its issuer has ended it; return why that did not, if it did not."""
    hold = grants.hold(door)  # one that is being renewed would be written again
    await asyncio.to_thread(hold.__enter__)
    try:
        trouble = await _revoke(grants, door)
        await asyncio.to_thread(grants.remove, door)
        return trouble
    finally:
        await asyncio.to_thread(hold.__exit__, None, None, None)


async def _revoke(grants: Grants, door: str) -> str:
    from toolyard.core.errors import ToolyardError
    from toolyard.features.remote_hub.revoking import revoke

    grant = None
    try:
        grant = await asyncio.to_thread(grants.read, door)
        if grant is not None:
            await revoke(grant)
    except ToolyardError as error:
        return f"the login was deleted here, but not ended: {error}{_lasts(grant)}"
    return ""


def _lasts(grant: OAuthGrant | None) -> str:
    """Say until when the token of a login is good, if that is known."""
    if grant is None or not grant.expires_at:
        return ""
    return time.strftime(
        "; its token is good until %Y-%m-%d %H:%M", time.localtime(grant.expires_at)
    )
