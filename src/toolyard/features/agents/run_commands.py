"""`agent run`: starts an agent with the servers it gets for this run, and takes them back."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.features.agents.options import agent_argument, executor_option

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.core.model import Endpoint
    from toolyard.features.agents.planrows import RefusalRow, RunRow, RunServer
    from toolyard.features.clients.delivery import Delivery

TOKEN = "TOOLYARD_TOKEN"  # noqa: S105 - the name of a variable


@click.command("run", context_settings={"ignore_unknown_options": True})
@agent_argument
@executor_option
@click.option("--dry-run", is_flag=True, help="Show what the agent would get, and start nothing.")
@json_option
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
@click.pass_obj
def run_command(
    context: CliContext, agent: str, executor: str, dry_run: bool, words: tuple[str, ...]
) -> None:
    """Start an agent with exactly the servers that are resolved for it.

    The client gets them by a flag, a variable or a project file, whichever it supports. Its own
    files stay as they are, and nothing is left behind afterwards.

    \b
    toolyard agent run codex -- codex exec "what changed today?"
    """
    from toolyard.features.agents.operations import begin_run
    from toolyard.features.agents.orders import NewRun
    from toolyard.features.clients.runs import put_back_leftovers, run_folder

    hub = context.start_hub()
    runs = context.settings.state_dir / "runs"
    for session in put_back_leftovers(runs):
        _end(hub, session)
    session = f"{os.getpid()}-{secrets.token_hex(4)}"
    run = hub.run(begin_run, NewRun(agent, executor, session))
    try:
        _note_refusals(context, run.refusals)
        delivery = _delivery(context, run)
        if dry_run:
            _show(context, run, delivery, words)
            return
        with run_folder(runs, delivery, session) as (_, placed):
            env = {**os.environ, TOKEN: run.token, **dict(placed.env)}
            code = _start((*words, *placed.words), env)
    finally:
        _end(hub, session)
    sys.exit(code)


def _end(hub: Control, session: str) -> None:
    from toolyard.features.agents.operations import end_run
    from toolyard.features.agents.orders import RunSession

    with suppress(CommandError):
        hub.run(end_run, RunSession(session))


def _note_refusals(context: CliContext, refusals: list[RefusalRow]) -> None:
    for refusal in refusals:
        context.terminal.note(f"without {refusal.name!r}: {refusal.text}; {refusal.hint}")


def _delivery(context: CliContext, run: RunRow) -> Delivery:
    from toolyard.features.clients.delivery import deliver
    from toolyard.features.clients.places import Surroundings

    servers = {server.name: _endpoint(context, server, run.token) for server in run.servers}
    others = _others() if run.agent == "codex" else ()
    return deliver(run.agent, servers, Surroundings.here(), Path.cwd(), others)


def _endpoint(context: CliContext, server: RunServer, token: str) -> Endpoint:
    """A server with every reference resolved: here, where the agent starts."""
    from toolyard.core.model import Command, Url
    from toolyard.records.secrets.expand import Lookup, expand
    from toolyard.records.secrets.shared import keyring_lookup

    endpoint: Endpoint
    if server.url:
        kind: Literal["http", "sse"] = "sse" if server.transport == "sse" else "http"
        endpoint = Url(server.url, kind, tuple(server.headers.items()))
    else:
        env = tuple(server.env.items())
        endpoint = Command(tuple(server.command), env, server.cwd or None)
    keyring = keyring_lookup(context.places, context.settings.key)
    lookup = Lookup({**os.environ, TOKEN: token}, server.folder or os.getcwd(), keyring)
    return expand(endpoint, lookup)


def _others() -> tuple[str, ...]:
    """The servers of the user's own file, which the run is not to have."""
    from toolyard.core.errors import ToolyardError
    from toolyard.features.clients.formats import read
    from toolyard.features.clients.known import find_client
    from toolyard.features.clients.places import Surroundings, user_places
    from toolyard.features.clients.plan import read_file

    client = find_client("codex")
    names: list[str] = []
    for place in user_places(client, Surroundings.here()):
        with suppress(ToolyardError):
            data = read_file(place)
            entries = read(client.shape, data, place.keys).entries if data else ()
            names += [entry.name for entry in entries]
    return tuple(names)


def _start(words: tuple[str, ...], env: dict[str, str]) -> int:
    """Run the agent in our place at the terminal; give its exit code."""
    with _deaf():
        try:
            child = subprocess.Popen(words, env=env)
        except OSError as error:
            text = f"cannot start {words[0]!r}: {error.strerror}"
            raise CommandError(text, "check its name and your PATH", Exit.NOT_FOUND) from error
        with _passing_on(child):
            code = child.wait()
    return 128 - code if code < 0 else code


@contextmanager
def _deaf() -> Iterator[None]:
    """Leave Ctrl-C to the agent, which has the terminal too: it may mean something else there."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _passing_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the agent when we are ended; what it was handed is then taken back."""
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(context: CliContext, run: RunRow, delivery: Delivery, words: tuple[str, ...]) -> None:
    names = [server.name for server in run.servers]
    answer = {
        "agent": run.agent,
        "executor": run.executor,
        "servers": names,
        "refusals": run.refusals,
        "how": delivery.how,
        "command": [*words, *delivery.words],
        "variables": sorted(name for name, _ in delivery.env),
        "files": [name for name, _ in delivery.files],
        "merged": str(delivery.merge.place.path) if delivery.merge else "",
    }

    def say() -> None:
        context.terminal.say(f"{run.agent} would get {', '.join(names) or 'no servers'}")
        context.terminal.say(f"by {delivery.how}")

    context.terminal.answer(answer, say)
