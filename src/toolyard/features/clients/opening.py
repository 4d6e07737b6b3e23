"""Opens what connects clients, in the hub and beside it."""

from __future__ import annotations

import asyncio

from toolyard.console.control import Control
from toolyard.features.clients.connecting import Connecting
from toolyard.features.clients.places import Surroundings
from toolyard.features.tokens.operations import TokenName, revoke_token
from toolyard.features.tokens.store import TokensFile
from toolyard.records.runfile import RunDir
from toolyard.relay.dismissals import Dismissals
from toolyard.settings import Settings
from toolyard.yard import HubLife, Yard


def open_connecting(yard: Yard) -> Connecting:
    """Open what connects clients to the hub that runs, or would run."""
    return _in_hub(yard) if yard.is_live else _beside_hub(yard)


def _in_hub(yard: Yard) -> Connecting:
    """Connecting works in a thread; sessions end on the loop of the doors."""
    tokens, loop = yard.part(TokensFile), asyncio.get_running_loop()

    def revoke(name: str) -> None:
        token = tokens.revoke(name)
        loop.call_soon_threadsafe(yard.part(Dismissals).dismiss, token.caller)

    settings = yard.part(Settings)
    return Connecting(settings, Surroundings.here(), yard.part(HubLife).url, tokens, revoke)


def _beside_hub(yard: Yard) -> Connecting:
    """A running hub revokes the tokens itself: only it can end their sessions."""
    settings, tokens = yard.part(Settings), yard.part(TokensFile)
    run_dir = RunDir(settings.runtime_dir)
    state = run_dir.read()
    if state is None:
        scheme = "http" if settings.tls_cert is None else "https"
        url = settings.public or f"{scheme}://{settings.host}:{settings.port}"
        return Connecting(settings, Surroundings.here(), url, tokens, tokens.revoke)
    hub = Control(state.url, settings.token or run_dir.token())

    def revoke(name: str) -> None:
        hub.run(revoke_token, TokenName(name))

    return Connecting(settings, Surroundings.here(), state.address, tokens, revoke)
