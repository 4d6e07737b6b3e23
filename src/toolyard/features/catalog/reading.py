"""Reads a definition from its JSON: our own form, that of `server.json`, and older spellings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from toolyard.core.endpoint import Pairs
from toolyard.core.endpoint_fields import read_endpoint, read_timeout
from toolyard.core.errors import ConfigError
from toolyard.core.lists import LIST_KEYS, read_offers, split_list
from toolyard.features.catalog.field_reader import FieldReader
from toolyard.features.catalog.model import (
    Authorization,
    AuthorizationKind,
    DefinedPackage,
    Definition,
    DefinitionError,
    Variable,
    Verification,
    check_name,
)
from toolyard.features.catalog.server_json import KINDS, PublishedTransport, find_transport

AUTHORIZATIONS: Final[dict[str, AuthorizationKind]] = {
    "none": "none",
    "api_key": "api_key",
    "apikey": "api_key",
    "bearer": "bearer",
    "bearer_token": "bearer",
    "oauth2": "oauth2",
    "oauth": "oauth2",
    "custom": "custom",
}
LINKS: Final = (
    *("homepage", "websiteUrl", "website_url", "repository", "documentation", "docs"),
    *("support", "license"),
)
_FULL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FULL_HINT: Final = "a published name is 'domain.in.reverse/server'"


def read_definition(text: bytes) -> Definition:
    """Read one definition.

    Raises:
        ConfigError: It cannot be used.
        msgspec.DecodeError: It is not JSON.
    """
    fields = _fields(text)
    lists: dict[str, list[bytes]] = {
        key: _list(key, fields.pop(key)) for key in LIST_KEYS if key in fields
    }
    try:
        top = FieldReader({key: msgspec.json.decode(raw) for key, raw in fields.items()})
    except (msgspec.ValidationError, RecursionError) as error:
        raise DefinitionError(
            "it holds a number or a nesting that is too large", "take it out"
        ) from error
    name, full_name = _name(top)
    transport = _transport(top)
    offers, notes = read_offers(lists)
    metadata, runtime = top.part("metadata"), top.part("runtime")
    return Definition(
        name=name,
        endpoint=transport.endpoint,
        full_name=full_name,
        version=top.text("version"),
        title=top.text("title"),
        description=top.text("description"),
        category=top.text("category"),
        tags=top.texts("tags"),
        icon=_icon(top),
        links=_links(top),
        authorization=_authorization(top, transport),
        package=transport.package,
        timeout=read_timeout(runtime.get("timeout") if runtime else None),
        verification=_verification(metadata, fields.get("metadata")) if metadata else None,
        listed=offers,
        tool_names=top.texts("tool_names"),
        notes=notes,
    )


def _fields(text: bytes) -> dict[str, Raw]:
    try:
        return msgspec.json.decode(text, type=dict[str, Raw])
    except msgspec.ValidationError as error:
        raise DefinitionError("the file is not an object", "write it as {...}") from error
    except RecursionError as error:
        raise DefinitionError("the file is nested too deeply", "flatten it") from error


def _list(key: str, raw: Raw) -> list[bytes]:
    if bytes(raw).strip() == b"null":
        return []
    try:
        return split_list(bytes(raw))
    except (msgspec.DecodeError, RecursionError) as error:
        raise DefinitionError(f"'{key}' is not a list", "write it as [...]") from error


def _name(top: FieldReader) -> tuple[str, str]:
    """The name here, and the one it is published under."""
    name = top.text("name")
    if "/" not in name:
        return check_name(name), top.text("full_name", "fullName")
    if not _FULL_NAME.fullmatch(name):
        raise DefinitionError(f"{name[:80]!r} cannot name a server", _FULL_HINT)
    return check_name(name.partition("/")[2][:64]), name


def _transport(top: FieldReader) -> PublishedTransport:
    runtime = top.part("runtime")
    if runtime is None:
        return find_transport(top)
    endpoint = read_endpoint(runtime.value)
    package = top.part("package")
    own_package = _package(package) if package else None
    if own_package is None and top.get("packages") is not None:
        try:
            transport = find_transport(top)
        except ConfigError:  # its own runtime says all that is needed
            return PublishedTransport(endpoint)
        return PublishedTransport(endpoint, transport.package, transport.variables)
    return PublishedTransport(endpoint, own_package)


def _package(package: FieldReader) -> DefinedPackage:
    spelled = package.text("type", "registryType")
    kind = KINDS.get(spelled.lower())
    if kind is None:
        kinds = ", ".join(dict.fromkeys(KINDS.values()))
        raise DefinitionError(f"packages of type {spelled[:40]!r} are unknown", f"use: {kinds}")
    platforms = package.part("platforms")
    return DefinedPackage(
        kind,
        package.text("name", "identifier", "image", "url", "local_path"),
        package.text("version"),
        package.text("url"),
        _digest(package),
        tuple(
            (key, part.text("url"), _digest(part))
            for key, part in ((key, platforms.part(key)) for key in platforms.value)
            if part
        )
        if platforms
        else (),
    )


def _digest(part: FieldReader) -> str:
    digest = part.text("sha256", "fileSha256").lower()
    if digest and not re.fullmatch("[0-9a-f]{64}", digest):
        raise DefinitionError(f"{part.at('sha256')} is no SHA-256", "write 64 hexadecimal digits")
    return digest


def _authorization(top: FieldReader, transport: PublishedTransport) -> Authorization:
    part = top.part("authorization")
    if part is None:
        secret = any(variable.secret for variable in transport.variables)
        return Authorization("api_key" if secret else "none", transport.variables)
    spelled = part.text("type") or "none"
    kind = AUTHORIZATIONS.get(spelled.lower().replace("-", "_"))
    if kind is None:
        kinds = ", ".join(dict.fromkeys(AUTHORIZATIONS.values()))
        raise DefinitionError(f"authorization {spelled[:40]!r} is unknown", f"use: {kinds}")
    variables = _variables(part)
    known_names = {variable.name for variable in variables}
    variables += [variable for variable in transport.variables if variable.name not in known_names]
    return Authorization(
        kind, tuple(variables), part.text("url", "help_url", "helpUrl"), part.text("description")
    )


def _variables(part: FieldReader) -> list[Variable]:
    required = part.flag("required", default=part.text("type") != "oauth2")
    url = part.text("url", "help_url", "helpUrl")
    single = [part.text("env_var", "variable")]
    if oauth := part.part("oauth"):
        single.append(oauth.text("token_env"))
    variables = [
        Variable(name, required, secret=True, text=part.text("display_name"), url=url)
        for name in single
        if name
    ]
    for entry in part.parts("variables", "env_vars"):
        needed = entry.flag("required", "isRequired") and not entry.text("default")
        text = entry.text("description", "display_name")
        secret = entry.flag("secret", "isSecret")
        variables.append(
            Variable(entry.text("name"), needed, secret, text, entry.text("url") or url)
        )
    for variable in variables:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", variable.name):
            raise DefinitionError(
                f"{variable.name[:80]!r} cannot name a variable", "use letters, digits and '_'"
            )
    return variables


def _icon(top: FieldReader) -> str:
    icons = top.parts("icons") if top.get("icon") is None else []
    return icons[0].text("src") if icons else top.text("icon")


def _links(top: FieldReader) -> Pairs:
    links = dict(top.pairs("links"))
    for key in LINKS:
        value = top.get(key)
        if isinstance(value, Mapping):  # the repository of a server.json
            value = value.get("url")
        if isinstance(value, str) and value:
            name = "homepage" if key.startswith("website") else key
            links.setdefault("documentation" if key == "docs" else name, value)
    return tuple(links.items())


def _verification(metadata: FieldReader, raw: Raw | None) -> Verification | None:
    if not metadata.text("verified_at"):
        return None
    capabilities = b""
    if raw is not None and metadata.get("capabilities") is not None:
        fields = msgspec.json.decode(raw, type=dict[str, Raw])
        capabilities = msgspec.json.format(bytes(fields["capabilities"]), indent=-1)
    previous = metadata.part("previous")
    return Verification(
        verified_at=metadata.text("verified_at"),
        protocol_version=metadata.text("protocol_version"),
        era=_era(metadata.text("era")),
        server_name=metadata.text("server_name"),
        server_version=metadata.text("server_version"),
        first_answer_ms=_whole(metadata.get("first_answer_ms")),
        schema_tokens=_whole(metadata.get("schema_tokens")),
        capabilities=capabilities,
        instructions=metadata.text("instructions"),
        previous=_verification(previous, None) if previous else None,
    )


def _era(text: str) -> Literal["legacy", "modern", ""]:
    return "legacy" if text == "legacy" else "modern" if text == "modern" else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
