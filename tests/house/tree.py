"""The project as files: what the rules of the house are checked against."""

from __future__ import annotations

import ast
import gc
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "toolyard"


def modules() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


@cache
def syntax(file: Path) -> ast.Module:
    """The code of a file, parsed once for all tests.

    A syntax tree is all live objects: to look for garbage while it grows doubles the time.
    """
    gc.disable()
    try:
        return ast.parse(file.read_text("utf-8"))
    finally:
        gc.enable()


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Every node of that code: to look at them again costs a tenth of finding them."""
    return tuple(ast.walk(syntax(file)))


def pages() -> list[Path]:
    """Every Markdown file that readers see."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def tracked() -> list[Path]:
    """Every file that is, or would be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    return [file for file in files if file.is_file()]


def shown(path: Path) -> str:
    """A path as it reads in a failure."""
    return path.relative_to(ROOT).as_posix()
