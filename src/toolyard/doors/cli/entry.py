"""The way into every command, and the one way out: an exit code that means something."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import Final

import click

from toolyard import __version__
from toolyard.console.context import CliContext, Serve, ServeRemote, ServeStdio, json_option
from toolyard.console.exits import Exit
from toolyard.console.spelling import Spelling
from toolyard.console.terminal import Terminal
from toolyard.core.errors import (
    ConfigError,
    ConflictError,
    HeldError,
    LinkTimeoutError,
    NotOursError,
    TakenError,
    ToolyardError,
    UnknownNameError,
)
from toolyard.doors.cli.group import LazyGroup
from toolyard.feature import CliCommand, Feature, Heading
from toolyard.installation import typed_command

MCP: Final = Feature(
    "toolyard.doors.stdio",
    commands=(
        CliCommand(
            "mcp",
            "Serve one MCP client on stdin and stdout.",
            Heading.CLIENTS,
            "mcp:mcp_command",
        ),
    ),
)
"""The door that is a command."""


def make_root(features: Iterable[Feature]) -> LazyGroup:
    """The command that all others stand below."""

    @click.group(
        cls=LazyGroup,
        features=(*features, MCP),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="Every command has its own --help. Start with: toolyard setup",
    )
    @click.version_option(__version__, "--version", "-V", prog_name="toolyard")
    @json_option
    def command() -> None:
        """One address in front of all the MCP servers you have."""

    return command


def run(
    words: list[str],
    root: LazyGroup,
    serve: Serve,
    serve_stdio: ServeStdio,
    serve_remote: ServeRemote,
) -> int:
    """Run one command line; return the exit code."""
    spelling = Spelling(typed_command(sys.argv[0]), root.sentences)
    terminal = Terminal(as_json=_wants_json(words), spelling=spelling)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a letter shows another one; that is no reason to fail.
            stream.reconfigure(errors="replace")
    try:
        # Where a command ends itself with a code, click gives that code back.
        context = CliContext(terminal, serve, serve_stdio, serve_remote)
        ended = root.main(words, prog_name="toolyard", standalone_mode=False, obj=context)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return Exit.USAGE
    except click.ClickException as error:
        terminal.fail(*_usage(error), Exit.USAGE)
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except ToolyardError as error:
        code = _exit_of(error)
        terminal.fail(str(error), error.hint, code)
        return code
    except BrokenPipeError:
        # Whoever read our answer has enough of it; nothing may be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    return ended if isinstance(ended, int) else Exit.OK


def _wants_json(words: list[str]) -> bool:
    """Return whether an error is to be JSON even if the command line cannot be read to its end."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _usage(error: click.ClickException) -> tuple[str, str]:
    near = getattr(error, "possibilities", None)
    message = error.message if near else error.format_message()
    text = message.strip().rstrip(".")
    if near:
        hint = "did you mean " + " or ".join(f"'{name}'" for name in near) + "?"
    else:
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"see: {context.command_path if context else 'toolyard'} --help"
    return text[:1].lower() + text[1:], hint


def _exit_of(error: ToolyardError) -> Exit:
    code = getattr(error, "exit", None)
    if isinstance(code, Exit):
        return code
    if isinstance(error, UnknownNameError):
        return Exit.NOT_FOUND
    if isinstance(error, ConfigError):
        return Exit.CONFIG
    if isinstance(error, LinkTimeoutError):
        return Exit.TIMEOUT
    if isinstance(error, ConflictError | HeldError | NotOursError | TakenError):
        return Exit.REFUSED
    return _exit_of_hub(error)


def _exit_of_hub(error: ToolyardError) -> Exit:
    from toolyard.console.background import HubEndedError
    from toolyard.records.runfile import AlreadyRunningError

    if isinstance(error, AlreadyRunningError):
        return Exit.RUNNING
    if isinstance(error, HubEndedError):
        return next((each for each in Exit if each == error.code), Exit.FAILED)
    return Exit.FAILED
