"""Definitions of servers: how one is started, what it needs, what it was seen to offer.

A definition is a file that people may write; `reading` reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from toolyard.core.endpoint import fingerprint
from toolyard.core.errors import ConfigError
from toolyard.core.model import NO_OFFERS, Command, Endpoint, Offers, Pairs, Peer

AuthorizationKind = Literal["none", "api_key", "bearer", "oauth2", "custom"]
PackageKind = Literal["npm", "pypi", "cargo", "oci", "binary", "nuget", "mcpb", "wasm"]
Folder = Literal["official", "custom"]
SOURCE: Final = "catalog"
"""The source of servers that were added from the catalog."""
FOLDERS: Final[tuple[Folder, ...]] = get_args(Folder)

NAME_HINT: Final = (
    "use 1 to 64 letters, digits, '_', '.' or '-', and begin with none of the last two"
)
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
# Windows opens a device for these, whatever comes after the dot.
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


class DefinitionError(ConfigError):
    """A definition cannot be used."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Something the user gives a server, by name."""

    name: str
    required: bool = False
    secret: bool = False
    text: str = ""
    url: str = ""
    """Where to get one."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """The authorization that a server asks for, and the variables that carry it."""

    kind: AuthorizationKind = "none"
    variables: tuple[Variable, ...] = ()
    url: str = ""
    """Where to get what it needs."""
    text: str = ""


@dataclass(frozen=True, slots=True)
class DefinedPackage:
    """The package that the program comes from."""

    kind: PackageKind
    name: str
    version: str = ""
    url: str = ""
    sha256: str = ""
    platforms: tuple[tuple[str, str, str], ...] = ()
    """Of a binary: platform, address and SHA-256 of each."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The findings when the server was last asked."""

    verified_at: str
    """RFC 3339, in UTC."""
    protocol_version: str = ""
    era: Literal["legacy", "modern", ""] = ""
    server_name: str = ""
    server_version: str = ""
    first_answer_ms: int | None = None
    schema_tokens: int | None = None
    """An estimate of what its lists cost a model."""
    capabilities: bytes = b""
    instructions: str = ""
    previous: Verification | None = None

    def peer(self) -> Peer | None:
        """The server's description of itself; None if too little is on file."""
        if not self.era or not self.protocol_version:
            return None
        return Peer(
            self.era,
            self.protocol_version,
            self.server_name,
            self.server_version,
            self.capabilities or b"{}",
            self.instructions,
        )


@dataclass(frozen=True, slots=True)
class Definition:
    """One server of the catalog."""

    name: str
    endpoint: Endpoint
    full_name: str = ""
    """The name it is published under, such as `io.github.someone/weather`."""
    version: str = ""
    title: str = ""
    description: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    icon: str = ""
    links: Pairs = ()
    authorization: Authorization = Authorization()
    package: DefinedPackage | None = None
    timeout: float | None = None
    verification: Verification | None = None
    listed: Offers = field(default=NO_OFFERS, repr=False)
    tool_names: tuple[str, ...] = ()
    """What its tools were called when the definition was written: to find it by."""
    notes: tuple[str, ...] = ()
    """What had to be left out of the file, in sentences."""

    @property
    def transport(self) -> str:
        """The transport it is reached over."""
        return "stdio" if isinstance(self.endpoint, Command) else self.endpoint.kind

    @property
    def launch(self) -> str:
        """A fingerprint of how it is started and what it asks for, whatever users give it."""
        names = tuple(variable.name for variable in self.authorization.variables)
        return fingerprint(self.endpoint, names)

    @property
    def known_tools(self) -> tuple[str, ...]:
        """The names of its tools: as it was last asked, or else as its definition came with."""
        return tuple(offer.key for offer in self.listed.tools) or self.tool_names

    def offers(self) -> Offers | None:
        """The server's offers as its file has them; None if it was never asked."""
        return self.listed if self.listed != NO_OFFERS or self.verification else None


def check_name(name: str) -> str:
    """Give the name if it can be one of a server and of a file, on every system.

    Raises:
        DefinitionError: It cannot.
    """
    if not _NAME.fullmatch(name) or name.endswith(".") or _DEVICE.fullmatch(name):
        raise DefinitionError(f"{name[:80]!r} cannot name a server", NAME_HINT)
    return name
