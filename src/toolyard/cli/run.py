"""`run`: starts an agent with the servers it is given for this run, and takes them back."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit

if TYPE_CHECKING:
    from toolyard.clients.delivery import Delivery
    from toolyard.core.model import Endpoint

TOKEN = "TOOLYARD_TOKEN"  # noqa: S105 - the name of a variable


@click.command("run", context_settings={"ignore_unknown_options": True})
@click.option("--agent", required=True, metavar="NAME", help="Which agent this is.")
@click.option("--executor", default="", metavar="NAME", help="Where it runs; here by default.")
@click.option("--dry-run", is_flag=True, help="Say what it would be handed, and start nothing.")
@json_option
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def run_command(
    context: CliContext, agent: str, executor: str, dry_run: bool, words: tuple[str, ...]
) -> None:
    """Start an agent with exactly the servers that are resolved for it.

    They are handed over by a flag, a variable or the project's file, whatever the client has,
    from a folder that is gone afterwards; the client's own files are not touched.

        toolyard run --agent codex -- codex exec "what changed today?"
    """
    from toolyard.clients.runs import put_back_leftovers, run_folder

    hub = context.start_hub()
    runs = context.settings.state_dir / "runs"
    for left in put_back_leftovers(runs):
        with suppress(CommandError):
            hub.end_run(left)
    id_ = f"{os.getpid()}-{secrets.token_hex(4)}"
    made = hub.begin_run(agent, executor, id_)
    try:
        _tell_refusals(context, made["refusals"])
        delivery = _delivery(made)
        if dry_run:
            _show(context, made, delivery, words)
            return
        with run_folder(runs, delivery, id_) as (_, placed):
            env = {**os.environ, TOKEN: made["token"], **dict(placed.env)}
            code = _start((*words, *placed.words), env)
    finally:
        with suppress(CommandError):
            hub.end_run(id_)
    sys.exit(code)


def _tell_refusals(context: CliContext, refusals: list[dict[str, Any]]) -> None:
    for each in refusals:
        context.terminal.note(f"without {each['name']!r}: {each['text']}; {each['hint']}")


def _delivery(made: dict[str, Any]) -> Delivery:
    from toolyard.clients.delivery import deliver
    from toolyard.clients.places import Surroundings

    servers = {row["name"]: _endpoint(row, made["token"]) for row in made["servers"]}
    around = Surroundings.here()
    others = _others() if made["agent"] == "codex" else ()
    return deliver(made["agent"], servers, around, Path.cwd(), others)


def _endpoint(row: dict[str, Any], token: str) -> Endpoint:
    """A server with every reference resolved: here, where the agent starts."""
    from toolyard.core.model import Command, Url
    from toolyard.stores.expand import Lookup, expand

    endpoint: Endpoint
    if row.get("url"):
        kind: Literal["http", "sse"] = "sse" if row["transport"] == "sse" else "http"
        endpoint = Url(row["url"], kind, tuple(row.get("headers", {}).items()))
    else:
        env = tuple(row.get("env", {}).items())
        endpoint = Command(tuple(row["command"]), env, row.get("cwd") or None)
    lookup = Lookup({**os.environ, TOKEN: token}, row.get("folder") or os.getcwd())
    return expand(endpoint, lookup)


def _others() -> tuple[str, ...]:
    """The servers of the user's own file, which the run is not to have."""
    from toolyard.clients.change import read_file
    from toolyard.clients.formats import read
    from toolyard.clients.known import find_client
    from toolyard.clients.places import Surroundings, user_places
    from toolyard.core.errors import ToolyardError

    client = find_client("codex")
    names: list[str] = []
    for place in user_places(client, Surroundings.here()):
        with suppress(ToolyardError):
            data = read_file(place)
            found = read(client.shape, data, place.keys).entries if data else ()
            names += [entry.name for entry in found]
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
    """Who ends us ends the agent, and we then clean up behind it."""
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(
    context: CliContext, made: dict[str, Any], delivery: Delivery, words: tuple[str, ...]
) -> None:
    names = [row["name"] for row in made["servers"]]
    files = [name for name, _ in delivery.files]
    merged = str(delivery.merge.place.path) if delivery.merge else ""
    answer = {
        "agent": made["agent"],
        "executor": made["executor"],
        "servers": names,
        "refusals": made["refusals"],
        "how": delivery.how,
        "command": [*words, *delivery.words],
        "variables": sorted(name for name, _ in delivery.env),
        "files": files,
        "merged": merged,
    }

    def say() -> None:
        context.terminal.say(f"{made['agent']} would get {', '.join(names) or 'no servers'}")
        context.terminal.say(f"by {delivery.how}")

    context.terminal.answer(answer, say)
