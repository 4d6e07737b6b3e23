"""The peers that are measured: how each is installed from its registry, and started.

They are installed into `.cache/peers`, never into the environment of the project. A peer that is
built from source is described in a file, and added to the others: see peers.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
HOME = HERE.parent / ".cache" / "peers"


@dataclass(frozen=True)
class Place:
    """What a peer is started with."""

    folder: Path
    """An empty one, for its files."""
    port: int
    servers: Mapping[str, Mapping[str, object]]
    """As in `mcpServers`, by name: `url`, or `command` and `args`."""

    def write(self, content: object, name: str = "servers.json") -> str:
        """Write a file for the peer; gives its path."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def write_servers(self) -> str:
        """Write the servers in the form that most peers read."""
        return self.write({"mcpServers": self.servers})


@dataclass(frozen=True)
class Peer:
    """A hub or proxy to measure beside ours."""

    name: str
    about: str
    """Its language, and in which way it differs from the others."""
    command: Callable[[Place], list[str]]
    install: Callable[[], None] = lambda: None
    path: str = "/mcp"
    environment: Mapping[str, str] = field(default_factory=dict)
    over_stdio: bool = False
    """It stands in front of one server over stdio, and of no other."""
    merges: bool = True
    """It shows the tools of all servers in one list."""
    streams: bool = False
    """It speaks only the oldest HTTP transport, with an event stream."""


# How they are installed. Each takes the version that was measured.


def from_pypi(folder: str, *packages: str) -> Callable[[], None]:
    """Into a virtual environment of its own."""

    def install() -> None:
        python = HOME / folder / "bin" / "python"
        run([sys.executable, "-m", "venv", str(HOME / folder)])
        run([str(python), "-m", "pip", "install", "--quiet", *packages])

    return once(folder, install, *packages)


def from_npm(folder: str, package: str) -> Callable[[], None]:
    """Into a folder of its own."""
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix"]
    return once(folder, lambda: run([*words, str(HOME / folder), package]), package)


def from_go(folder: str, module: str, version: str) -> Callable[[], None]:
    """Built from the module proxy, in a module of its own: that asks for this version alone."""

    def install() -> None:
        place = HOME / folder
        (place / "go.mod").write_text(f"module bench\n\nrequire {module} {version}\n")
        run(["go", "build", "-mod=mod", "-o", "program", module], place)

    return once(folder, install, f"{module}@{version}")


def once(folder: str, install: Callable[[], None], *packages: str) -> Callable[[], None]:
    """Install unless just this is there; what an interruption left behind is removed."""

    def install_once() -> None:
        stamp = HOME / folder / "installed"
        if stamp.exists() and stamp.read_text() == " ".join(packages):
            return
        print(f"installing {' '.join(packages)} ...", flush=True)
        shutil.rmtree(HOME / folder, ignore_errors=True)
        (HOME / folder).mkdir(parents=True)
        install()
        stamp.write_text(" ".join(packages))

    return install_once


def run(command: list[str], folder: Path | None = None) -> None:
    """Run a program that must succeed."""
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=1800)


# How they are started.


def tbxark(place: Place) -> list[str]:
    """It has a path for each server, and no common list."""
    address = f"127.0.0.1:{place.port}"
    proxy = {"baseURL": f"http://{address}", "addr": address, "name": "bench", "version": "1"}
    servers = {
        name: {**server, "transportType": "streamable-http"}
        for name, server in place.servers.items()
    }
    content = {"mcpProxy": {**proxy, "type": "streamable-http"}, "mcpServers": servers}
    return [str(HOME / "tbxark" / "program"), "-config", place.write(content)]


def mcp_hub(place: Place) -> list[str]:
    """It listens on all addresses of the machine; there is no option for that."""
    program = str(HOME / "mcp-hub" / "node_modules" / "mcp-hub" / "dist" / "cli.js")
    words = ["--port", str(place.port), "--config", place.write_servers()]
    return ["env", f"XDG_STATE_HOME={place.folder}", "node", program, *words]


