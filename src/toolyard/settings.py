"""The settings, fixed before start: read once, from flags, then the environment, then defaults.

Every setting carries its own description; the reference page is made from it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from toolyard.core.errors import ConfigError
from toolyard.core.names import SEPARATORS

Expose = Literal["all", "search"]
Budget = Literal["evict", "refuse"]
LogLevel = Literal["debug", "info", "warning", "error"]
Switch = Literal["on", "off"]
New = Literal["list", "hold"]
Launches = Literal["catalog", "all", "off"]

PREFIX: Final = "TOOLYARD_"
HOME: Final = "TOOLYARD_HOME"
"""One directory for everything, instead of the places the system has for it."""
XDG_HOMES: Final = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
}
"""The variables that move the directories of all programs, and where these are otherwise."""
PORT: Final = 7420
RUN_USER: Final = "/run/user"
"""Where Linux keeps runtime directories. Many MCP clients start their servers without
XDG_RUNTIME_DIR in the environment; they must find the hub that was started with it."""
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
TOKEN_SHORTEST: Final = 16
"""Fewer characters can be guessed; ours have 43."""
KEY_SHORTEST: Final = 32
"""A key is made once, by a program, and read by programs alone."""
KEYS: Final = 2
"""Keys that are good at the same time: the new one, and the one that it replaces."""

OWN: Final = "own"
"""The issuer of a hub that lets people log in with itself."""
_MIB: Final = 1024 * 1024
_REPLICA: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PEER_ADDRESS: Final = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}")
_MOST: Final = 2**31 - 1
Read = Callable[[str], Any]


def _path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("a path")
    return Path(os.path.abspath(os.path.expanduser(text)))


def _count(least: int, most: int = _MOST) -> Read:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"a whole number from {least} to {most}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    allowed = "seconds, more than 0 and at most 86400"
    try:
        value = float(text)
    except ValueError:
        raise ValueError(allowed) from None
    if not 0 < value <= 86400:  # which also turns away what is not a number
        raise ValueError(allowed)
    return value


def _delay(text: str) -> float:
    return 0.0 if text == "0" else _seconds(text)


def _patience(text: str) -> float:
    return 0.0 if text == "never" else _seconds(text)


def _budget(text: str) -> int:
    return 0 if text == "none" else _count(1)(text)


def _one_of(*allowed: str) -> Read:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return text

    return read


def _separator(text: str) -> str:
    if text not in SEPARATORS and text != "none":
        raise ValueError("one of __, ., /, none")
    return "" if text == "none" else text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _host(text: str) -> str:
    if not text or any(char.isspace() or char in "/[]\0" for char in text):
        raise ValueError("an address or a host name, without a port")
    return text


def _is_visible(text: str) -> bool:
    return all("!" <= char <= "~" for char in text)


def _public(text: str) -> str:
    allowed = "an address such as https://hub.example.com, without a path"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(allowed) from None
    beside = parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or beside:
        raise ValueError(allowed)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else _host(parts.hostname)
    usual = port is None or port == DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if usual else f":{port}")


def _issuer(text: str) -> str:
    allowed = (
        "an address such as https://login.example.com, as the issuer writes it in its tokens, "
        f"or {OWN!r} for a hub that people log in with"
    )
    if text == OWN:
        return text
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError(allowed) from None
    beside = parts.query or parts.fragment or "#" in text or parts.username is not None
    if not _is_trusted(parts) or not parts.hostname or beside:
        raise ValueError(allowed)
    if not _is_visible(text):
        raise ValueError(allowed)
    return text


def _is_trusted(parts: SplitResult) -> bool:
    """Tell whether nobody reads along on the way to an address: https, or this machine."""
    is_near = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    return parts.scheme == "https" or is_near


def _words(text: str) -> tuple[str, ...]:
    words = tuple(text.split())
    if not all(_is_visible(word) and not {*word} & {'"', "\\"} for word in words):
        raise ValueError("words of visible ASCII characters, with blanks between")
    return words


def _claim(text: str) -> str:
    if not 0 < len(text) <= 255 or not _is_visible(text):
        raise ValueError("the name of a claim")
    return text


def _client(text: str) -> str:
    if not 0 < len(text) <= 500 or not _is_visible(text):
        raise ValueError("up to 500 visible ASCII characters, as the issuer gave it")
    return text


def _token(text: str) -> str:
    if len(text) < TOKEN_SHORTEST or not _is_visible(text):
        raise ValueError(f"{TOKEN_SHORTEST} or more visible ASCII characters, without spaces")
    return text


def _keys(text: str) -> tuple[str, ...]:
    keys = _names(text)
    is_fit = 0 < len(keys) <= KEYS and len(set(keys)) == len(keys)
    if not is_fit or not all(len(key) >= KEY_SHORTEST and _is_visible(key) for key in keys):
        raise ValueError(
            f"{KEY_SHORTEST} or more visible ASCII characters; while a key is being replaced "
            "the new one, a comma, and the old one"
        )
    return keys


def _replica(text: str) -> str:
    if not _REPLICA.fullmatch(text):  # so that it can be the value of a label as it is
        raise ValueError("1 to 63 letters, digits, and between them `-`, `_` and `.`")
    return text


def _peer_address(text: str) -> str:
    if not _PEER_ADDRESS.fullmatch(text):
        raise ValueError("HOST:PORT; an IPv6 address in brackets")
    return text


def _export(text: str) -> str:
    allowed = (
        "file:///PATH, syslog+udp://HOST, syslog+tcp://HOST, syslog+unix:///PATH, or an http or "
        "https address"
    )
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError(allowed) from None
    is_path = parts.scheme in ("file", "syslog+unix") and parts.path.startswith("/")
    is_host = parts.scheme in ("syslog+udp", "syslog+tcp", "http", "https") and parts.hostname
    is_path = is_path and not parts.netloc
    if not (is_path or is_host) or not _is_visible(text):
        raise ValueError(allowed)
    return text


def _database(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")) or "\0" in text:
        raise ValueError("an address like postgresql://USER@HOST/DATABASE")
    return text


def _schema(text: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", text) or text.startswith("pg_"):
        raise ValueError("1 to 40 of a-z, 0-9 and '_', which begin with no digit")
    return text


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is fixed while a hub runs; `SETTINGS` describes each."""

    config_file: Path
    apps_dir: Path
    state_dir: Path
    cache_dir: Path
    runtime_dir: Path
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = PORT
    port_fixed: bool = False
    """The port was told by the user, so no other may take its place."""
    public: str = ""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token: str | None = field(default=None, repr=False)
    issuer: str = ""
    audience: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    groups_claim: str = "groups"
    client_documents: Switch = "on"
    page_client: str = ""
    page_client_secret: str | None = field(default=None, repr=False)
    key: tuple[str, ...] = field(default=(), repr=False)
    replica: str = ""
    probe_port: int = 0
    probe_host: str = ""
    peer_port: int = 0
    peer_host: str = ""
    peer_address: str = ""
    database: str | None = field(default=None, repr=False)
    database_schema: str = "toolyard"
    separator: str = "__"
    expose: Expose = "all"
    pinned: tuple[str, ...] = ()
    page_size: int = 5000
    idle_timeout: float = 600.0
    running_limit: int = 64
    memory_limit: int = 0
    instance_limit: int = 32
    budget: Budget = "evict"
    call_timeout: float = 120.0
    queue_timeout: float = 30.0
    start_timeout: float = 60.0
    install_timeout: float = 300.0
    client_message_limit: int = 4 * _MIB
    server_message_limit: int = 16 * _MIB
    session_limit: int = 1000
    session_idle: float = 1800.0
    session_days: int = 7
    connection_limit: int = 2000
    unread_limit: int = 64 * _MIB
    drain_delay: float = 0.0
    pins_new: New = "list"
    pins_found: Switch = "off"
    pins_launch: Launches = "catalog"
    cache_packages: Switch = "on"
    frozen: Switch = "off"
    lock_file: Path = Path("toolyard.lock")
    history: Switch = "on"
    history_rows: int = 100_000
    history_days: int = 30
    history_bodies: Switch = "off"
    history_export: str = field(default="", repr=False)
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    log_level: LogLevel = "info"


