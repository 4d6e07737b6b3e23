"""The plan of a setup at the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolyard.console.context import CliContext
from toolyard.console.terminal import clean
from toolyard.features.clients.confirming import show_difference
from toolyard.features.clients.import_table import amount, shorten_path
from toolyard.features.setup.model import SecretsPlace, SetupClient, SetupPlan, SetupServer

SERVERS = ("server", "runs", "secrets", "from", "")
LOGIN_KEYS = ("oauth", "headersHelper")
CLIENTS = ("client", "change", "file")
PLACES: dict[SecretsPlace, str] = {
    "keyring": "your keyring",
    "files": "private files",
    "database": "the database that hubs share",
}


def show_plan(context: CliContext, plan: SetupPlan) -> None:
    """Show all that a setup would do: the changes of files first, what matters last."""
    say = context.terminal.say
    for problem in plan.problems:
        context.terminal.note(f"note: {clean(problem.text)}")
    for client in plan.clients:
        show_difference(context, client.difference)
    if plan.servers:
        say()
        context.terminal.table(SERVERS, [_server_cells(server) for server in plan.servers])
    if plan.clients:
        say()
        context.terminal.table(CLIENTS, [_client_cells(client) for client in plan.clients])
    for line in _sentences(plan):
        say(clean(line))


def _server_cells(server: SetupServer) -> list[str]:
    state = {"take": "new" if server.enabled else "new, disabled", "present": "in the hub"}
    sources = (f"{s.client} ({s.project})" if s.project else s.client for s in server.sources)
    return [
        server.name,
        " ".join(map(shorten_path, server.runs)),
        ", ".join((*server.secrets, *server.secrets_needed)),
        ", ".join(dict.fromkeys(sources)),
        state.get(server.action, "stays"),
    ]


def _client_cells(client: SetupClient) -> list[str]:
    change = "toolyard"
    if client.replaced:
        change += f" in place of {amount(client.replaced)}"
    if client.profile:
        change += f", with the profile {client.profile}"
    words = {"none": "none", "skip": "left alone"}
    return [client.client, words.get(client.action, change), client.file]


def _sentences(plan: SetupPlan) -> Iterable[str]:
    secrets = list(dict.fromkeys(name for server in plan.servers for name in server.secrets))
    if secrets:
        yield f"{amount(secrets, 'secret')} will move into {PLACES[plan.secrets_in]}."
    yield from _profile_sentences(plan.clients)
    for client in plan.clients:
        if client.problem:
            yield f"{client.title}: {client.problem}; {client.hint}"
    for server in plan.servers:
        yield from _server_sentences(server)


def _profile_sentences(clients: Sequence[SetupClient]) -> Iterable[str]:
    """Tell what stays hidden, once for all clients of which it is the same."""
    names: dict[str, list[str]] = {}
    for client in clients:
        if client.profile:
            names.setdefault(", ".join(client.hides), []).append(client.profile)
    for hidden, profiles in names.items():
        subject = "The profile" if len(profiles) == 1 else "The profiles"
        verb = "hides" if len(profiles) == 1 else "hide"
        yield f"{subject} {', '.join(profiles)} {verb}: {hidden}"


def _server_sentences(server: SetupServer) -> Iterable[str]:
    if server.action == "leave":
        yield f"'{server.name}' stays where it is: {server.reason}."
        return
    if server.not_kept:
        keys = ", ".join(f"{part.key} ({part.client})" for part in server.not_kept)
        yield f"'{server.name}' goes on without {keys}{_login_hint(server)}"
    for name in server.secrets_needed:
        yield f"'{server.name}' needs a value: toolyard secret set {name}"


def _login_hint(server: SetupServer) -> str:
    if any(part.key in LOGIN_KEYS for part in server.not_kept):
        return f"; if it refuses the hub, run: toolyard auth login {server.name}"
    return ""


def count_of(plan: SetupPlan) -> tuple[Sequence[SetupServer], Sequence[SetupClient]]:
    """The servers that are new to the hub, and the clients that would be changed."""
    servers = [server for server in plan.servers if server.action == "take"]
    return servers, [client for client in plan.clients if client.action == "connect"]
