"""The address of a docker daemon, and the defaults for servers of its executor."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from toolyard.core.errors import ConfigError, StartError
from toolyard.core.sites import Site

OPTIONS: Final = (
    *("address", "ca", "cert", "config", "cpus", "identity", "image", "key", "known_hosts"),
    *("memory", "network", "pull", "reach", "socket", "tls"),
)
SOCKET: Final = "/var/run/docker.sock"
_FORMS = "write unix:///run/docker.sock, tcp://host:2376 or ssh://user@host"
_TLS_PORT, _PLAIN_PORT = 2376, 2375
_CERTIFICATES = ("ca", "cert", "key")


@dataclass(frozen=True, slots=True)
class Host:
    """The address of a daemon."""

    kind: Literal["unix", "tcp", "ssh"]
    label: str
    """The address as it was written."""
    path: str = ""
    """The path of its socket: on this machine, or over ssh on the remote one."""
    name: str = ""
    port: int = 0
    user: str = ""
    tls: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""

    @property
    def is_loopback(self) -> bool:
        """True if the daemon is on this machine."""
        return self.kind == "unix" or (self.kind == "tcp" and _is_loopback(self.name))

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context for the daemon; None for a plain connection.

        Raises:
            StartError: One of its files cannot be used.
        """
        if not self.tls:
            return None
        kind, file = "certificate authority", self.ca
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            kind, file = "client certificate", f"{self.cert} with {self.key}"
            if self.cert:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            raise StartError(
                f"docker at {self.label}: the {kind} {file} cannot be used: "
                f"{(error.strerror or str(error)).lower()}",
                "correct the options ca, cert and key: files in PEM form that you may read",
            ) from error
        return context


@dataclass(frozen=True, slots=True)
class Defaults:
    """The settings of servers that have none of their own."""

    image: str = ""
    network: str = "bridge"
    memory: int = 1024
    """MiB."""
    cpus: float = 0.0
    processes: int = 256
    pull: bool = False
    address: str = ""
    """The address of published ports; empty for the one by which the daemon is reached."""
    reach: str = ""
    """An address of this machine that the containers reach."""


USUAL: Final = Defaults()


def read_defaults(site: Site) -> Defaults:
    """Return the defaults for servers in the options of an executor.

    Raises:
        ConfigError: An option does not exist, or has a bad value.
    """
    unknown = sorted({name for name, _ in site.options} - set(OPTIONS))
    if unknown:
        raise _wrong(
            site, f'docker knows no option "{unknown[0]}"', f"its options are {', '.join(OPTIONS)}"
        )
    if (pull := site.option("pull", "never")) not in ("never", "missing"):
        raise _wrong(site, f'pull cannot be "{pull}"', "write never or missing")
    return Defaults(
        image=site.option("image"),
        network=site.option("network", USUAL.network),
        memory=int(_number(site, "memory", USUAL.memory, 6)),
        cpus=_number(site, "cpus", USUAL.cpus, 0.01),
        pull=pull == "missing",
        address=_ip(site, "address"),
        reach=_ip(site, "reach"),
    )


def read_host(site: Site) -> Host | None:
    """Return the host of an executor; None if it leaves that to the environment.

    Raises:
        ConfigError: The host cannot be used.
    """
    if not site.host:
        return None
    files = {name: _path(site.option(name)) for name in _CERTIFICATES}
    return _parse(site, site.host, files)


def find_host(site: Site) -> Host:
    """Return the daemon that the docker command would use: by variable, context or socket.

    Raises:
        StartError: There is none.
        ConfigError: The environment names one that cannot be used.
    """
    if address := os.environ.get("DOCKER_HOST"):
        return _parse(site, address, _environment_files())
    address, files = _read_context()
    if address and not address.startswith("npipe:"):
        return _parse(site, address, files)
    sockets = _sockets()
    for socket in sockets:
        if socket.is_socket():
            return Host("unix", f"unix://{socket}", path=str(socket))
    raise StartError(
        f"found no docker socket: looked for {', '.join(map(str, sockets))}",
        "start docker, or give the executor a host: " + _FORMS,
    )