@dataclass(frozen=True, slots=True)
class Setting:
    """The description of one setting; `read` makes a value from what people write."""

    name: str
    read: Read
    text: str
    unit: str = ""
    flag: str = ""
    short: str = ""
    """What its variable is called after the prefix, if not as it is."""
    is_secret: bool = False
    """True if its value is shown nowhere."""

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return PREFIX + (self.short or self.name.upper())


SETTINGS: Final = (
    Setting("config_file", _path, "The file that declares the servers.", "", "--config", "CONFIG"),
    Setting("apps_dir", _path, "Where your definitions of apps are."),
    Setting("state_dir", _path, "Where the hub keeps what it remembers."),
    Setting("cache_dir", _path, "Where the hub keeps what it can make again."),
    Setting("runtime_dir", _path, "Where socket, lock, token and log of the hub are."),
    Setting("data_dir", _path, "Where the catalog of servers is."),
    Setting(
        "host",
        _host,
        "The address the HTTP doors listen on; `0.0.0.0` or `::` for all.",
        "",
        "--host",
    ),
    Setting(
        "port",
        _count(1, 65535),
        "The port of the HTTP doors; if it was not told and is in use, the next free one.",
        "",
        "--port",
    ),
    Setting(
        "public",
        _public,
        "The address that others reach the hub at: `Host`, links and logins go by it.",
        "",
        "--public",
    ),
    Setting(
        "tls_cert", _path, "The certificate that encrypts the HTTP doors, in PEM.", "", "--tls-cert"
    ),
    Setting("tls_key", _path, "The key of that certificate.", "", "--tls-key"),
    Setting(
        "token",
        _token,
        "The token of the HTTP doors, instead of the one in the token file.",
        is_secret=True,
    ),
    Setting(
        "issuer",
        _issuer,
        "The issuer (OpenID provider) whose tokens let people in by their own name, as members; "
        "`own` for those whom you invite to log in with the hub itself.",
        "",
        "--issuer",
    ),
    Setting(
        "audience",
        _words,
        "Other names of the hub in those tokens, beside its address; blanks between them.",
    ),
    Setting("scopes", _words, "Scopes that those tokens must have; blanks between them."),
    Setting("groups_claim", _claim, "The claim of those tokens that lists the groups of a person."),
    Setting(
        "client_documents",
        _one_of(*get_args(Switch)),
        "Whether clients that log in with the hub itself may describe themselves at an address of "
        "theirs, where the hub looks: `on`, or `off` for a hub that cannot reach them. All others "
        "are registered.",
    ),
    Setting(
        "page_client",
        _client,
        "The client id of the page at that issuer, where people log in on the page; needed if the "
        "issuer registers nobody by itself.",
    ),
    Setting(
        "page_client_secret",
        _client,
        "The secret of that client, if the issuer gave it one.",
        is_secret=True,
    ),
    Setting(
        "key",
        _keys,
        "The key that replicas of one hub share: with it, each serves the sessions of all, and "
        "secrets in a shared database are sealed.",
        is_secret=True,
    ),
    Setting(
        "replica",
        _replica,
        "The name of this hub among those that share its state; in a cluster that of its pod.",
    ),
    Setting(
        "probe_port",
        _count(1, 65535),
        "A port that answers `/health/live` and `/health/ready` alone, to anybody without a token.",
    ),
    Setting(
        "probe_host",
        _host,
        "The address that port listens on, if not that of the HTTP doors; `0.0.0.0` for all.",
    ),
    Setting(
        "peer_port",
        _count(1, 65535),
        "A port for other replicas: they pass on what this one holds. Needs a key and a database.",
    ),
    Setting(
        "peer_host",
        _host,
        "The address that port listens on, if not that of the HTTP doors; `0.0.0.0` for all.",
    ),
    Setting(
        "peer_address",
        _peer_address,
        "Host and port by which other replicas reach it, if those are others.",
    ),
    Setting(
        "database",
        _database,
        "The PostgreSQL database that several hubs share, instead of files: `postgresql://…`.",
        is_secret=True,
    ),
    Setting("database_schema", _schema, "The schema in it that holds this yard."),
    Setting(
        "separator",
        _separator,
        "What stands between alias and tool: `__`, `.`, `/`, or `none` for one server alone.",
        "",
        "--separator",
    ),
    Setting(
        "expose",
        _one_of(*get_args(Expose)),
        "List every tool (`all`), or only the hub's own and the pinned ones (`search`).",
        "",
        "--expose",
    ),
    Setting("pinned", _names, "Tools that are listed even with `search`.", "", "--pin", "PIN"),
    Setting("page_size", _count(1), "How many offers one page of a list has.", "offers"),
    Setting(
        "idle_timeout",
        _patience,
        "How long a server that we started may be without a call until it rests, or `never`.",
        "s",
    ),
    Setting(
        "running_limit",
        _count(1),
        "How many servers that we started may run at each executor.",
    ),
    Setting(
        "memory_limit",
        _budget,
        "How much memory those at each executor may take, where it is known, or `none`.",
        "MB",
    ),
    Setting(
        "instance_limit",
        _count(1),
        "How many servers may run for the sessions of one token, or of one stdio client.",
    ),
    Setting(
        "budget",
        _one_of(*get_args(Budget)),
        "When a limit is reached: let the least recently used rest (`evict`), or `refuse`.",
    ),
    Setting("call_timeout", _seconds, "How long a call may take, if its entry does not say.", "s"),
    Setting(
        "queue_timeout",
        _delay,
        "How much of that time a call may wait in line while its server has as many calls under "
        "way as it may; 0 refuses it at once.",
        "s",
    ),
    Setting("start_timeout", _seconds, "How long a server may take until it has greeted.", "s"),
    Setting(
        "install_timeout",
        _seconds,
        "The same for one whose launcher (`npx`, `uvx`) may have to install its package first.",
        "s",
    ),
    Setting(
        "client_message_limit", _count(1024), "The largest message taken from a client.", "bytes"
    ),
    Setting(
        "server_message_limit", _count(1024), "The largest message taken from a server.", "bytes"
    ),
    Setting(
        "session_limit",
        _count(1),
        "How many sessions may be open; one token of an agent may have a quarter of them.",
        "sessions",
    ),
    Setting("session_idle", _seconds, "How long a session may be idle until it is closed.", "s"),
    Setting(
        "session_days",
        _count(1, 365),
        "For how many days a replica takes up a session that another one began.",
        "days",
    ),
    Setting(
        "connection_limit",
        _count(1),
        "How many connections HTTP holds; for a new one, the oldest that has shown no token ends.",
        "connections",
    ),
    Setting(
        "unread_limit",
        _count(1024),
        "How much clients may leave unread in all; beyond it the slowest are cut off.",
        "bytes",
    ),
    Setting(
        "drain_delay",
        _delay,
        "How long a hub that was told to stop still serves, is not ready, and sends clients away.",
        "s",
    ),
    Setting(
        "pins_new",
        _one_of(*get_args(New)),
        "A tool or prompt that a known server offers anew: `list` it and say so, or `hold` it.",
    ),
    Setting(
        "pins_found",
        _one_of(*get_args(Switch)),
        "Whether tools of servers that were found (announced, apps) wait too when they change.",
    ),
    Setting(
        "pins_launch",
        _one_of(*get_args(Launches)),
        "Whose changed launch waits: that of servers of the `catalog`, of `all`, or none (`off`).",
    ),
    Setting(
        "cache_packages",
        _one_of(*get_args(Switch)),
        "Whether what `npx`, `uvx` and `pipx run` start is installed once, to start without them.",
    ),
    Setting(
        "frozen",
        _one_of(*get_args(Switch)),
        "Whether only what is in the lock file counts as approved.",
        "",
        "--frozen",
    ),
    Setting("lock_file", _path, "The lock file of a frozen hub.", "", "--lock", "LOCK"),
    Setting("history", _one_of(*get_args(Switch)), "Whether calls are recorded: `on` or `off`."),
    Setting("history_rows", _count(1), "How many calls are kept.", "calls"),
    Setting("history_days", _count(1, 36500), "For how many days they are kept.", "days"),
    Setting(
        "history_bodies",
        _one_of(*get_args(Switch)),
        "Whether arguments and results are kept too, without their secrets; `replay` needs them.",
    ),
    Setting(
        "history_export",
        _export,
        "Where calls and orders go as they happen, as lines of JSON: `file:///PATH`, "
        "`syslog+udp://HOST:514`, `syslog+tcp://HOST:514`, `syslog+unix:///dev/log`, or the `http` "
        "or `https` address of a collector.",
        is_secret=True,
    ),
    Setting(
        "allowed_hosts",
        _names,
        "Names with port, beside the hub's own, that `Host` may hold.",
        "",
        "--allow-host",
        "ALLOW_HOST",
    ),
    Setting(
        "allowed_origins",
        _names,
        "Origins, beside the hub's own, that may send requests.",
        "",
        "--allow-origin",
        "ALLOW_ORIGIN",
    ),
    Setting(
        "log_level",
        _one_of(*get_args(LogLevel)),
        "The least grave messages that are logged: debug, info, warning or error.",
        "",
        "--log-level",
    ),
)


