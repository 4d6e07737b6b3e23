"""A shop of packages in a folder, with launchers and installers that fetch from it.

They do what the real ones do, as far as can be seen from outside: a launcher stays beside the
program it starts, npx with a shell between; an installer copies, and writes down the version.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from toolyard.executors.probe_server import probe_command

_NPX = """#!/bin/sh
echo "npx $*" >> {shop}/log
if [ -p {shop}/slow ]; then
    trap 'echo "killed" >> {shop}/log; exit 1' TERM INT HUP PIPE
    echo "npm warn it takes a while" >&2
    read go < {shop}/slow
    echo "npm warn it took a while" >&2
    echo "fetched" >> {shop}/log
fi
while [ "$1" = -y ]; do shift; done
name=$1; shift
sh -c '"$0" "$@"; exit $?' {shop}/$name/program "$@"
exit $?
"""
_UVX = """#!/bin/sh
echo "uvx $*" >> {shop}/log
name=$1; shift
{shop}/$name/program "$@"
exit $?
"""
_BEGIN = """#!/bin/sh
echo "{name} $*" >> {shop}/log
[ -p {shop}/hold ] && read go < {shop}/hold
[ -e {shop}/closed ] && {{ echo "the shop is closed" >&2; exit 1; }}
for name; do :; done
version=$(cat {shop}/$name/version) || exit 1
"""
_NPM = (
    _BEGIN
    + """
made="$3/node_modules"; own=${{name##*/}}
mkdir -p "$made/$name" "$made/.bin"
cp {shop}/$name/program "$made/$name/program"
echo '{{"version": "'$version'", "bin": {{"'$own'": "program"}}}}' > "$made/$name/package.json"
ln -s "../$name/program" "$made/.bin/$own"
"""
)
_UV = (
    _BEGIN
    + """
made="$UV_TOOL_DIR/$name"
mkdir -p "$made/bin" "$made/lib/python3/site-packages/$name-$version.dist-info"
cp {shop}/$name/program "$made/bin/$name"
"""
)
# One program does both; what it installs is logged under a name of its own.
_PIPX = """#!/bin/sh
order=$1; shift
for name; do [ "$order" = run ] && break; done
if [ "$order" = run ]; then
    echo "pipx run $*" >> {shop}/log
    shift
    exec {shop}/$name/program "$@"
fi
echo "pipx-install $*" >> {shop}/log
version=$(cat {shop}/$name/version) || exit 1
made="$PIPX_HOME/venvs/$name"
mkdir -p "$made/bin" "$made/lib/python3/site-packages/$name-$version.dist-info"
cp {shop}/$name/program "$made/bin/$name"
"""
_PROGRAM = """#!/bin/sh
code='import json, os, sys
print(json.dumps({{"version": sys.argv[1], "program": sys.argv[2], "args": sys.argv[3:],
"word": os.environ.get("WORD"), "cwd": os.getcwd(), "path": os.environ["PATH"]}}))'
{python} -c "$code" {version} "$0" "$@" >> {shop}/starts
{more}
"""


class Shop:
    """What can be fetched, what was fetched, and what was started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.bin = folder / "bin"
        for each in (self.folder, self.bin):
            each.mkdir()
        programs = {"npx": _NPX, "npm": _NPM, "uvx": _UVX, "uv": _UV, "pipx": _PIPX}
        for name, text in programs.items():
            _write(self.bin / name, text.format(shop=self.folder, name=name))

    @property
    def path(self) -> str:
        """The PATH with the shop's launchers first."""
        return os.pathsep.join((str(self.bin), os.environ["PATH"]))

    def publish(self, name: str, version: str, more: str = probe_command().argv[-1]) -> None:
        """Offer a version of a package, which notes how it is started and then does more."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        text = _PROGRAM.format(
            shop=self.folder, version=version, python=sys.executable, more="{more}"
        )
        _write(place / "program", text.replace("{more}", more))
        (place / "version").write_text(version)

    def close(self) -> None:
        """Let every installer fail from now on."""
        (self.folder / "closed").touch()

    def reopen(self) -> None:
        """Let installers work again."""
        (self.folder / "closed").unlink()

    def slow(self) -> None:
        """Let every npx take its time to install, until each is told to go on."""
        os.mkfifo(self.folder / "slow")

    def hasten(self) -> None:
        """Let the npx that installs go on, and those after it be quick."""
        fifo = self.folder / "slow"
        with fifo.open("w") as pipe:
            fifo.unlink()
            pipe.write("go\n")

    @property
    def log(self) -> list[str]:
        """The first word of all that launchers and installers did, in order."""
        log = self.folder / "log"
        return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []

    def hold(self) -> None:
        """Let the next installer wait."""
        os.mkfifo(self.folder / "hold")

    def go(self) -> None:
        """Let the waiting installer go on."""
        with (self.folder / "hold").open("w") as pipe:
            pipe.write("go\n")

    def ran(self, name: str) -> int:
        """How often a launcher or installer was run."""
        return self.log.count(name)

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Every start of a program: which version, where from, how."""
        return [json.loads(line) for line in (self.folder / "starts").read_text().splitlines()]


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def processes(leader: int) -> int:
    """How many processes are in a group."""
    found = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found += os.getpgid(int(folder.name)) == leader
            except ProcessLookupError:
                continue
    return found
