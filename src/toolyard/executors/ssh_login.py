"""Logins to remote hosts, by the options of an executor and the user's ssh configuration."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolyard.core.errors import ConfigError, StartError
from toolyard.core.sites import Site
from toolyard.executors.waits import heeding

if TYPE_CHECKING:
    import asyncssh

OPTIONS: Final = ("config", "identity", "keepalive", "known_hosts")
_PORT = 22
_CONNECT_SECONDS = 10.0
_LOGIN_SECONDS = 20.0
_KEEPALIVE_SECONDS = 5.0  # two that stay without answer, and the connection is lost
_KEEPALIVE_MISSES = 2
_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts")
_HOST = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?(?P<name>\[[^\]\s]+\]|[^:@/\s\[\]]+)(?::(?P<port>\d+))?"
)


@dataclass(frozen=True, slots=True)
class Login:
    """One login; an empty field is left to the user's ssh configuration."""

    name: str
    user: str = ""
    port: int = 0
    config: str = ""
    identity: str = ""
    known_hosts: str = ""
    keepalive: float = _KEEPALIVE_SECONDS

    @property
    def label(self) -> str:
        """The host, for people."""
        user, port = self.user and f"{self.user}@", self.port and f":{self.port}"
        return f"{user}{self.name}{port or ''}"

    @property
    def typed(self) -> str:
        """The command that logs in by hand."""
        parts = ["ssh"]
        parts += ["-F", self.config] if self.config else []
        parts += ["-i", self.identity] if self.identity else []
        parts += ["-p", str(self.port)] if self.port else []
        return " ".join([*parts, f"{self.user}@{self.name}" if self.user else self.name])


def read_login(site: Site) -> Login:
    """Return the login of an executor.

    Raises:
        ConfigError: Its host or one of its options cannot be used.
    """
    unknown = sorted({name for name, _ in site.options} - set(OPTIONS))
    if unknown:
        raise ConfigError(
            f'executor "{site.name}": ssh knows no option "{unknown[0]}"',
            f"its options are {', '.join(OPTIONS)}",
        )
    match = _HOST.fullmatch(site.host.removeprefix("ssh://").rstrip("/"))
    port = int(match["port"] or 0) if match else 0
    if match is None or match["name"].startswith("-") or port > 65535:
        raise ConfigError(
            f'executor "{site.name}": "{site.host}" is no host to log in to',
            "write user@host, user@host:port or a name of your ssh configuration",
        )
    return Login(
        name=match["name"].strip("[]"),
        user=match["user"] or "",
        port=port,
        config=site.option("config"),
        identity=site.option("identity"),
        known_hosts=site.option("known_hosts"),
        keepalive=_seconds(site),
    )


async def connect(login: Login) -> asyncssh.SSHClientConnection:
    """Log in; the host's key is always checked, and no password is ever asked for.

    Raises:
        StartError: The login failed; the hint says what to do.
    """
    import asyncssh

    refused: list[str] = []

    class Client(asyncssh.SSHClient):
        """Notes the key of an unknown host, and never accepts it."""

        def validate_host_public_key(
            self, host: str, addr: str, port: int, key: asyncssh.SSHKey
        ) -> bool:
            others = known_hosts.match(host, addr, None if port == _PORT else port)[0]
            refused.append(_described(key, changed=bool(others)))
            return False

    files: list[Path] = []
    try:
        options = _options(login, Client)
        files = _known_hosts(login, asyncssh.SSHClientConnectionOptions(**options))
        known_hosts = asyncssh.import_known_hosts(_text(files))
        connecting = asyncssh.connect(**options, known_hosts=known_hosts)
        return await heeding(connecting, lambda connection: connection.abort())
    except asyncssh.HostKeyNotVerifiable as error:
        raise _unknown_key(login, files, refused or [str(error).lower()]) from error
    except asyncssh.PermissionDenied as error:
        raise _denied(login) from error
    except (TimeoutError, asyncio.TimeoutError) as error:  # noqa: UP041 - two in 3.10's time
        raise _failed(login, "it does not answer", "is the machine up and in reach?") from error
    except OSError as error:
        raise _failed(login, *_reason(login, error)) from error
    except asyncssh.Error as error:
        raise _failed(login, error.reason.lower(), f"try `{login.typed}` by hand") from error
    except (ValueError, asyncssh.KeyImportError) as error:
        raise _failed(login, str(error), "correct your ssh configuration or the key") from error


