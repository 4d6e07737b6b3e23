"""Finds the executable of a command, or explains why it cannot be started."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolyard.core.errors import StartError
from toolyard.core.failure_hints import PROVIDERS
from toolyard.core.model import Command

_SHOWN_FOLDERS = 8
_HINTS = {
    errno.EAGAIN: "too many processes run for this user; end some and try again",
    errno.ENOMEM: "the machine is out of memory; end something and try again",
    errno.EMFILE: "the hub has too many files open; raise `ulimit -n`",
    errno.ENFILE: "the machine has too many files open",
    errno.E2BIG: "its arguments and environment are too long together",
    errno.EACCES: "make the file executable and its folder readable",
    errno.ENOEXEC: "it is no program for this machine; a script needs a `#!` line",
}


@dataclass(frozen=True, slots=True)
class Program:
    """A command ready to start: the file to run, its arguments, its working folder."""

    path: str
    argv: tuple[str, ...]
    cwd: str | None


def locate(name: str, command: Command, env: Mapping[str, str]) -> Program:
    """Return the program of a command, looked up on the PATH that the server will have.

    Raises:
        StartError: It is missing, cannot be executed, or the command cannot be a command.
    """
    _check_text(name, command, env)
    cwd = _folder(name, command.cwd)
    word = command.argv[0]
    if "/" in word:
        path = _by_path(name, word, cwd)
    else:
        path = _by_search(name, word, env.get("PATH", os.defpath))
    return Program(path, command.argv, cwd)


def refusal(name: str, program: Program, error: OSError | ValueError) -> StartError:
    """Return the error for a program that the system would not start."""
    hint = _HINTS.get(getattr(error, "errno", None) or 0, "run it by hand to see what is wrong")
    if isinstance(error, FileNotFoundError):
        # The file was there a moment ago, so the kernel misses what its first line asks for.
        hint = _interpreter_hint(program.path)
    reason = getattr(error, "strerror", None) or str(error)
    return StartError(f'cannot start "{name}": "{program.path}": {reason.lower()}', hint)


def _check_text(name: str, command: Command, env: Mapping[str, str]) -> None:
    if not command.argv or not command.argv[0]:
        raise StartError(
            f'cannot start "{name}": its command is empty',
            "name a program to run, or an executor that runs the image it names",
        )
    if any("\0" in text for text in (*command.argv, command.cwd or "")):
        raise StartError(
            f'cannot start "{name}": its command holds a zero byte', "remove it from the command"
        )
    for key, value in env.items():
        if not key or "=" in key or "\0" in key or "\0" in value:
            raise StartError(
                f'cannot start "{name}": the environment variable {key!r} cannot be set',
                'names must not be empty or hold "=", names and values no zero byte',
            )


def _folder(name: str, cwd: str | None) -> str | None:
    if cwd is None:
        return None
    if not os.path.isdir(cwd):
        problem = "is not a folder" if os.path.exists(cwd) else "does not exist"
        raise StartError(
            f'cannot start "{name}": its working folder "{cwd}" {problem}',
            _tilde_hint(cwd) or "create the folder or correct `cwd`",
        )
    return os.path.abspath(cwd)


def _by_path(name: str, word: str, cwd: str | None) -> str:
    path = os.path.abspath(os.path.join(cwd or os.getcwd(), word))
    executable = shutil.which(path)
    if executable is not None:
        return executable
    if os.path.isdir(path):
        raise StartError(f'cannot start "{name}": "{path}" is a folder', "name a file in it")
    if os.path.exists(path):
        raise _not_executable(name, path)
    raise StartError(
        f'cannot start "{name}": "{path}" does not exist',
        _tilde_hint(word) or "correct the path or install the program",
    )


def _by_search(name: str, word: str, path: str) -> str:
    executable = shutil.which(word, path=path)
    if executable is not None:
        return os.path.abspath(executable)
    folders = [folder for folder in path.split(os.pathsep) if folder]
    for folder in folders:
        candidate = os.path.join(folder, word)
        if os.path.isfile(candidate):
            raise _not_executable(name, candidate)
    raise StartError(
        f'cannot start "{name}": "{word}" was not found on the PATH',
        f"{_advice(word)}; looked in {_listed(folders)}",
    )


def _advice(word: str) -> str:
    provider = PROVIDERS.get(word)
    return f"install {provider}" if provider else "install it or give its full path"


def _listed(folders: list[str]) -> str:
    shown = ", ".join(folders[:_SHOWN_FOLDERS]) or "no folder, the PATH is empty"
    more = len(folders) - _SHOWN_FOLDERS
    return f"{shown} and {more} more" if more > 0 else shown


def _not_executable(name: str, path: str) -> StartError:
    return StartError(
        f'cannot start "{name}": "{path}" is not executable',
        f"run `chmod +x {path}` or name its interpreter in the command",
    )


def _tilde_hint(text: str) -> str:
    return 'write the full path: "~" is not expanded' if text.startswith("~") else ""


def _interpreter_hint(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            first = file.readline(256)
    except OSError:
        return "the file is gone; install it again"
    if first.startswith(b"#!"):
        return f"its first line asks for {first[2:].decode(errors='replace').strip()!r}; install it"
    return "a library or loader it needs is missing; install it again for this machine"