def read_settings(flags: Mapping[str, object], env: Mapping[str, str]) -> Settings:
    """Settle every setting: `flags` by name, else `TOOLYARD_*` of `env`, else its default.

    A flag that is None and a variable that is empty count as not given.

    Raises:
        ConfigError: A value cannot be used, or a flag is not known.
    """
    if unknown := sorted(set(flags) - {setting.name for setting in SETTINGS}):
        raise ConfigError(f"there is no setting '{unknown[0]}'", "see the reference of settings")
    values: dict[str, Any] = dict(_places(env))
    for setting in SETTINGS:
        if (flag := flags.get(setting.name)) is not None:
            values[setting.name] = _value(setting, setting.flag or f"'{setting.name}'", flag)
        elif written := env.get(setting.variable, ""):
            values[setting.name] = _value(setting, setting.variable, written)
    if ("tls_cert" in values) != ("tls_key" in values):
        raise ConfigError(
            "a certificate is of no use without its key, nor a key without its certificate",
            "give both --tls-cert and --tls-key, or neither",
        )
    if values.get("issuer") == OWN:
        _check_own(values.get("public", ""))
    return Settings(**values, port_fixed="port" in values)


def _check_own(public: str) -> None:
    """See that people can send their passwords to the hub, and find it where it was."""
    if not public:
        text = f"people log in with the hub ({OWN!r}) at its public address alone, and it has none"
        raise ConfigError(text, "name it with --public https://…")
    if not _is_trusted(urlsplit(public)):
        text = f"passwords would travel unencrypted to {public}"
        raise ConfigError(text, "give --public an address with https://")