def _options(login: Login, client: type[asyncssh.SSHClient]) -> dict[str, Any]:
    explicit: dict[str, object] = {
        "username": login.user,
        "port": login.port,
        "client_keys": [_file(login, login.identity, "key")] if login.identity else "",
    }
    return {
        "host": login.name,
        # Nothing, as a tuple, means the user's own; None would mean no configuration at all.
        "config": [_file(login, login.config, "ssh configuration")] if login.config else (),
        "client_factory": client,
        "password_auth": False,
        "kbdint_auth": False,
        "ignore_encrypted": True,  # the agent may hold it; nobody is here to type a passphrase
        "agent_forwarding": False,  # no server needs the keys of its user
        "x11_forwarding": False,
        "request_pty": False,
        "connect_timeout": _CONNECT_SECONDS,
        "login_timeout": _LOGIN_SECONDS,
        "keepalive_interval": login.keepalive,
        "keepalive_count_max": _KEEPALIVE_MISSES,
        **{name: value for name, value in explicit.items() if value},
    }


def _known_hosts(login: Login, options: asyncssh.SSHClientConnectionOptions) -> list[Path]:
    """The files of known hosts; never none, for that would mean to trust everybody."""
    if login.known_hosts:
        return [Path(login.known_hosts).expanduser()]
    configured = options.known_hosts if isinstance(options.known_hosts, list) else []
    return [Path(str(name)).expanduser() for name in configured or _KNOWN_HOSTS]


def _text(files: list[Path]) -> str:
    return "\n".join(file.read_text("utf-8", "replace") for file in files if file.is_file())


def _file(login: Login, name: str, purpose: str) -> str:
    path = Path(name).expanduser()
    if not path.is_file() or not os.access(path, os.R_OK):
        raise _failed(
            login, f'the {purpose} "{path}" cannot be read', "correct the executor's option"
        )
    return str(path)


def _seconds(site: Site) -> float:
    text = site.option("keepalive") or str(_KEEPALIVE_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ConfigError(
            f'executor "{site.name}": keepalive "{text}" is no number of seconds',
            "write one from 1 to 3600",
        )
    return seconds


def _failed(login: Login, why: str, hint: str) -> StartError:
    return StartError(f'cannot log in to "{login.label}": {why}', hint)


def _denied(login: Login) -> StartError:
    return _failed(
        login,
        "it accepts none of your keys",
        f"`{login.typed} true` must work without a password: add a key there (ssh-copy-id), "
        "to your agent (ssh-add), or name one with the option identity",
    )


def _described(key: asyncssh.SSHKey, *, changed: bool) -> str:
    shown = f"its host key {key.get_algorithm()} {key.get_fingerprint()}"
    return f"{shown} is not the one known" if changed else f"{shown} is not known"


def _unknown_key(login: Login, files: list[Path], reasons: list[str]) -> StartError:
    return _failed(
        login,
        f"{reasons[-1]} (looked in {', '.join(map(str, files))})",
        "compare the fingerprint with the host's owner; accept a new host once with "
        f"`{login.typed}`, or append what `ssh-keyscan {_scanned(login)}` says to that file; "
        "a key that has changed may mean that somebody is in between",
    )


def _scanned(login: Login) -> str:
    return f"-p {login.port} {login.name}" if login.port else login.name


def _reason(login: Login, error: OSError) -> tuple[str, str]:
    if isinstance(error, socket.gaierror):
        return "no such host", "correct the name, or add it to your ssh configuration"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused", "does sshd run there, and on that port?"
    return (error.strerror or str(error)).lower(), f"try `{login.typed}` by hand"
