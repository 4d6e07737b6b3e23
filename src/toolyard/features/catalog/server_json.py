"""`server.json`, the form in which servers are published: read as an endpoint, and written.

Inputs that only the user knows become references such as `${API_KEY}`. Keys may be in snake case,
as older files have them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from toolyard.core.endpoint import Command, Endpoint, Pairs, Url
from toolyard.core.endpoint_fields import read_endpoint
from toolyard.core.errors import ConfigError
from toolyard.core.transports import read_transport
from toolyard.features.catalog.field_reader import FieldReader
from toolyard.features.catalog.model import (
    DefinedPackage,
    Definition,
    DefinitionError,
    PackageKind,
    Variable,
)

SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PRIVATE: Final = "local.toolyard"
"""Stands before the name of a definition that is not published anywhere."""
DESCRIPTION_LIMIT: Final = 100
"""Characters `server.json` allows."""
KINDS: Final[dict[str, PackageKind]] = {
    "npm": "npm", "pypi": "pypi", "cargo": "cargo", "oci": "oci", "docker": "oci",
    "binary": "binary", "nuget": "nuget", "mcpb": "mcpb", "wasm": "wasm",
}  # fmt: skip
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9@._][A-Za-z0-9@._/:+-]*")
_SLOT: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]*)\}")


@dataclass(frozen=True, slots=True)
class PublishedTransport:
    """One way to run or reach a published server, and what it takes."""

    endpoint: Endpoint
    package: DefinedPackage | None = None
    variables: tuple[Variable, ...] = ()


def find_transport(server: FieldReader) -> PublishedTransport:
    """Return the first transport of a `server.json` that can be used: packages, then remotes.

    Raises:
        ConfigError: There is none.
    """
    reasons: list[ConfigError] = []
    for read, parts in ((_package, server.parts("packages")), (_remote, server.parts("remotes"))):
        for part in parts:
            try:
                return read(part)
            except ConfigError as error:
                reasons.append(error)
    if reasons:
        raise reasons[0]
    raise DefinitionError(
        "it does not say how the server is started or reached",
        "add 'runtime' with a 'command' or a 'url'",
    )


def _package(part: FieldReader) -> PublishedTransport:
    spelled = part.text("registryType", "registry_type", "registry_name")
    kind = KINDS.get(spelled.lower())
    name, version = part.text("identifier", "name"), part.text("version")
    if kind is None:
        raise DefinitionError(f"packages of type {spelled[:40]!r} are unknown to us")
    # A name that begins with a dash would be read as a flag by whatever runs it.
    if not _IDENTIFIER.fullmatch(name) or (version and not _IDENTIFIER.fullmatch(version)):
        raise DefinitionError(f"{name[:80]!r} cannot name a package", "check name and version")
    transport = part.part("transport")
    if transport and read_transport(transport.text("type") or "stdio") != "stdio":
        raise DefinitionError(
            f"package '{name}' does not speak on stdin and stdout", "use a remote, or 'runtime'"
        )
    inputs = _Inputs()
    env = inputs.variables(part.parts("environmentVariables", "environment_variables"))
    before = inputs.arguments(part.parts("runtimeArguments", "runtime_arguments"))
    after = inputs.arguments(part.parts("packageArguments", "package_arguments"))
    hint = part.text("runtimeHint", "runtime_hint")
    package = DefinedPackage(kind, name, version, sha256=part.text("fileSha256", "file_sha256"))
    argv = _runner(package, hint, before, [variable.name for variable in inputs.asked_for])
    endpoint = read_endpoint({"command": [*argv, *after], "env": dict(env)})
    return PublishedTransport(endpoint, package, tuple(inputs.asked_for))


def _runner(
    package: DefinedPackage, hint: str, before: tuple[str, ...], names: list[str]
) -> tuple[str, ...]:
    """The command that starts a package, by its kind."""
    exact = f"{package.name}@{package.version}" if package.version else package.name
    match package.kind:
        case "npm":
            yes = () if "-y" in before or hint not in ("", "npx") else ("-y",)
            return (hint or "npx", *yes, *before, exact)
        case "pypi":
            return (hint or "uvx", *before, exact)
        case "oci":
            # By name alone: the value comes from the environment and is on no command line.
            passed = tuple(word for name in names for word in ("-e", name))
            return (hint or "docker", "run", "-i", "--rm", *passed, *before, _image(package))
        case "nuget":
            return (hint or "dnx", exact, "--yes", *before)
        case "cargo":
            return (hint or package.name.rpartition("/")[2], *before)
        case _:
            raise DefinitionError(
                f"packages of type '{package.kind}' are not fetched by us",
                "install it yourself, and name its program in 'runtime.command'",
            )


def _image(package: DefinedPackage) -> str:
    has_tag = ":" in package.name.rpartition("/")[2] or "@" in package.name
    return f"{package.name}:{package.version}" if package.version and not has_tag else package.name


def _remote(part: FieldReader) -> PublishedTransport:
    inputs = _Inputs()
    entry = {
        "type": part.text("type", "transport_type", "transport") or "http",
        "url": inputs.fill(part.text("url"), part.part("variables")),
        "headers": dict(inputs.headers(part.parts("headers"))),
    }
    return PublishedTransport(read_endpoint(entry), None, tuple(inputs.asked_for))


class _Inputs:
    """Turns inputs into texts, and remembers which ones the user must give."""

    def __init__(self) -> None:
        self.asked_for: list[Variable] = []

    def variables(self, parts: list[FieldReader]) -> Pairs:
        texts = [(part.text("name"), self._text(part, part.text("name"))) for part in parts]
        return tuple((name, text) for name, text in texts if text is not None)

    def headers(self, parts: list[FieldReader]) -> Pairs:
        texts = [(part.text("name"), self._text(part, _upper(part.text("name")))) for part in parts]
        return tuple((name, text) for name, text in texts if text is not None)

    def arguments(self, parts: list[FieldReader]) -> tuple[str, ...]:
        words: list[str] = []
        for part in parts:
            name = part.text("name")
            hint = part.text("valueHint", "value_hint") or name.lstrip("-") or "value"
            text = self._text(part, _upper(hint))
            if text is not None:
                words += [name, text] if part.text("type") == "named" and name else [text]
        return tuple(words)

    def fill(self, text: str, variables: FieldReader | None) -> str:
        """Put what is known of the variables into a text, and references for the rest."""

        def value(match: re.Match[str]) -> str:
            part = variables.part(match[1]) if variables else None
            if part is None:
                return match[0]  # unknown ones stay as they are
            return self._text(part, _upper(match[1])) or ""

        return _SLOT.sub(value, text.replace("${", "$${"))

    def _text(self, part: FieldReader, name: str) -> str | None:
        if value := part.text("value"):
            return self.fill(value, part.part("variables"))
        default = part.text("default")
        required = part.flag("isRequired", "is_required")
        secret = part.flag("isSecret", "is_secret")
        self.asked_for.append(
            Variable(name, required and not default, secret, part.text("description"))
        )
        if default:
            plain = any(char in default for char in "{}$")
            return default.replace("${", "$${") if plain else f"${{{name}:-{default}}}"
        return f"${{{name}}}" if required else None


def _upper(name: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_") or "VALUE"


class _Written(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A part of `server.json`, which leaves out what is not said."""


