"""`service`: the system starts the hub at login, and keeps it running."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.features.hub.life_commands import up_options

if TYPE_CHECKING:
    from toolyard.console.supervisor import Supervisor
    from toolyard.features.autostart.model import UnitState

CANNOT_ASK = "cannot ask (no terminal); preview with --dry-run, then add --yes"
EDITED_HINT = "keep it as it is, or add --force"
LINGER = "it stops when you log out; to keep it running: loginctl enable-linger"

yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_option = click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")


@click.group("service")
@json_option
def service_command() -> None:
    """Start the hub at login, and keep it running.

    With systemd on Linux and launchd on macOS, for your user alone.
    """


@service_command.command("install")
@up_options
@click.option("--force", is_flag=True, help="Replace a service that was edited by hand.")
@dry_option
@yes_option
@click.pass_obj
def install_command(context: CliContext, force: bool, dry_run: bool, yes: bool) -> None:
    """Write the service, start it now, and at every login.

    The flags are those of `toolyard up`; without any, it gets those the hub had. A running hub
    makes way for it, and clients stay connected.

    \b
    toolyard service install --dry-run
    toolyard service install --port 8000
    """
    from toolyard.console.supervisor import find_supervisor
    from toolyard.features.autostart.installing import install, read_service
    from toolyard.features.autostart.model import compare
    from toolyard.features.hub.life_commands import recall_flags, settle_flags

    if not context.flags:
        context.flags.update(recall_flags())
    settle_flags(context)
    supervisor = find_supervisor()
    text = _service_text(context, supervisor)
    present = read_service(supervisor.file)
    state = compare(present, text)
    if dry_run:
        answer = {"dry_run": True, "file": str(supervisor.file), "present": state, "text": text}
        context.terminal.answer(answer, lambda: _preview(context, supervisor, state, text))
        return
    _need(supervisor)
    if not yes and not context.terminal.as_json:
        _preview(context, supervisor, state, text)
    _agree(context, supervisor, yes, is_edited=state == "edited" and not force)
    url = install(context, supervisor, text, present)
    answer = {
        "done": "installed",
        "file": str(supervisor.file),
        "url": url,
        "lingers": supervisor.lingers(),
    }
    context.terminal.answer(answer, lambda: _tell(context, supervisor, url))


@service_command.command("remove")
@click.option("--force", is_flag=True, help="Delete a service that was edited by hand, too.")
@dry_option
@yes_option
@json_option
@click.pass_obj
def remove_command(context: CliContext, force: bool, dry_run: bool, yes: bool) -> None:
    """Stop the service, and delete it."""
    from toolyard.console.supervisor import find_supervisor
    from toolyard.features.autostart.installing import read_service, remove
    from toolyard.features.autostart.model import is_unchanged

    supervisor = find_supervisor()
    present = read_service(supervisor.file)
    if present is None:
        raise CommandError("no service is installed", "there is nothing to remove", Exit.NOT_FOUND)
    say, file = context.terminal.say, str(supervisor.file)
    if dry_run:
        answer = {"dry_run": True, "file": file}
        context.terminal.answer(answer, lambda: say(f"would stop the service and delete {file}"))
        return
    _need(supervisor)
    if not yes and not context.terminal.as_json:
        say(f"stops the service and deletes {file}")
    _agree(context, supervisor, yes, is_edited=not (force or is_unchanged(present)))
    remove(supervisor)
    answer = {"done": "removed", "file": file}
    context.terminal.answer(answer, lambda: say(f"removed {file}"))


@service_command.command("status")
@json_option
@click.pass_obj
def status_command(context: CliContext) -> None:
    """Show whether a service is installed, and whether it runs."""
    from toolyard.console.supervisor import find_supervisor
    from toolyard.features.autostart.installing import read_service
    from toolyard.features.autostart.model import is_unchanged

    supervisor = find_supervisor()
    present = read_service(supervisor.file)
    answer = {
        "supervisor": supervisor.name,
        "file": str(supervisor.file),
        "installed": present is not None,
        "edited": present is not None and not is_unchanged(present),
        "enabled": supervisor.is_enabled(),
        "running": supervisor.is_active(),
        "lingers": supervisor.lingers(),
        "fault": supervisor.find_fault(),
    }
    context.terminal.answer(answer, lambda: _show(context, supervisor, answer))


def _service_text(context: CliContext, supervisor: Supervisor) -> str:
    """The service that starts this Toolyard with the flags of this command line."""
    from toolyard.console.flags import as_words
    from toolyard.features.autostart.model import (
        UnitSpec,
        service_environment,
        write_plist,
        write_unit,
    )
    from toolyard.installation import this_installation

    words = (*this_installation().words, "up", *as_words(context.flags))
    spec = UnitSpec(words, service_environment(os.environ), str(context.run_dir.log))
    return (write_plist if supervisor.name == "launchd" else write_unit)(spec)


def _need(supervisor: Supervisor) -> None:
    """Refuse before anything is written, where it would not be started.

    Raises:
        CommandError: The supervisor cannot be used here.
    """
    if fault := supervisor.find_fault():
        text = f"{supervisor.name} cannot be used here: {fault}"
        raise CommandError(text, "start the hub without it: toolyard up --detach")


def _agree(context: CliContext, supervisor: Supervisor, yes: bool, *, is_edited: bool) -> None:
    """Go on only if the user wants it; what a person wrote is never lost by `--yes` alone.

    Raises:
        CommandError: The file was edited, and nobody said that it may be lost.
        click.UsageError: There is no terminal to ask at.
    """
    can_ask = sys.stdin.isatty() and sys.stdout.isatty() and not context.terminal.as_json
    if is_edited and (yes or not can_ask):
        text = f"{supervisor.file} was edited by hand"
        raise CommandError(text, EDITED_HINT, Exit.REFUSED)
    if yes:
        return
    if not can_ask:
        raise click.UsageError(CANNOT_ASK)
    lost = "It was edited by hand; these edits will be lost. " if is_edited else ""
    click.confirm(f"{lost}Go on?", abort=True)


def _preview(context: CliContext, supervisor: Supervisor, state: UnitState, text: str) -> None:
    heads = {
        "absent": f"writes {supervisor.file}:",
        "current": f"{supervisor.file} stays as it is:",
        "older": f"replaces {supervisor.file} by:",
        "edited": f"replaces {supervisor.file}, which was edited by hand, by:",
    }
    context.terminal.say(heads[state])
    context.terminal.say()
    context.terminal.say(text)


def _tell(context: CliContext, supervisor: Supervisor, url: str) -> None:
    from toolyard.features.autostart.model import secret_variables
    from toolyard.installation import this_installation

    context.terminal.say(f"installed {supervisor.file}")
    context.terminal.say(f"toolyard is running at {context.terminal.paint(url, 'green')}")
    if supervisor.lingers() is False and supervisor.name == "systemd":
        context.terminal.note(f"note: {LINGER}")
    for name in secret_variables(os.environ):
        context.terminal.note(
            f"note: {name} is a secret and was left out; add it with: {supervisor.edit_hint}"
        )
    if command := this_installation().permanent:
        text = "note: the service starts toolyard from uv's cache; for a path that stays, run:"
        context.terminal.note(f"{text} {command}, and install the service again")


def _show(context: CliContext, supervisor: Supervisor, answer: dict[str, object]) -> None:
    say = context.terminal.say
    if not answer["installed"]:
        say("no service is installed; install one with: toolyard service install")
        return
    say(f"file:     {supervisor.file}{' (edited by hand)' if answer['edited'] else ''}")
    say(f"at login: {'yes' if answer['enabled'] else 'no'}")
    say(f"running:  {'yes' if answer['running'] else 'no'}")
    if answer["fault"]:
        context.terminal.note(f"note: {supervisor.name} cannot be asked: {answer['fault']}")
    elif answer["lingers"] is False and supervisor.name == "systemd":
        context.terminal.note(f"note: {LINGER}")