def in_force(settings: Settings) -> dict[str, str]:
    """Give every setting that is no secret as text, by its variable."""
    return {
        setting.variable: str("" if (value := getattr(settings, setting.name)) is None else value)
        for setting in SETTINGS
        if not setting.is_secret
    }


def _value(setting: Setting, origin: str, written: object) -> Any:
    texts = written if isinstance(written, list | tuple) else (written,)
    text = ",".join(str(part) for part in texts)
    try:
        return setting.read(text)
    except ValueError as error:
        # A secret must not get into a terminal's history or a log by being wrong.
        shown = "a value that cannot be used" if setting.is_secret else repr(text)
        raise ConfigError(f"{origin} is {shown}", f"allowed is {error}") from None


def _places(env: Mapping[str, str]) -> dict[str, Path]:
    """Give the default of every path: below TOOLYARD_HOME, or where the system wants it."""
    if home := env.get(HOME, ""):
        top = _path(home)
        return {
            "config_file": top / "servers.json",
            "apps_dir": top / "apps",
            "state_dir": top / "state",
            "cache_dir": top / "cache",
            "data_dir": top / "data",
            "runtime_dir": top / "run",
        }
    config, state, cache, data = _system_places(env)
    return {
        "config_file": config / "servers.json",
        "apps_dir": config / "apps",
        "state_dir": state,
        "cache_dir": cache,
        "data_dir": data,
        "runtime_dir": _runtime(env) or state / "run",
    }