def _parse(site: Site, text: str, files: dict[str, str]) -> Host:
    parts = urlsplit(text)
    try:
        port = parts.port or 0
    except ValueError as error:
        raise _wrong(site, f'"{text}" has no port that exists', _FORMS) from error
    if parts.scheme == "unix" and parts.path and not parts.netloc:
        return Host("unix", text, path=parts.path)
    if parts.scheme == "tcp" and parts.hostname:
        return _tcp(site, text, parts.hostname, port, files)
    if parts.scheme == "ssh" and parts.hostname and not parts.hostname.startswith("-"):
        return _ssh(site, text, parts, port)
    raise _wrong(site, f'"{text}" is no host of a docker daemon', _FORMS)


def _ssh(site: Site, text: str, parts: SplitResult, port: int) -> Host:
    path = site.option("socket") or parts.path.rstrip("/") or SOCKET
    return Host(
        "ssh", text, path=path, name=parts.hostname or "", port=port, user=parts.username or ""
    )


def _tcp(site: Site, text: str, name: str, port: int, files: dict[str, str]) -> Host:
    tls = site.option("tls", "yes")
    if tls not in ("yes", "no"):
        raise _wrong(site, f'tls cannot be "{tls}"', "write yes or no")
    if tls == "no" and not _is_loopback(name):
        raise _wrong(
            site,
            f"without tls whoever reaches {name} commands that machine",
            "leave out tls=no and give ca, cert and key, or use ssh://",
        )
    if bool(files["cert"]) != bool(files["key"]):
        raise _wrong(site, "cert and key go together", "give both, or neither")
    if tls == "no":
        return Host("tcp", text, name=name, port=port or _PLAIN_PORT)
    return Host("tcp", text, name=name, port=port or _TLS_PORT, tls=True, **files)


def _environment_files() -> dict[str, str]:
    folder = os.environ.get("DOCKER_CERT_PATH", "")
    return {name: folder and str(Path(folder) / f"{name}.pem") for name in _CERTIFICATES}


def _read_context() -> tuple[str, dict[str, str]]:
    """The host and certificates of docker's current context; no host if it is the default."""
    config = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    contexts = config / "contexts"
    try:
        name = os.environ.get("DOCKER_CONTEXT")
        name = name or json.loads((config / "config.json").read_bytes()).get("currentContext", "")
        digest = hashlib.sha256(str(name).encode()).hexdigest()
        context = json.loads((contexts / "meta" / digest / "meta.json").read_bytes())
        address = str(context["Endpoints"]["docker"]["Host"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "", {}
    files = {name: contexts / "tls" / digest / "docker" / f"{name}.pem" for name in _CERTIFICATES}
    if not any(file.exists() for file in files.values()):
        return address, _environment_files()
    return address, {name: str(file) if file.exists() else "" for name, file in files.items()}


def _sockets() -> tuple[Path, ...]:
    """The usual sockets: the system's, rootless ones, Docker Desktop, podman."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/run/user/0")
    return (
        *(Path(SOCKET), runtime / "docker.sock", Path.home() / ".docker/run/docker.sock"),
        *(runtime / "podman/podman.sock", Path("/run/podman/podman.sock")),
    )


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _number(site: Site, name: str, usual: float, least: float) -> float:
    text = site.option(name)
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not least <= value <= 1 << 24:
        unit = " of MiB" if name == "memory" else ""
        raise _wrong(site, f'{name} cannot be "{text}"', f"write a number{unit} from {least} on")
    return value


def _ip(site: Site, name: str) -> str:
    text = site.option(name)
    try:
        return text and str(ipaddress.ip_address(text))
    except ValueError as error:
        raise _wrong(site, f'{name} "{text}" is no IP address', "write e.g. 10.0.0.5") from error


def _path(text: str) -> str:
    return text and str(Path(text).expanduser())


def _wrong(site: Site, text: str, hint: str) -> ConfigError:
    return ConfigError(f'executor "{site.name}": {text}', hint)
