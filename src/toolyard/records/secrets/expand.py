"""References in what the user wrote, such as `${TOKEN}`, and what they stand for.

    ${VAR}, ${env:VAR}    the environment variable
    ${VAR:-default}       the same, or the default if it is unset or empty; it may hold references
    ${userHome}           the user's home directory
    ${workspaceFolder}    where the declaration was found
    ${keyring:name}       the secret `name` that hubs share, or else that of the system's keyring,
                          under the service `toolyard`
    ${member:name}        the secret `name` of the member who calls; for whoever is no member, as
                          ${keyring:name}: the hub's owner uses their own
    ${file:path}          what stands in the file, which must be the user's own and nobody else's
    $${                   a literal ${

A `$VAR` without braces is literal, and what a reference stands for is not looked at again.
A reference that stands for nothing is never left in place: it is missing, or an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from toolyard.core.endpoint import (
    Command,
    Endpoint,
    Pairs,
    change_client,
    client_texts,
    is_address,
)
from toolyard.core.errors import ConfigError
from toolyard.core.model import Server
from toolyard.records.secrets.keyring import read_keyring
from toolyard.records.secrets.mask import MASK, is_secret_name, learn, looks_random
from toolyard.records.secrets.secret_files import read_secret_file

DEPTH_LIMIT = 8
"""Defaults inside defaults; nobody needs more than two."""


def _ignore(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Lookup:
    """The values that references are resolved with."""

    env: Mapping[str, str] = field(repr=False)
    folder: str | None = None
    keyring: Callable[[str], str] = read_keyring
    file: Callable[[str], str] = read_secret_file
    member: Callable[[str], str] | None = None
    """Finds secrets of whoever calls; None for those of the hub's owner, in the keyring."""
    home: str = field(default_factory=lambda: str(Path.home()))
    resolved: Callable[[str, str], None] = _ignore
    """Hears of every value that a reference stood for."""


@dataclass(frozen=True, slots=True)
class Unset:
    """A reference that stands for nothing, and the part of the endpoint it is in."""

    name: str
    where: str


def expand_server(
    env: Mapping[str, str],
    keyring: Callable[[str], str],
    members: Callable[[str, str], str],
    server: Server,
    member: str = "",
) -> Endpoint:
    """Return the endpoint of a server with values; raises and blocks like `expand`.

    Args:
        members: Finds a secret by the key of its member, empty for the owner, and its name.
        member: The member who calls.
    """
    own = partial(members, member)
    return expand(server.endpoint, Lookup(env, server.folder, keyring, member=own))


def expand(endpoint: Endpoint, lookup: Lookup) -> Endpoint:
    """Return the endpoint with every reference replaced by what it stands for.

    May ask the keyring, which may wait for the user: on an event loop, call it in a thread.
    What it resolves is hidden in logs from then on.

    Raises:
        ConfigError: A reference stands for nothing, or for what cannot be used in its place.
    """
    if unset := find_unset(endpoint, lookup):
        raise ConfigError(*explain(unset))
    lookup = replace(lookup, resolved=_remember)
    if isinstance(endpoint, Command):
        cwd = None if endpoint.cwd is None else _text(endpoint.cwd, lookup, "cwd")
        command = Command(
            argv=tuple(_text(word, lookup, "the command") for word in endpoint.argv),
            env=_pairs(endpoint.env, lookup, "variable"),
            cwd=None if cwd is None else _place(cwd, lookup),
        )
        learn(command)
        return command
    url = _text(endpoint.url, lookup, "url")
    if not is_address(url):
        raise ConfigError("the url is no http address after expansion", "check its references")
    address = replace(
        endpoint,
        url=url,
        headers=_pairs(endpoint.headers, lookup, "header"),
        auth=change_client(
            endpoint.auth, lambda name, text: _text(text, lookup, f"'{name}' of auth")
        ),
    )
    learn(address)
    return address


def missing(endpoint: Endpoint, lookup: Lookup) -> tuple[str, ...]:
    """Return the names of references that stand for nothing; no secret is asked for."""
    return tuple(dict.fromkeys(unset.name for unset in find_unset(endpoint, lookup)))


def find_unset(endpoint: Endpoint, lookup: Lookup) -> tuple[Unset, ...]:
    """Return the references that stand for nothing, each with its place; no secret is asked for."""
    # Whoever only looks must neither wake the keyring nor hold a secret.
    careful = replace(
        lookup, keyring=lambda name: name, file=lambda path: path, member=lambda name: name
    )
    unset: list[Unset] = []
    for where, text in _parts(endpoint):
        names: list[str] = []
        _resolve(text, careful, names.append, 0)
        unset.extend(Unset(name, where) for name in names)
    return tuple(dict.fromkeys(unset))


def find_secrets(endpoint: Endpoint, folder: str | None = None) -> tuple[str, ...]:
    """Return the references to the keyring and to files, such as `keyring:name`; none is read."""
    keys: list[str] = []

    def note(kind: str) -> Callable[[str], str]:
        def noted(name: str) -> str:
            keys.append(f"{kind}:{name}")
            return ""

        return noted

    looking = Lookup({}, folder, note("keyring"), note("file"), member=lambda _name: "")
    for _, text in _parts(endpoint):
        _resolve(text, looking, _ignore, 0)
    return tuple(dict.fromkeys(keys))