def python_program(folder: str, script: str) -> Callable[[Place], list[str]]:
    """A program of ours on a library, with the interpreter that has the library."""

    def command(place: Place) -> list[str]:
        python = str(HOME / folder / "bin" / "python")
        return [python, str(HERE / script), place.write_servers(), str(place.port)]

    return command


def stdio_command(place: Place) -> list[str]:
    """The command line of the one server."""
    server = next(iter(place.servers.values()))
    arguments = server["args"]
    assert isinstance(arguments, list)
    return [str(server["command"]), *map(str, arguments)]


def mcp_proxy_python(place: Place) -> list[str]:
    """A bridge from one server over stdio to HTTP."""
    program = str(HOME / "mcp-proxy" / "bin" / "mcp-proxy")
    words = ["--host", "127.0.0.1", "--port", str(place.port), "--log-level", "ERROR"]
    return [program, *words, "--", *stdio_command(place)]


def mcp_proxy_node(place: Place) -> list[str]:
    """A bridge from one server over stdio to HTTP."""
    program = str(HOME / "mcp-proxy-js" / "node_modules" / ".bin" / "mcp-proxy")
    words = ["--host", "127.0.0.1", "--port", str(place.port), "--server", "stream"]
    return ["node", program, *words, "--", *stdio_command(place)]


PEERS = [
    Peer(
        "TBXark/mcp-proxy 0.43.2",
        "Go; a path for each server",
        tbxark,
        from_go("tbxark", "github.com/TBXark/mcp-proxy", "v0.43.2"),
        path="/s00/mcp",
        merges=False,
    ),
    Peer(
        "mcp-hub 4.2.1",
        "Node; clients by event stream",
        mcp_hub,
        from_npm("mcp-hub", "mcp-hub@4.2.1"),
        streams=True,
    ),
    Peer(
        "mcp 2.3.0",
        "Python; a hub of 40 lines on the SDK",
        python_program("mcp", "peer_sdk.py"),
        from_pypi("mcp", "mcp==2.3.0", "uvicorn", "uvloop", "httptools"),
    ),
    Peer(
        "FastMCP 4.1.2",
        "Python; proxies, sessions kept",
        python_program("fastmcp", "peer_fastmcp.py"),
        from_pypi("fastmcp", "fastmcp==4.1.2", "uvloop", "httptools"),
        environment={"FASTMCP_LOG_LEVEL": "ERROR", "FASTMCP_CHECK_FOR_UPDATES": "off"},
    ),
    Peer(
        "mcp-proxy 0.13.0",
        "Python; one stdio server",
        mcp_proxy_python,
        from_pypi("mcp-proxy", "mcp-proxy==0.13.0", "uvloop", "httptools"),
        over_stdio=True,
        merges=False,
    ),
    Peer(
        "mcp-proxy 6.7.19",
        "Node; one stdio server",
        mcp_proxy_node,
        from_npm("mcp-proxy-js", "mcp-proxy@6.7.19"),
        over_stdio=True,
        merges=False,
    ),
]


def added(path: str) -> Peer:
    """A peer that a file describes: for one that is built from source.

    Holes in its `command` and `file`: {port}, {servers} (a file with `mcpServers`), {url} (of the
    first server), {file} (what `file` says, written to a file).
    """
    described = json.loads(Path(path).read_text())

    def command(place: Place) -> list[str]:
        first = next(iter(place.servers.values()))
        holes = {"port": str(place.port), "servers": place.write_servers(), "url": first["url"]}
        content = described.get("file", "")
        text = content if isinstance(content, str) else json.dumps(content)
        holes["file"] = place.write(filled(text, holes), "file")
        return [filled(os.path.expanduser(word), holes) for word in described["command"]]

    options = {
        name: described[name] for name in ("path", "environment", "merges") if name in described
    }
    return Peer(described["name"], described.get("about", "added"), command, **options)


def filled(text: str, holes: Mapping[str, object]) -> str:
    """A text with its holes filled; other braces stay."""
    for name, value in holes.items():
        text = text.replace("{" + name + "}", str(value))
    return text
