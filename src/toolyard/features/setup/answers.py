"""Plans as doors tell them."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from toolyard.core.model import Command
from toolyard.features.clients.importing import Origin, what_it_runs
from toolyard.features.setup.model import (
    ClientAction,
    SecretsPlace,
    SetupClient,
    SetupPlan,
    SetupProblem,
    SetupServer,
    SetupSource,
    UnkeptKey,
)
from toolyard.features.setup.planning import Planned, PlannedClient, PlannedServer
from toolyard.records.secrets.plain_secrets import without_secrets
from toolyard.records.secrets.secret_files import SecretPlace

_PLACES: Final[dict[SecretPlace, SecretsPlace]] = {
    "database": "database",
    "keyring": "keyring",
    "file": "files",
}


def describe_plan(planned: Planned) -> SetupPlan:
    """Return a plan without secrets."""
    servers = [_describe_server(server) for server in planned.servers]
    clients = [_describe_client(client) for client in planned.clients]
    problems = [SetupProblem(problem.text, problem.hint) for problem in planned.problems]
    mark = hashlib.sha256(msgspec.json.encode([servers, clients]))
    for server in planned.servers:  # what is hidden above counts too
        mark.update(what_it_runs(server.server.endpoint).encode())
    place = _PLACES[planned.secrets_in]
    return SetupPlan(mark.hexdigest()[:32], servers, clients, problems, place)


def _describe_server(planned: PlannedServer) -> SetupServer:
    server, moved = planned.server, planned.moved
    shown = without_secrets(server.endpoint)
    return SetupServer(
        name=planned.name,
        action=planned.action,
        reason=planned.reason,
        runs=list(shown.argv) if isinstance(shown, Command) else [shown.url],
        enabled=server.enabled,
        sources=[_describe_origin(origin) for origin in server.origins],
        secrets=list(moved.values) if moved else [],
        secrets_needed=[secret.name for secret in moved.needed] if moved else [],
        not_kept=[
            UnkeptKey(part.client, part.key)
            for part in server.untaken
            if part.tools is None and not part.is_input
        ],
    )


def _describe_origin(origin: Origin) -> SetupSource:
    place = origin.place
    return SetupSource(place.client.name, str(place.path), origin.name, place.project)


def _describe_client(planned: PlannedClient) -> SetupClient:
    state, change, error = planned.state, planned.change, planned.error
    action: ClientAction = "connect" if change and change.changes else "none"
    if error or planned.is_left:
        action = "skip"
    return SetupClient(
        client=state.client.name,
        title=state.client.title,
        file=str(state.path),
        action=action,
        replaced=change.names if change else [],
        stays=list(planned.stays),
        profile=planned.profile.name if planned.profile else "",
        hides=list(planned.profile.hide) if planned.profile else [],
        difference=change.difference if change else "",
        problem=str(error) if error else "",
        hint=error.hint if error else "",
    )