class PublishedInput(_Written, frozen=True, kw_only=True):
    """A variable or a header that the user gives; its value is never told."""

    name: str
    description: str = ""
    is_required: bool
    is_secret: bool


class PublishedRemote(_Written, frozen=True, kw_only=True):
    """An address of a published server."""

    type: str
    url: str
    headers: list[PublishedInput] = []


class PackageTransport(_Written, frozen=True, kw_only=True):
    """The transport of a package's program."""

    type: str


class PublishedPackage(_Written, frozen=True, kw_only=True):
    """A package that starts a published server."""

    registry_type: str
    identifier: str
    transport: PackageTransport
    version: str = ""
    file_sha256: str = ""
    environment_variables: list[PublishedInput] = []


class PublishedRepository(_Written, frozen=True, kw_only=True):
    """The place of a published server's source."""

    url: str
    source: str


class PublishedServer(_Written, frozen=True, kw_only=True):
    """A server as `server.json` has it."""

    schema: str = msgspec.field(name="$schema")
    name: str
    description: str
    version: str
    title: str = ""
    website_url: str = ""
    repository: PublishedRepository | None = None
    remotes: list[PublishedRemote] = []
    packages: list[PublishedPackage] = []


def to_server(definition: Definition) -> PublishedServer:
    """Return a definition as `server.json`; of variables and headers only the names are told."""
    text = definition.description or definition.title or definition.name
    short = text if len(text) <= DESCRIPTION_LIMIT else text[: DESCRIPTION_LIMIT - 1] + "…"
    links = dict(definition.links)
    repository, endpoint = links.get("repository"), definition.endpoint
    return PublishedServer(
        schema=SCHEMA,
        name=definition.full_name or f"{PRIVATE}/{definition.name}",
        description=short,
        version=definition.version or "0.0.0",
        title=definition.title[:DESCRIPTION_LIMIT],
        website_url=links.get("homepage") or links.get("documentation") or "",
        repository=PublishedRepository(url=repository, source=_host(repository))
        if repository
        else None,
        remotes=[_to_remote(endpoint)] if isinstance(endpoint, Url) else [],
        packages=_to_packages(definition, endpoint) if isinstance(endpoint, Command) else [],
    )


def _to_remote(endpoint: Url) -> PublishedRemote:
    headers = [
        PublishedInput(name=name, is_required=True, is_secret=True) for name, _ in endpoint.headers
    ]
    url = endpoint.url.split("?")[0].split("${")[0]  # what comes after may be the user's own
    kind = "sse" if endpoint.kind == "sse" else "streamable-http"
    return PublishedRemote(type=kind, url=url, headers=headers)


def _to_packages(definition: Definition, endpoint: Command) -> list[PublishedPackage]:
    package = definition.package
    if package is None:
        return []
    variables = {variable.name: variable for variable in definition.authorization.variables}
    names = dict.fromkeys([*variables, *(name for name, _ in endpoint.env)])
    written = PublishedPackage(
        registry_type=package.kind,
        identifier=package.name,
        transport=PackageTransport(type="stdio"),
        version=package.version,
        file_sha256=package.sha256,
        environment_variables=[_to_input(variables.get(name) or Variable(name)) for name in names],
    )
    return [written]


def _to_input(variable: Variable) -> PublishedInput:
    return PublishedInput(
        name=variable.name,
        description=variable.text,
        is_required=variable.required,
        is_secret=variable.secret,
    )


def _host(url: str) -> str:
    return next((host for host in ("github", "gitlab") if f"{host}." in url), "git")
