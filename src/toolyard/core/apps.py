"""Apps: programs that run in several variants, each on a port that is known beforehand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject

PLATFORMS: Final = ("linux", "macos", "windows")
PLACE: Final = "{place}"
"""What stands in a launch command for the place where the app was found."""
LAUNCH: Final = {"linux": (PLACE,), "macos": ("open", "-a", PLACE), "windows": (PLACE,)}
RESERVED: Final = frozenset(
    {"announced", "apps", "bundled", "catalog", "configured", "scan", "toolyard"}
)
"""Names of sources, and our own: an app called so could not be told from them."""
MISSES: Final = 3
"""Scans in a row that must miss a variant until it is gone: a restart is shorter."""
MISSES_MOST: Final = 1000
VARIANTS_MOST: Final = 64
"""More ports than that are no variants of an app."""

# A name is part of tool names and the scheme of a URI, which allows no more.
_APP: Final = re.compile(r"[a-z][a-z0-9-]{0,30}")
_APP_HINT: Final = "use 1 to 31 small letters, digits or '-', beginning with a letter"
_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_VARIANT_HINT: Final = "use 1 to 32 letters, digits, '-' or single '_'"
_PREFIX: Final = re.compile(r"[A-Z][A-Z0-9_]{0,30}")
_PATH: Final = re.compile(r"/[!-~]*")

Texts = tuple[str, ...]
PerPlatform = tuple[tuple[str, Texts], ...]


@dataclass(frozen=True, slots=True)
class Install:
    """One program of an app: what people call it, where it may be, how it is started."""

    label: str
    variant: str = ""
    places: PerPlatform = ()
    launch: PerPlatform = ()

    def places_on(self, platform: str) -> Texts:
        """The places where it may be on a platform; the first that exists counts."""
        return dict(self.places).get(platform, ())

    def launch_on(self, platform: str) -> Texts:
        """The command that starts it on a platform, as an argument vector."""
        return dict(self.launch).get(platform, LAUNCH.get(platform, ()))


@dataclass(frozen=True, slots=True)
class App:
    """An app as its definition has it."""

    name: str
    match: str
    """What the name of its MCP server contains, whatever the case."""
    variants: tuple[tuple[str, int], ...]
    title: str = ""
    path: str = "/mcp"
    prefix: str = ""
    """What its own environment variables begin with, e.g. `KUNOBI`; empty for none."""
    installs: tuple[Install, ...] = ()
    enabled: bool = True
    misses: int = MISSES
    """Scans in a row that must miss a variant until it leaves."""
    example: tuple[str, str, str] = ("", "", "")
    """A call that shows how it is done: variant, tool, and the arguments as JSON."""

    def is_called(self, name: str) -> bool:
        """Return whether a server of this name is the app."""
        return self.match.lower() in name.lower()


def read_app(value: object) -> App:
    """Read a definition.

    Raises:
        ConfigError: It cannot be used.
    """
    fields = _object(value, "the definition")
    name = check_app_name(fields.get("name"))
    return App(
        name=name,
        match=_text(fields, "match", name),
        variants=_variants(fields.get("variants")),
        title=_text(fields, "title", name.capitalize()),
        path=check_path(fields.get("path", "/mcp")),
        prefix=_prefix(fields.get("environment", "")),
        installs=_installs(fields.get("installs", [])),
        enabled=_flag(fields.get("enabled", True)),
        misses=_misses(fields.get("misses", MISSES)),
        example=_example(fields.get("example", {})),
    )


class InstallFields(Struct, frozen=True, omit_defaults=True):
    """A program of an app, as its definition is written down."""

    label: str
    variant: str = ""
    places: dict[str, list[str]] = {}
    launch: dict[str, list[str]] = {}


class ExampleFields(Struct, frozen=True):
    """A call that shows how it is done, as a definition has it."""

    variant: str
    tool: str
    arguments: JsonObject


class AppFields(Struct, frozen=True, omit_defaults=True):
    """An app as its definition is written down."""

    name: str
    match: str
    path: str
    variants: dict[str, int]
    title: str = ""
    environment: str = ""
    enabled: bool = True
    misses: int = MISSES
    example: ExampleFields | None = None
    installs: list[InstallFields] = []


def write_app(app: App) -> AppFields:
    """Give a definition as JSON has it; `read_app` reads it back."""
    variant, tool, arguments = app.example
    return AppFields(
        app.name,
        app.match,
        app.path,
        dict(app.variants),
        title=app.title,
        environment=app.prefix,
        enabled=app.enabled,
        misses=app.misses,
        example=ExampleFields(variant, tool, json.loads(arguments)) if tool else None,
        installs=[_write_install(install) for install in app.installs],
    )


def _write_install(install: Install) -> InstallFields:
    places, launch = _write_platforms(install.places), _write_platforms(install.launch)
    return InstallFields(install.label, install.variant, places, launch)


def _write_platforms(texts: PerPlatform) -> dict[str, list[str]]:
    return {platform: list(of_platform) for platform, of_platform in texts}


def check_app_name(name: object) -> str:
    """Give the name back if an app may have it.

    Raises:
        ConfigError: It may not.
    """
    if not isinstance(name, str) or not _APP.fullmatch(name):
        raise ConfigError(f"{_shown(name)} cannot name an app", _APP_HINT)
    if name in RESERVED:
        raise ConfigError(f"an app cannot be called '{name}'", "that name has a meaning already")
    return name


def check_variant_name(name: object) -> str:
    """Give the name back if a variant may have it.

    Raises:
        ConfigError: It may not.
    """
    # Two of them stand between variant and tool.
    if not isinstance(name, str) or not _VARIANT.fullmatch(name) or "__" in name:
        raise ConfigError(f"{_shown(name)} cannot name a variant", _VARIANT_HINT)
    return name


def check_port(port: object) -> int:
    """Give the port back if it is one.

    Raises:
        ConfigError: It is not.
    """
    if isinstance(port, str) and port.isascii() and port.isdigit():
        port = int(port)
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        raise ConfigError(f"{_shown(port)} is not a port", "ports are whole numbers, 1 to 65535")
    return port


def check_path(path: object) -> str:
    """Give the path of an address back if it is one.

    Raises:
        ConfigError: It is not.
    """
    if not isinstance(path, str) or not _PATH.fullmatch(path) or "#" in path:
        raise ConfigError(f"{_shown(path)} is not a path", "write it like /mcp, percent-encoded")
    return path


def _variants(value: object) -> tuple[tuple[str, int], ...]:
    entries = _object(value, "'variants'")
    if not 0 < len(entries) <= VARIANTS_MOST:
        text = f"an app has 1 to {VARIANTS_MOST} variants, this has {len(entries)}"
        raise ConfigError(text, 'write {"variants": {"dev": 3400}}')
    variants = tuple((check_variant_name(name), check_port(port)) for name, port in entries.items())
    ports = [port for _, port in variants]
    if len(set(ports)) < len(ports):
        twice = next(port for port in ports if ports.count(port) > 1)
        raise ConfigError(f"two variants have port {twice}", "give each a port of its own")
    return variants


def _prefix(value: object) -> str:
    if value != "" and not (isinstance(value, str) and _PREFIX.fullmatch(value)):
        hint = "use capital letters, digits and '_', like KUNOBI"
        raise ConfigError(f"{_shown(value)} cannot begin a variable", hint)
    return str(value).rstrip("_")


def _example(value: object) -> tuple[str, str, str]:
    fields = _object(value, "'example'")
    if not fields:
        return ("", "", "")
    arguments = _object(fields.get("arguments", {}), "'arguments' of 'example'")
    variant, tool = _text(fields, "variant", ""), _text(fields, "tool", "tool")
    return variant, tool, json.dumps(arguments)


def _installs(value: object) -> tuple[Install, ...]:
    if not isinstance(value, list):
        raise ConfigError("'installs' is not a list", 'write [{"label": "My App", ...}]')
    return tuple(_install(entry) for entry in value)


def _install(value: object) -> Install:
    fields = _object(value, "an entry of 'installs'")
    label = _text(fields, "label", "")
    if not label:
        raise ConfigError("an entry of 'installs' has no label", "say what people call it")
    variant = fields.get("variant", "")
    return Install(
        label=label,
        variant=check_variant_name(variant) if variant else "",
        places=_per_platform(fields.get("places", {}), "places"),
        launch=_per_platform(fields.get("launch", {}), "launch"),
    )


def _per_platform(value: object, key: str) -> PerPlatform:
    platforms = _object(value, f"'{key}'")
    if unknown := sorted(set(platforms) - set(PLATFORMS)):
        hint = "there are: " + ", ".join(PLATFORMS)
        raise ConfigError(f"'{key}' names the unknown platform {_shown(unknown[0])}", hint)
    out = []
    for platform, texts in platforms.items():
        if not isinstance(texts, list) or not all(isinstance(t, str) and t for t in texts):
            raise ConfigError(f"'{key}' of {platform} is not a list of texts", 'write ["..."]')
        out.append((platform, tuple(texts)))
    return tuple(out)


def _object(value: object, subject: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{subject} is not an object", 'write it as {"name": ...}')
    return value


def _text(fields: Mapping[str, Any], key: str, default: str) -> str:
    value = fields.get(key, default)
    if not isinstance(value, str) or (key in fields and not value.strip()):
        raise ConfigError(f"'{key}' is not a text", f'write {{"{key}": "..."}}')
    if len(value) > 200 or not value.isprintable():
        raise ConfigError(f"'{key}' cannot be shown", "use up to 200 printable characters")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError("'enabled' is neither true nor false", "write true or false")
    return value


def _misses(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MISSES_MOST:
        raise ConfigError("'misses' is not a number of scans", f"write 1 to {MISSES_MOST}")
    return value


def _shown(value: object) -> str:
    return repr(value)[:80]