def _system_places(env: Mapping[str, str]) -> tuple[Path, Path, Path, Path]:
    if sys.platform == "darwin":
        import platformdirs

        dirs = platformdirs.PlatformDirs("toolyard", appauthor=False)
        config, state = dirs.user_config_path, dirs.user_state_path
        return config, state, dirs.user_cache_path, dirs.user_data_path
    config, state, cache, data = (_xdg(env, name) / "toolyard" for name in XDG_HOMES)
    return config, state, cache, data


def _xdg(env: Mapping[str, str], name: str) -> Path:
    written = env.get(name, "").strip()
    # The specification says that a relative path is to be ignored.
    if os.path.isabs(written):
        return Path(written)
    return Path(env.get("HOME") or os.path.expanduser("~"), XDG_HOMES[name])


def moved_places(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that lead away from the usual directories.

    Whoever starts us without them comes to another hub, with other servers.
    """
    if home := env.get(HOME):
        return {HOME: os.path.abspath(os.path.expanduser(home))}
    if sys.platform == "darwin":
        return {}
    usual = {name: value for name, value in env.items() if name not in XDG_HOMES}
    places = {name: _xdg(env, name) for name in XDG_HOMES}
    return {name: str(place) for name, place in places.items() if place != _xdg(usual, name)}


def _runtime(env: Mapping[str, str]) -> Path | None:
    """The runtime directory if it is the user's own.

    There is no other place for it: a directory in the shared temporary area could be made by
    anybody beforehand, so without this one the state directory is used.
    """
    written = env.get("XDG_RUNTIME_DIR", "").strip() or f"{RUN_USER}/{os.geteuid()}"
    return Path(written) / "toolyard" if is_own(written) else None


def is_own(directory: str) -> bool:
    """Return whether a directory is the user's and nobody else can write to it."""
    try:
        status = os.stat(directory)
    except OSError:
        return False
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022
    return private and os.path.isabs(directory) and status.st_uid == os.geteuid()
