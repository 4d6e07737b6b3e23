"""`auth`: log in at remote servers in the browser, once; the hub renews the login by itself.

It works on the keyring and the files; a running hub notices by itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, complete_servers, config_option, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.core.model import Server, Url
    from toolyard.stores.grants import Grants, Listed

TITLES = ("server", "state", "issuer", "expires", "kept in", "address")


@click.group("auth")
@json_option
def auth_command() -> None:
    """Log in at remote servers, and see where you are logged in."""


@auth_command.command("login")
@click.argument("name", shell_complete=complete_servers)
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
@click.option("--client-id", default="", metavar="ID", help="As you registered it by hand.")
@click.option("--client-secret", default="", metavar="NAME", help="The secret it has, by name.")
@click.option("--client-page", default="", metavar="URL", help="An https page that describes us.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Where the browser returns.")
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
    """Log in at a server in the browser."""
    from toolyard.links.oauth import OAuthClient, login
    from toolyard.stores.keyring import read_keyring

    server, url = _find(context, name)
    grants = _grants(context)
    secret = read_keyring(client_secret) if client_secret else ""
    client = OAuthClient(client_id, secret, client_page, port)

    def show(page: str) -> None:
        context.terminal.note(f"open this page to log in at '{server.id.name}':\n\n  {page}\n")
        if not no_browser and _has_browser():
            _open(page)

    listed = asyncio.run(login(server.id.name, url, grants, show, client))
    answer = {"done": "logged-in", "server": server.id.name} | _told(listed)
    text = f"logged in at '{server.id.name}', as {listed.issuer} says"
    context.terminal.answer(answer, lambda: context.terminal.say(text))
    if listed.place == "file":
        context.terminal.note(
            f"warning: there is no keyring, so the login is kept in {grants.folder},"
            " in a file that only you can read"
        )


@auth_command.command("status")
@config_option
@json_option
@click.pass_obj
def status_command(context: CliContext) -> None:
    """Show at which servers you are logged in, and until when."""
    from toolyard.stores.grants import server_key

    left = _grants(context).listed()
    found = []
    for server in servers_of(context):
        url = _address(server)
        if url is not None:
            key = server_key(url.url)
            found.append((server.id.name, key, left.pop(key, None)))
    found += [("", key, listed) for key, listed in left.items()]
    logins = [
        {"server": name, "url": key, "state": _state(listed)} | (_told(listed) if listed else {})
        for name, key, listed in found
    ]
    rows = [
        (name, _state(each), each.issuer, _when(each), each.place, key)
        if each
        else (name, _state(each), "", "", "", key)
        for name, key, each in found
    ]
    context.terminal.answer({"logins": logins}, lambda: context.terminal.table(TITLES, rows))


@auth_command.command("logout")
@click.argument("name", shell_complete=complete_servers)
@config_option
@json_option
@click.pass_obj
def logout_command(context: CliContext, name: str) -> None:
    """Forget the login at a server."""
    from toolyard.stores.grants import server_key

    server, url = _find(context, name)
    if _grants(context).remove(server_key(url.url)) is None:
        raise CommandError(f"you are not logged in at '{name}'", "", Exit.NOT_FOUND)
    answer = {"done": "logged-out", "server": server.id.name}
    context.terminal.answer(
        answer, lambda: context.terminal.say(f"logged out of '{server.id.name}'")
    )


def servers_of(context: CliContext) -> list[Server]:
    """Every server that the user has: of the file, and from the catalog."""
    from toolyard.features.catalog.source import make_report
    from toolyard.features.catalog.store import Catalog

    written = context.servers_file.load().servers
    shelf = Catalog(context.settings.data_dir / "catalog").load()
    return [*written, *make_report(shelf, os.environ).servers]


def _find(context: CliContext, name: str) -> tuple[Server, Url]:
    servers = servers_of(context)
    server = next((each for each in servers if name in (each.id.name, str(each.id))), None)
    if server is None:
        known = ", ".join(each.id.name for each in servers if _address(each)) or "none"
        text = f"there is no server '{name}'"
        raise CommandError(text, f"with an address there are: {known}", Exit.NOT_FOUND)
    from toolyard.core.model import Url
    from toolyard.stores.expand import Lookup, expand

    if not isinstance(server.endpoint, Url):
        text = f"'{name}' is a command, not an address, and has no login"
        raise CommandError(text, "give it what it needs: toolyard secret --help", Exit.REFUSED)
    url = expand(server.endpoint, Lookup(os.environ, server.folder))
    assert isinstance(url, Url)
    return server, url


def _address(server: Server) -> Url | None:
    """The address of a server with what its references stand for, where that is known."""
    from toolyard.core.errors import ConfigError
    from toolyard.core.model import Url
    from toolyard.stores.expand import Lookup, expand

    if not isinstance(server.endpoint, Url):
        return None
    bare = Url(server.endpoint.url.split("?")[0])
    try:
        found = expand(bare, Lookup(os.environ, server.folder))
    except ConfigError:
        return bare
    return found if isinstance(found, Url) else None


def _grants(context: CliContext) -> Grants:
    from toolyard.stores.grants import Grants

    return Grants(context.settings.state_dir)


def _told(listed: Listed) -> dict[str, object]:
    return {
        "issuer": listed.issuer,
        "scope": listed.scope,
        "kept_in": listed.place,
        "expires_at": listed.expires_at or None,
    }


def _state(listed: Listed | None) -> str:
    if listed is None:
        return "not logged in"
    return "login needed" if listed.ended else "logged in"


def _when(listed: Listed) -> str:
    if not listed.expires_at:
        return "never"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(listed.expires_at))
    return moment if listed.ended else f"{moment}, renewed before"


def _has_browser() -> bool:
    """Whether there is a screen; a browser inside the terminal would take it away from us."""
    if sys.platform == "darwin":
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _open(page: str) -> None:
    """Hand an address to the browser, as one argument and without a shell."""
    import webbrowser

    from toolyard.links.addresses import check_link

    webbrowser.open(check_link(page))
