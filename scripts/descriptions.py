"""Count the false alarms of the check of descriptions, on what the catalog's servers say.

    python scripts/descriptions.py [NAME ...]
    python scripts/descriptions.py --held-out COMMAND ...

Starts the servers of the official catalog that can be started here, with made-up values for what
they want to know, and inspects all their parts; or servers that the patterns were not made with,
each by a command such as `npx -y xcodebuildmcp mcp`. What a server says is its author's, so none of
it is kept in the repository. How much of what is bad is found is printed by
`pytest tests/features/approvals/test_findings.py`.
"""

from __future__ import annotations

import asyncio
import shlex
import sys

from catalog_tools import look_at

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Command
from toolyard.core.parts import parts_of
from toolyard.features.approvals.inspecting import inspect_part
from toolyard.features.catalog.bundled_catalog import BUNDLED
from toolyard.features.catalog.model import Definition
from toolyard.features.catalog.reading import read_definition
from toolyard.links.listing import KINDS


async def main(words: list[str]) -> None:
    """Inspect the servers that are wanted, or all, and print the sums."""
    is_held_out = words[:1] == ["--held-out"]
    definitions = (
        [_of_command(command) for command in words[1:]] if is_held_out else _bundled(words)
    )
    parts, serious, told = 0, 0, 0
    for definition in definitions:
        try:
            offered = parts_of(*await look_at(definition, KINDS))
        except ToolyardError as error:
            print(f"{definition.name}: {error}", flush=True)
            continue
        parts += len(offered)
        tools = sum(kind == "tools" for kind, _ in offered)
        print(f"{definition.name}: {len(offered)} parts, {tools} of them tools", flush=True)
        for part, raw in offered.items():
            findings = inspect_part(part, raw)
            serious += any(finding.is_serious for finding in findings)
            told += bool(findings)
            for finding in findings:
                word = "serious" if finding.is_serious else "told"
                print(f"  {word}: {part[1]}: {finding.why}: {finding.text}", flush=True)
    print(f"{parts} parts: {serious} would wait, {told} have findings")


def _bundled(wanted: list[str]) -> list[Definition]:
    """Return the servers of the catalog that are commands, or those of them that are wanted."""
    definitions = [read_definition(path.read_bytes()) for path in sorted(BUNDLED.glob("*.json"))]
    return [
        definition
        for definition in definitions
        if isinstance(definition.endpoint, Command)
        and definition.name in (wanted or [definition.name])
    ]


def _of_command(command: str) -> Definition:
    """Return the definition of a server that a command starts."""
    return Definition(command, Command(tuple(shlex.split(command))))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
