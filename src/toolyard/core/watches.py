"""The variants of an app to look for, after the user's environment has been read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.apps import MISSES, MISSES_MOST, App, check_port, check_variant_name
from toolyard.core.errors import ConfigError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode

INTERVAL_MS: Final = 5000
SHORTEST_MS: Final = 100
LONGEST_MS: Final = 3_600_000
LOOPBACK: Final = "127.0.0.1"
"""Never the name `localhost`: somebody else may hold the other address it stands for."""
LEGACY: Final = "legacy"
"""The variant that a single address is treated as."""

_YES: Final = frozenset({"true", "1", "yes", "on"})
_NO: Final = frozenset({"false", "0", "no", "off"})
VARIABLES: Final = {
    "MCP_URL": "One address, treated as the variant `legacy`.",
    "SCAN_INTERVAL": "Milliseconds between two scans.",
    "SCAN_PORTS": "Ports choose among the known variants; `name:port` adds one.",
    "SCAN_MISSES": "Scans in a row that must miss a variant until it leaves.",
    "SCAN_ENABLED": "`false` looks at the one address only.",
}
"""What may follow the prefix of an app's variables."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of an app, and where it would be."""

    name: str
    port: int
    url: str
    is_local: bool = True
    """Whether the kernel's table of listeners can tell of it."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The variants to look for, and how often."""

    app: App
    variants: tuple[Variant, ...]
    interval_ms: int = INTERVAL_MS
    enabled: bool = True
    misses: int = MISSES
    """Scans in a row that must miss a variant until it leaves."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all variants."""
        return tuple(variant.name for variant in self.variants)


def settle(app: App, env: Mapping[str, str]) -> tuple[Watch, tuple[Problem, ...]]:
    """Give what to look for; what cannot be read is a problem, and the default stands."""
    hearing = _Hearing(app, env)
    enabled = app.enabled and hearing.enabled()
    variants = hearing.ports(_variants(app)) if enabled else ()
    single = hearing.address()
    if single is not None and app.enabled:
        variants = (*(variant for variant in variants if variant.name != LEGACY), single)
    watch = Watch(app, variants, hearing.interval(), enabled, hearing.misses())
    return watch, tuple(hearing.problems)


def variables(app: App) -> tuple[str, ...]:
    """The prefixes of an app's variables, the one that counts first in front."""
    ours = f"TOOLYARD_{app.name.upper().replace('-', '_')}_"
    return (ours, f"{app.prefix}_") if app.prefix else (ours,)


def in_force(apps: Iterable[App], env: Mapping[str, str]) -> dict[str, str]:
    """Give the values of all variables of these apps; empty for those that are not set."""
    names = (prefix + suffix for app in apps for prefix in variables(app) for suffix in VARIABLES)
    return {name: env.get(name, "") for name in names}


def _variants(app: App) -> tuple[Variant, ...]:
    return tuple(at_port(app, name, port) for name, port in app.variants)


def at_port(app: App, name: str, port: int) -> Variant:
    """A variant on a port of this machine."""
    return Variant(name, port, f"http://{LOOPBACK}:{port}{app.path}")


class _Hearing:
    """One reading of the environment for one app."""

    def __init__(self, app: App, env: Mapping[str, str]) -> None:
        self._app = app
        self._env = env
        self.problems: list[Problem] = []

    def enabled(self) -> bool:
        variable, text = self._get("SCAN_ENABLED")
        if text.lower() in _NO:
            return False
        if text and text.lower() not in _YES:
            self._trouble(variable, text, "use true or false; true is used")
        return True

    def interval(self) -> int:
        within = range(SHORTEST_MS, LONGEST_MS + 1)
        return self._number("SCAN_INTERVAL", within, "milliseconds", INTERVAL_MS)

    def misses(self) -> int:
        return self._number("SCAN_MISSES", range(1, MISSES_MOST + 1), "scans", self._app.misses)

    def _number(self, suffix: str, within: range, unit: str, usual: int) -> int:
        variable, text = self._get(suffix)
        if not text:
            return usual
        if text.isascii() and text.isdigit() and int(text[:10]) in within:
            return int(text)
        hint = f"use {within[0]} to {within[-1]} {unit}; {usual} is used"
        self._trouble(variable, text, hint)
        return usual

    def ports(self, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        variable, text = self._get("SCAN_PORTS")
        added: dict[str, Variant] = {}
        chosen: list[Variant] = []
        for part in (item.strip() for item in text.split(",") if item.strip()):
            try:
                name, port = _port(part, variants)
            except ConfigError as error:
                self._trouble(variable, part, f"{error.hint}; this part is ignored")
                continue
            if ":" in part:
                added[name] = at_port(self._app, name, port)
            else:
                chosen += [variant for variant in variants if variant.name == name]
        taken = {variant.port for variant in added.values()}
        others = [v for v in chosen or variants if v.name not in added and v.port not in taken]
        return (*others, *added.values())

    def address(self) -> Variant | None:
        variable, text = self._get("MCP_URL")
        if not text:
            return None
        try:
            parts = urlsplit(text)
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme[4:] else 80)
        except ValueError:
            host, port = "", 0
        if not host or not port or parts.scheme not in ("http", "https"):
            hint = f"write it like http://{LOOPBACK}:3030{self._app.path}; it is ignored"
            self._trouble(variable, text, hint)
            return None
        local = host.lower() in ("localhost", LOOPBACK) and parts.scheme == "http"
        if local:
            parts = parts._replace(netloc=f"{LOOPBACK}:{port}")
        if not parts.path:
            parts = parts._replace(path=self._app.path)
        return Variant(LEGACY, port, parts.geturl(), local)

    def _get(self, suffix: str) -> tuple[str, str]:
        for prefix in variables(self._app):
            if text := self._env.get(prefix + suffix, "").strip():
                return prefix + suffix, text
        return suffix, ""

    def _trouble(self, variable: str, text: str, hint: str) -> None:
        # An address may hold a password.
        shown = "is not an address" if variable.endswith("URL") else f"cannot be {text[:80]!r}"
        self.problems.append(
            Problem(ProblemCode.APP_SETTING, f"{variable} {shown}", hint, variable)
        )


def _port(part: str, variants: tuple[Variant, ...]) -> tuple[str, int]:
    """The variant that a part of the list means: a port that is known, or `name:port`."""
    name, colon, digits = part.rpartition(":")
    port = check_port(digits)
    if colon:
        return check_variant_name(name), port
    for variant in variants:
        if variant.port == port:
            return variant.name, port
    listed = ", ".join(str(variant.port) for variant in variants)
    raise ConfigError(f"no variant has port {port}", f"known are {listed}; name others: name:port")
