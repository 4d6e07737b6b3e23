"""The page's JavaScript and CSS: their form and their types, by the tools `package.json` pins.

python scripts/page.py check       say what prettier and the TypeScript compiler find
python scripts/page.py format      put the files into their form
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from node24 import node, npm

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
FILES = ("src/**/*.{js,css}", "tests/**/*.js", "{package,jsconfig,.prettierrc}.json")
CACHE = ("--cache", "--cache-location", ".cache/prettier")


def install(runtime: Path) -> None:
    """Fetch the tools, unless these very versions are there."""
    wanted = json.dumps(json.loads((ROOT / "package.json").read_text())["devDependencies"])
    stamp = MODULES / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("fetching prettier and the TypeScript compiler ...", flush=True)
    subprocess.run([*npm(runtime), "install", "--silent"], cwd=ROOT, check=True)
    stamp.write_text(wanted)


def prettier(runtime: Path, *flags: str) -> int:
    """Run prettier on the files of the page and their tests."""
    program = MODULES / "prettier/bin/prettier.cjs"
    command = [runtime, program, "--log-level", "warn", *CACHE, *flags, *FILES]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def types(runtime: Path) -> int:
    """Run the TypeScript compiler on what `jsconfig.json` names."""
    command = [runtime, MODULES / "typescript/bin/tsc", "--project", "jsconfig.json"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main(words: list[str]) -> int:
    """Check or format."""
    if words not in (["check"], ["format"]):
        print(__doc__, file=sys.stderr)
        return 2
    runtime = node()
    install(runtime)
    if words == ["format"]:
        return prettier(runtime, "--write")
    return prettier(runtime, "--check") or types(runtime)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
