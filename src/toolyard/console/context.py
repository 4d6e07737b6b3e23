"""The context of every command: the settings, the terminal, and the hub if there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolyard.console.exits import Exit
from toolyard.console.terminal import Terminal

if TYPE_CHECKING:
    from toolyard.console.control import Control
    from toolyard.core.opened_hub import OpenedHub
    from toolyard.operation import Answer, Operation, Order
    from toolyard.records.places import RecordPlaces
    from toolyard.records.runfile import RunDir
    from toolyard.settings import Settings

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Serve = Callable[["Settings", Callable[["OpenedHub"], None]], None]
"""Is the hub until told to stop; calls what it is given once its doors are open."""
ServeStdio = Callable[[Mapping[str, object], Mapping[str, str]], None]
ServeRemote = Callable[[str, str, str], None]
"""Stands in for a hub elsewhere, by its address, or for a profile or a server of it."""


class CliContext:
    """One run of the command line; everything in it is made when it is first asked for."""

    def __init__(
        self,
        terminal: Terminal | None = None,
        serve: Serve | None = None,
        serve_stdio: ServeStdio | None = None,
        serve_remote: ServeRemote | None = None,
    ) -> None:
        """Begin a run.

        Args:
            serve: Runs a hub, for `up`.
            serve_stdio: Runs a hub for one client, for `mcp`.
            serve_remote: Serves one client from a hub elsewhere, for `mcp --hub`.
        """
        self.terminal = terminal or Terminal()
        self.serve = serve
        self.serve_stdio = serve_stdio
        self.serve_remote = serve_remote
        self.flags: dict[str, object] = {}

    @cached_property
    def settings(self) -> Settings:
        """The settings by flags, environment and defaults."""
        from toolyard.settings import read_settings

        return read_settings(self.flags, os.environ)

    @property
    def told_config(self) -> bool:
        """True if the user named a servers file on this command line."""
        return self.flags.get("config_file") is not None

    @cached_property
    def run_dir(self) -> RunDir:
        """The directory in which the hub can be found."""
        from toolyard.records.runfile import RunDir

        return RunDir(self.settings.runtime_dir)

    @cached_property
    def places(self) -> RecordPlaces:
        """The places of records, for what no API tells."""
        from toolyard.records.follow import Follower
        from toolyard.records.places import open_places

        return open_places(Follower(), self.settings.database, self.settings.database_schema)

    @property
    def hub_settings(self) -> Settings:
        """The settings with the servers file of the running hub, if none was named here.

        A client that is told how to start us must come to that hub, or start one like it.
        """
        state = self.run_dir.read()
        if state is None or not state.config or self.told_config:
            return self.settings
        return replace(self.settings, config_file=Path(state.config))

    def find_hub(self) -> Control | None:
        """Return the control door of the running hub, if there is one."""
        from toolyard.console.control import Control

        state = self.run_dir.read()
        if state is None:
            return None
        return Control(state.url, self.settings.token or self.run_dir.token())

    def need_hub(self) -> Control:
        """Return the control door of the running hub.

        Raises:
            CommandError: There is none.
        """
        from toolyard.console.errors import CommandError

        hub = self.find_hub()
        if hub is None:
            raise CommandError("no hub is running", "run: toolyard up --detach", Exit.NO_HUB)
        return hub

    def run(
        self,
        operation: Operation[Order, Answer],
        order: Order,
        patience: float | None = None,
        version: str = "",
    ) -> Answer:
        """Carry out an operation: in the running hub, or here where none runs and files are enough.

        `patience` is the time, in seconds, that a hub has to answer; a usual one if not given.
        With `version`, an order is refused if what it changes is no longer at that version.

        Raises:
            CommandError: It needs a hub and none is running, or the hub refused it.
            ToolyardError: It could not be carried out here.
        """
        from toolyard.console.control import PATIENCE
        from toolyard.console.here import run_here
        from toolyard.operation import Needs

        hub = self.hub_of_config
        if hub is None and operation.needs is Needs.FILES:
            return run_here(self.settings, operation, order, version)
        return (hub or self.need_hub()).run(operation, order, patience or PATIENCE, version)

    def run_here(self, operation: Operation[Order, Answer], order: Order) -> Answer:
        """Carry out an operation in this process, also beside a running hub.

        For orders that depend on the caller's environment, such as where a client keeps its file.

        Raises:
            ToolyardError: It could not be carried out.
        """
        from toolyard.console.here import run_here

        return run_here(self.hub_settings, operation, order)

    @property
    def hub_of_config(self) -> Control | None:
        """The running hub, unless the user named a servers file that it does not read."""
        state = self.run_dir.read()
        if state is not None and self.told_config:
            same = state.config and Path(state.config) == self.settings.config_file
            return self.find_hub() if same else None
        return self.find_hub()

    def start_hub(self) -> Control:
        """Return the control door of the hub; start one in the background if there is none.

        Raises:
            StartError: It could not be started.
        """
        hub = self.find_hub()
        if hub is not None:
            return hub
        from toolyard.console.background import start_until

        self.terminal.note("no hub is running; starting one in the background")
        flags = ["--config", str(self.settings.config_file)] if self.told_config else []
        return start_until(str(self.run_dir.path), flags, self.find_hub)


def json_option(command: Decorated) -> Decorated:
    """Add `--json`, which may stand before or after a command's name."""

    def note(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value:
            ctx.ensure_object(CliContext).terminal.as_json = True

    option = click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=note,
        help="Answer in JSON.",
    )
    return option(command)


def setting_option(
    setting: str,
    flag: str,
    text: str,
    metavar: str,
    multiple: bool = False,
    flag_value: str | None = None,
) -> Callable[[Decorated], Decorated]:
    """Add a flag that gives a setting; what it may hold is for the settings to say.

    With `flag_value`, the flag alone means that.
    """

    def note(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
        if value is not None and value != ():
            ctx.ensure_object(CliContext).flags[setting] = value

    option = partial(
        click.option,
        flag,
        expose_value=False,
        callback=note,
        multiple=multiple,
        metavar=metavar,
        help=text,
    )
    return option(is_flag=False, flag_value=flag_value) if flag_value else option()


config_option = setting_option(
    "config_file", "--config", "Read the servers from this file.", "FILE"
)


def complete_servers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of servers in the servers file that begin like this."""
    from toolyard.core.errors import ToolyardError
    from toolyard.core.server_entries import TOP_KEYS
    from toolyard.records.files import read_bounded
    from toolyard.records.jsonc import parse

    try:
        root = parse(read_bounded(CliContext().settings.config_file)).root
    except (OSError, ToolyardError):
        return []
    tops = [root.member(key) for key in TOP_KEYS] if root else []
    names = [member.key for top in tops if top for member in top.node.members]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
