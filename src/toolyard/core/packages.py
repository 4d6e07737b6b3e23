"""Commands that fetch a package before they run it, read as the package they mean.

`npx`, `uvx` and `pipx run` look for a package and perhaps download it; most stand beside the server
for as long as it lives. What is understood here can be installed once and started without them;
what is not understood in full is left alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolyard.core.model import Command, Pairs

Kind = Literal["npm", "pypi"]

_NPM: Final = re.compile(
    r"(?P<name>(?:@[A-Za-z0-9][\w.~-]*/)?[A-Za-z0-9][\w.~-]*)(?:@(?P<version>[\w^~<>=*.+-]+))?",
    re.ASCII,
)
_PYPI: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?P<extras>\[[A-Za-z0-9._,-]+\])?"
    r"(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9.+!]*)"
    r"|(?P<bounds>(?:[=~!<>]=|[<>])[A-Za-z0-9.*+!]+(?:,(?:[=~!<>]=|[<>])[A-Za-z0-9.*+!]+)*))?"
)
_NPX_PLAIN: Final = frozenset(("-y", "--yes", "-q", "--quiet", "--silent", "--prefer-offline"))
_NPX_VALUED: Final[Mapping[str, str]] = {"-p": "package", "--package": "package"}
_UVX_PLAIN: Final = frozenset(("-q", "--quiet", "--isolated", "--no-progress"))
_UVX_VALUED: Final[Mapping[str, str]] = {
    "--from": "from",
    "--with": "with",
    "-w": "with",
    "--python": "python",
    "-p": "python",
}
_PIPX_PLAIN: Final = frozenset(("-q", "--quiet", "--no-cache"))
_PIPX_VALUED: Final[Mapping[str, str]] = {
    "--spec": "from",
    "--python": "python",
}
_FETCHING: Final[Mapping[str, tuple[str, ...]]] = {
    "bun": ("x",),
    "bunx": (),
    "npm": ("exec", "x"),
    "npx": (),
    "pipx": ("run",),
    "pnpm": ("dlx",),
    "pnpx": (),
    "uv": ("run", "tool"),
    "uvx": (),
    "yarn": ("dlx",),
}
"""Programs that fetch a package and run it, and the words that make them do so."""
_STEERING: Final = ("npm_config_", "node_", "uv_")
"""What variables that decide which package is fetched, and for what, begin with."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that a launcher is told to run."""

    kind: Kind
    name: str
    spec: str
    """What the installer is told: the name, and which versions will do."""
    binary: str
    """Which of its programs; empty for the one it is known for."""
    args: tuple[str, ...] = ()
    """What the program is given."""
    extras: tuple[str, ...] = ()
    """What is installed beside it."""
    python: str = ""
    """The Python it is to run on, if that was said."""


@dataclass(frozen=True, slots=True)
class _Words:
    """A launcher's own flags, and what follows them."""

    values: Mapping[str, tuple[str, ...]]
    rest: tuple[str, ...]


def recognise(argv: tuple[str, ...]) -> Package | None:
    """Give the package that a command runs; None if it is no launcher's, or there is doubt."""
    if not argv:
        return None
    launcher = argv[0].rpartition("/")[2]
    if launcher == "npx":
        return _npx(argv[1:])
    if launcher == "uvx":
        return _pypi(_read(argv[1:], _UVX_PLAIN, _UVX_VALUED))
    if launcher == "uv" and argv[1:3] == ("tool", "run"):
        return _pypi(_read(argv[3:], _UVX_PLAIN, _UVX_VALUED))
    if launcher == "pipx" and argv[1:2] == ("run",):
        return _pypi(_read(argv[2:], _PIPX_PLAIN, _PIPX_VALUED), by_sign=False)
    return None


def may_fetch(argv: tuple[str, ...]) -> bool:
    """Return whether a command may install a package before it runs, understood or not."""
    launcher = argv[0].rpartition("/")[2] if argv else ""
    orders = _FETCHING.get(launcher)
    return orders is not None and (not orders or "".join(argv[1:2]) in orders)


def installation_name(package: Package, env: Pairs) -> str:
    """The name of an installation: alike for all commands that would fetch the same."""
    steering = sorted(pair for pair in env if pair[0].lower().startswith(_STEERING))
    texts = [
        package.kind,
        package.spec,
        package.binary,
        *package.extras,
        package.python,
        json.dumps(steering),
    ]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{package.name.removeprefix('@').replace('/', '-')}-{digest[:8]}"


def start_installed(command: Command, package: Package, program: str, path: str) -> Command:
    """The command without its launcher; `path` is what the launcher would have put on the PATH."""
    env = tuple(pair for pair in command.env if pair[0] != "PATH")
    return Command((program, *package.args), (*env, ("PATH", path)), command.cwd)


def _npx(words: tuple[str, ...]) -> Package | None:
    read = _read(words, _NPX_PLAIN, _NPX_VALUED)
    if read is None or not read.rest:
        return None
    first, args = read.rest[0], read.rest[1:]
    specs = read.values.get("package", ())
    if len(specs) > 1 or args[:1] == ("--",):
        return None
    match = _NPM.fullmatch(specs[0] if specs else first)
    if match is None or (specs and not _is_program(first)):
        return None
    return Package("npm", match["name"], match[0], first if specs else "", args)


def _pypi(read: _Words | None, *, by_sign: bool = True) -> Package | None:
    """Read a package of PyPI; `by_sign` tells whether `name@1.2` is one of its versions."""
    if read is None or not read.rest:
        return None
    first, args = read.rest[0], read.rest[1:]
    specs, python = read.values.get("from", ()), read.values.get("python", ())
    match = _PYPI.fullmatch(specs[0] if specs else first)
    extras = tuple(extra for value in read.values.get("with", ()) for extra in value.split(","))
    if (
        match is None
        or (match["version"] and not by_sign)
        or len(specs) > 1
        or len(python) > 1
        or args[:1] == ("--",)
    ):
        return None
    if not all(map(_PYPI.fullmatch, extras)) or (specs and not _is_program(first)):
        return None
    binary = first if specs else match["name"]
    if re.fullmatch(r"python[0-9.]*", binary):
        return None  # a bare interpreter, which no package is known for
    return Package(
        "pypi", match["name"], _requirement(match), binary, args, extras, "".join(python)
    )


def _requirement(match: re.Match[str]) -> str:
    """As an installer takes it: `name@1.2` is a launcher's own spelling."""
    name = match["name"] + (match["extras"] or "")
    version = match["version"]
    if version is not None:
        return name if version == "latest" else f"{name}=={version}"
    return name + (match["bounds"] or "")


def _is_program(word: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9][\w.-]*", word, re.ASCII))


def _read(
    words: tuple[str, ...], plain: frozenset[str], valued: Mapping[str, str]
) -> _Words | None:
    """Part a launcher's flags from the rest; None if one is not known."""
    values: dict[str, tuple[str, ...]] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return _Words(values, words[at:])
        if not word.startswith("-"):
            return _Words(values, words[at - 1 :])
        flag, equals, value = word.partition("=")
        if word in plain:
            continue
        if flag not in valued or (equals and not flag.startswith("--")):
            return None
        if not equals:
            value, at = "".join(words[at : at + 1]), at + 1
        if not value or value.startswith("-"):
            return None
        values[valued[flag]] = (*values.get(valued[flag], ()), value)
    return _Words(values, ())
