"""Text for the shell on a remote host: it starts a server, and a reaper that ends it for sure.

Everything goes over the stdin of one constant command, so neither arguments nor environment pass
through the login shell, and no value is ever on a command line where `ps` shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Final

from toolyard.core.errors import StartError
from toolyard.core.placement import Run
from toolyard.core.sites import Placement

# One line without backslash, newline or exclamation mark: csh and fish read it as sh does.
LOADER: Final = (
    "exec sh -c 'echo toolyard-shell $$; while IFS= read -r _ty; do eval \"$_ty\"; done' toolyard"
)
SIGN: Final = b"toolyard-shell "
"""The beginning of our lines; the output of a shell profile has no such beginning."""

_FIND_PROGRAM: Final = (files(__package__) / "find_program.sh").read_text(encoding="utf-8")
_REAPER: Final = (files(__package__) / "reaper.sh").read_text(encoding="utf-8")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Names of ours begin with `_ty`, so that none is one the server declares.
_NEWLINE = r"_ty_n=$(printf '\n_'); _ty_n=${_ty_n%_}"


def lines(texts: Iterable[str]) -> bytes:
    """Return the lines as the remote shell reads them."""
    return os.fsencode("".join(f"{text}\n" for text in (_NEWLINE, *texts)))


def word(text: str) -> str:
    """Return the text as one word of sh, on one line."""
    return "'" + text.replace("'", "'\"'\"'").replace("\n", "'\"$_ty_n\"'") + "'"


def launch(run: Run, marks: Iterable[tuple[str, str]]) -> bytes:
    """Return the text that turns the waiting shell into the server: environment, folder, program.

    The shell replies `ok` before it does, or the problem: `cwd`, `missing PATH`,
    `script INTERPRETER`, `limit NAME`.

    Raises:
        StartError: The command cannot be a command.
    """
    _check(run)
    command = run.command
    texts = [f"export {name}={word(value)}" for name, value in (*command.env, *marks)]
    if command.cwd is not None:
        texts.append(f"cd {word(command.cwd)} 2>/dev/null || {{ {_say('cwd')}; exit 126; }}")
    texts += [f"_ty_p={word(command.argv[0])}", f"eval {word(_FIND_PROGRAM)}"]
    # Last: what looks for the program is not to be short of processes or memory.
    texts += [*_limits(run.placement), _say("ok"), "unset _ty_p"]
    return lines([*texts, "exec " + " ".join(map(word, command.argv))])


def refusal(run: Run, host: str, reply: str, noise: str) -> StartError:
    """Return the error for a shell that did not become the server, by its reply and its output."""
    start = f'cannot start "{run.name}": '
    kind, _, rest = reply.partition(" ")
    program = run.command.argv[0]
    if kind == "cwd":
        folder = run.command.cwd
        return StartError(
            f'{start}its working folder "{folder}" does not exist on {host}',
            "create the folder there or correct `cwd`",
        )
    if kind == "missing" and "/" in program:
        return StartError(
            f'{start}"{program}" is no program on {host}', "install it there or correct the path"
        )
    if kind == "missing":
        return StartError(
            f'{start}"{program}" was not found on the PATH of {host}',
            f"install it there or give its full path; looked in {', '.join(rest.split(':'))}",
        )
    if kind == "script":
        return StartError(
            f'{start}"{program}" asks for "{rest}", which {host} has not', "install that there"
        )
    if kind == "limit":
        return StartError(
            f"{start}the shell of {host} cannot limit its {rest}",
            f'remove "{rest}" from its `executor`, or run it where that can be limited',
        )
    return StartError(
        f"{start}the shell of {host} did not start it: {noise or 'no output'}",
        "try the command there by hand",
    )


def reaper(hub: str, owner: str, connection: str) -> bytes:
    """Return the program that ends what a connection started, once that connection is gone.

    The marks are parts of the environment of the processes it may end: all of this hub, all of
    this start of it, all of this connection.
    """
    names = f"hub={word(hub)} owner={word(owner)} connection={word(connection)}"
    return lines([names, f"eval {word(_REAPER)}", "exit"])


def _limits(placement: Placement) -> Iterator[str]:
    """Lines that set the limits of a server; a lower limit of the host stays as it is.

    Memory is counted where it is private and writable, as for local servers. Shells differ in the
    letter for processes; in those that know the first, the second means something else.
    """
    for name, letters, most in (
        ("descriptors", "-n", placement.descriptors),
        ("processes", "-u -p", placement.processes),
        ("memory", "-d", placement.memory << 10),
    ):
        if most:
            is_set = f'ulimit $_ty {most:d} || [ "$(ulimit -H $_ty)" -le {most:d} ]'
            attempt = f"for _ty in {letters}; do {{ {is_set}; }} 2>/dev/null && break; done"
            yield f"{attempt} || {{ {_say(f'limit {name}')}; exit 126; }}"


def _say(text: str) -> str:
    return f"echo {SIGN.decode().strip()} {text}"


def _check(run: Run) -> None:
    command = run.command
    if not command.argv or not command.argv[0]:
        raise StartError(
            f'cannot start "{run.name}": its command is empty', "name a program to run"
        )
    if any("\0" in text for text in (*command.argv, command.cwd or "")):
        raise StartError(
            f'cannot start "{run.name}": its command holds a zero byte',
            "remove it from the command",
        )
    for name, value in command.env:
        if not _NAME.fullmatch(name) or "\0" in value:
            raise StartError(
                f'cannot start "{run.name}": the environment variable {name!r} cannot be set there',
                "names consist of letters, digits and underscores, values hold no zero byte",
            )