def find_member_secrets(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the names in references such as `${member:name}`; none is read."""
    names: list[str] = []

    def note(name: str) -> str:
        names.append(name)
        return ""

    blind = Lookup({}, None, lambda _name: "", lambda _path: "", member=note)
    for _, text in _parts(endpoint):
        _resolve(text, blind, _ignore, 0)
    return tuple(dict.fromkeys(names))


def _remember(name: str, value: str) -> None:
    if name in ("keyring", "file", "member") or is_secret_name(name) or looks_random(value):
        MASK.add(value)


def explain(unset: tuple[Unset, ...]) -> tuple[str, str]:
    """Return text and hint on references that stand for nothing."""
    places = ", ".join(f"'{missing.name}' (in {missing.where})" for missing in unset)
    first = unset[0].name
    if first.startswith("${"):
        hint = "write a reference as ${NAME}, and a literal ${ as $${"
    elif ":" in first or first == "workspaceFolder":
        hint = (
            "use ${VAR}, ${env:VAR}, ${VAR:-default}, ${userHome}, ${keyring:name}, ${member:name}"
            " or ${file:path}"
        )
    else:
        hint = f"set '{first}' where the hub is started, or give a default: ${{{first}:-value}}"
    return f"not set: {places}", hint


def _parts(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    if isinstance(endpoint, Command):
        yield from (("the command", word) for word in endpoint.argv)
        yield from ((f"variable '{name}'", value) for name, value in endpoint.env)
        if endpoint.cwd is not None:
            yield "cwd", endpoint.cwd
    else:
        yield "url", endpoint.url
        yield from ((f"header '{name}'", value) for name, value in endpoint.headers)
        yield from ((f"'{name}' of auth", value) for name, value in client_texts(endpoint.auth))


def _pairs(pairs: Pairs, lookup: Lookup, what: str) -> Pairs:
    return tuple((name, _text(value, lookup, f"{what} '{name}'")) for name, value in pairs)


def _place(cwd: str, lookup: Lookup) -> str:
    """Make a directory absolute: the hub's own directory means nothing to who wrote it."""
    if cwd == "~" or cwd.startswith(("~/", "~\\")):
        cwd = lookup.home + cwd[1:]
    return os.path.join(lookup.folder, cwd) if lookup.folder else cwd


def _text(text: str, lookup: Lookup, where: str) -> str:
    unset: list[str] = []
    result = _resolve(text, lookup, unset.append, 0)
    if unset:
        raise ConfigError(*explain(tuple(Unset(name, where) for name in unset)))
    # A header with a line end would be two headers, and a NUL ends an argument early.
    if "\0" in result or (where.startswith(("header", "url")) and _breaks_line(result)):
        raise ConfigError(
            f"{where} holds a control character after expansion",
            "check the values of its references for line ends",
        )
    return result


def _breaks_line(text: str) -> bool:
    return "\r" in text or "\n" in text


def _resolve(text: str, lookup: Lookup, unset: Callable[[str], None], depth: int) -> str:
    """Replace the references in a text; the names of those without a value go to `unset`."""
    result: list[str] = []
    at = 0
    while (dollar := text.find("${", at)) >= 0:
        if dollar > at and text[dollar - 1] == "$":
            result.append(text[at : dollar - 1] + "${")
            at = dollar + 2
            continue
        result.append(text[at:dollar])
        end = _closing(text, dollar + 2)
        if end is None:
            unset(text[dollar:])
            return "".join(result)
        result.append(_value(text[dollar + 2 : end], lookup, unset, depth))
        at = end + 1
    return "".join(result) + text[at:]


def _closing(text: str, at: int) -> int | None:
    """Find the brace that closes a reference; those of references inside it do not count."""
    open_ones = 1
    while at < len(text):
        if text.startswith("${", at):
            open_ones += 1
            at += 1
        elif text[at] == "}":
            open_ones -= 1
            if open_ones == 0:
                return at
        at += 1
    return None


def _value(reference: str, lookup: Lookup, unset: Callable[[str], None], depth: int) -> str:
    if reference == "userHome":
        return lookup.home
    if reference == "workspaceFolder" and lookup.folder is not None:
        return lookup.folder
    kind, _, rest = reference.partition(":")
    if kind in ("keyring", "file") and rest:
        secret = lookup.keyring(rest) if kind == "keyring" else lookup.file(_place(rest, lookup))
        lookup.resolved(kind, secret)
        return secret
    if kind == "member" and rest:
        secret = (lookup.member or lookup.keyring)(rest)
        lookup.resolved(kind, secret)
        return secret
    name, has_default, default = reference.removeprefix("env:").partition(":-")
    value = lookup.env.get(name) if name else None
    if has_default and name and depth < DEPTH_LIMIT:
        lookup.resolved(name, value or "")
        return value or _resolve(default, lookup, unset, depth + 1)
    if value is None:
        unset(name or "${" + reference + "}")
        return ""
    lookup.resolved(name, value)
    return value
