"""`auth`: log in to remote servers in the browser, once; the hub renews the login by itself."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, complete_servers, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.features.auth.browsing import page_shower

if TYPE_CHECKING:
    from toolyard.features.auth.logins import LoginState
    from toolyard.features.auth.registration import OAuthClient
    from toolyard.links.grants import ListedGrant

TITLES = ("server", "state", "issuer", "expires", "kept in", "address")
MEMBER_TITLES = ("member", "server", "state", "expires", "id")
CLIENT_TITLES = ("member", "client", "since", "last used", "id")
STATES = {
    "none": "not logged in",
    "needed": "not logged in",
    "logged-in": "logged in",
    "ended": "login needed",
}


@click.group("auth")
@json_option
def auth_command() -> None:
    """Log in to remote servers, and show your logins and your team's."""


@auth_command.command("login")
@click.argument("name", shell_complete=complete_servers)
@click.option("--no-browser", is_flag=True, help="Only print the URL to open.")
@click.option(
    "--client-id", default="", metavar="ID", help="The ID of a client that you registered by hand."
)
@click.option(
    "--client-secret",
    default="",
    metavar="NAME",
    help="The name of that client's secret in the keyring.",
)
@click.option(
    "--client-page",
    default="",
    metavar="URL",
    help="An https URL with the metadata of this client.",
)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="The local port the browser returns to.",
)
@config_option
@json_option
@click.pass_obj
def login_command(
    context: CliContext,
    name: str,
    no_browser: bool,
    client_id: str,
    client_secret: str,
    client_page: str,
    port: int,
) -> None:
    """Log in to a server in the browser."""
    from toolyard.features.auth.registration import OAuthClient

    secret = _keyring(context)(client_secret) if client_secret else ""
    client = OAuthClient(client_id, secret, client_page, port)
    show = page_shower(context.terminal, name, opens=not no_browser)
    grant = asyncio.run(_log_in(context, name, client, show))
    answer = {"done": "logged-in", "server": name} | _told(grant)
    text = f"logged in to '{name}' with {grant.issuer}"
    context.terminal.answer(answer, lambda: context.terminal.say(text))


@auth_command.command("status")
@config_option
@json_option
@click.pass_obj
def status_command(context: CliContext) -> None:
    """Show which servers you are logged in to, and until when."""
    from toolyard.features.auth.operations import list_logins
    from toolyard.operation import NoInput

    logins = context.run(list_logins, NoInput()).logins
    answer = [
        {"server": login.server, "url": login.url, "state": STATES[login.state]}
        | (_told(login) if login.issuer else {})
        for login in logins
    ]
    rows = [
        (
            *(login.server, STATES[login.state], login.issuer),
            *(_expiry(login) if login.issuer else "", login.place, login.url),
        )
        for login in logins
    ]
    context.terminal.answer({"logins": answer}, lambda: context.terminal.table(TITLES, rows))


@auth_command.command("logout")
@click.argument("name", shell_complete=complete_servers)
@config_option
@json_option
@click.pass_obj
def logout_command(context: CliContext, name: str) -> None:
    """Log out of a server."""
    from toolyard.features.auth.operations import LoginServer, log_out

    if not context.run(log_out, LoginServer(name)).done:
        raise CommandError(f"you are not logged in to '{name}'", "", Exit.NOT_FOUND)
    answer = {"done": "logged-out", "server": name}
    context.terminal.answer(answer, lambda: context.terminal.say(f"logged out of '{name}'"))


@auth_command.command("members")
@click.option("--end", "ended", default="", metavar="ID", help="Forget the login with this ID.")
@json_option
@click.pass_obj
def members_command(context: CliContext, ended: str) -> None:
    """Show which members are logged in to which servers, or forget a login.

    A member who uses the server again is asked to log in again.
    """
    from toolyard.features.auth.operations import (
        MemberLoginId,
        end_member_login,
        list_member_logins,
    )
    from toolyard.operation import NoInput

    hub = context.start_hub()
    if ended:
        hub.run(end_member_login, MemberLoginId(ended))
        _tell_end(context, ended, "the login is forgotten")
        return
    logins = hub.run(list_member_logins, NoInput())
    rows = [
        (row.email, row.login.server, STATES[row.login.state], _expiry(row.login), row.id)
        for row in logins.logins
    ]
    none = "no member is logged in to a server"
    context.terminal.answer(logins, lambda: _table(context, MEMBER_TITLES, rows, none))


@auth_command.command("clients")
@click.option("--end", "ended", default="", metavar="ID", help="Log out the client with this ID.")
@json_option
@click.pass_obj
def clients_command(context: CliContext, ended: str) -> None:
    """Show the clients that members have logged in with at this hub, or log one out.

    They are listed where people log in with the hub itself (`--issuer own`).
    """
    from toolyard.features.authorization.operations import (
        AuthorizationId,
        end_authorization,
        list_authorizations,
    )
    from toolyard.operation import NoInput

    hub = context.start_hub()
    if ended:
        hub.run(end_authorization, AuthorizationId(ended))
        _tell_end(context, ended, "the client is logged out")
        return
    clients = hub.run(list_authorizations, NoInput())
    rows = [(row.email, row.client, row.since, row.last_used, row.id) for row in clients.clients]
    none = "no client is logged in with this hub"
    context.terminal.answer(clients, lambda: _table(context, CLIENT_TITLES, rows, none))


def _tell_end(context: CliContext, ended: str, text: str) -> None:
    context.terminal.answer({"done": "ended", "id": ended}, lambda: context.terminal.say(text))


def _table(
    context: CliContext, titles: tuple[str, ...], rows: Sequence[Sequence[str]], none: str
) -> None:
    if rows:
        context.terminal.table(titles, rows)
    else:
        context.terminal.say(none)


def _keyring(context: CliContext) -> Callable[[str], str]:
    from toolyard.records.secrets.shared import keyring_lookup

    return keyring_lookup(context.places, context.settings.key)


async def _log_in(
    context: CliContext, name: str, client: OAuthClient, show: Callable[[str], None]
) -> ListedGrant:
    """Log in here, also beside a running hub: the browser comes back to whoever waits for it."""
    from toolyard.console.here import open_yard
    from toolyard.core.lookup import find_entry
    from toolyard.core.model import Url
    from toolyard.features.auth.logins import address_of
    from toolyard.features.auth.oauth import login
    from toolyard.features.auth.store import Grants
    from toolyard.records.secrets.expand import Lookup

    yard = open_yard(context.settings, __package__)
    entry, grants = find_entry(yard.snapshot, name), yard.part(Grants)
    if not isinstance(entry.server.endpoint, Url):
        text = f"'{name}' is a command, not an address, and has no login"
        raise CommandError(text, "give it what it needs: toolyard secret --help", Exit.REFUSED)
    grant = await login(
        entry.server.id.name,
        address_of(entry, Lookup(os.environ, keyring=_keyring(context))),
        grants,
        show,
        client,
    )
    if grant.place == "file":
        context.terminal.note(
            f"warning: there is no keyring; the login is stored in {grants.folder},"
            " in a file that only you can read"
        )
    return grant


def _told(grant: ListedGrant | LoginState) -> dict[str, object]:
    return {
        "issuer": grant.issuer,
        "scope": grant.scope,
        "kept_in": grant.place,
        "expires_at": grant.expires_at or None,
    }


def _expiry(login: LoginState) -> str:
    if not login.expires_at:
        return "never"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(login.expires_at))
    return moment if login.state == "ended" else f"{moment}, renewed before"
