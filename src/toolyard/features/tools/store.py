"""Inputs of tools that people saved, to call a tool with them again.

They may hold secrets, so the file is for its owner alone. All of it blocks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.names import closest
from toolyard.records.files import locked, read_bounded, write_atomic

PER_TOOL: Final = 50
MOST: Final = 5000
LARGEST: Final = 64 * 1024
"""Bytes of one input; what is larger belongs into a file of its own."""
NAME_LONGEST: Final = 100

Inputs = dict[str, JsonObject]
"""Arguments, by the name under which they were saved."""
_All = dict[str, dict[str, Inputs]]


class InputsFile:
    """The file with saved inputs: by server, by tool, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, server: str, tool: str) -> Inputs:
        """The inputs that were saved for a tool.

        Raises:
            StoreError: The file cannot be read.
        """
        return self._read().get(server, {}).get(tool, {})

    def get(self, server: str, tool: str, name: str) -> JsonObject:
        """One input.

        Raises:
            UnknownNameError: None was saved under that name.
            StoreError: The file cannot be read.
        """
        saved = self.of(server, tool)
        if name not in saved:
            raise _unknown(name, saved)
        return saved[name]

    def put(self, server: str, tool: str, name: str, arguments: JsonObject) -> None:
        """Save an input, in place of the one of that name.

        Raises:
            ConfigError: It cannot be saved.
            StoreError: The file cannot be read or written.
        """
        if not 0 < len(name) <= NAME_LONGEST or not name.isprintable():
            hint = f"use 1 to {NAME_LONGEST} printable characters"
            raise ConfigError(f"{name[:80]!r} cannot name an input", hint)
        if len(json.dumps(arguments)) > LARGEST:
            raise ConfigError(f"the input is larger than {LARGEST} bytes", "save a smaller one")
        with locked(self.path):
            everything = self._read()
            saved = everything.setdefault(server, {}).setdefault(tool, {})
            count = sum(len(inputs) for tools in everything.values() for inputs in tools.values())
            if name not in saved and (len(saved) >= PER_TOOL or count >= MOST):
                raise ConfigError(
                    f"there are {len(saved)} inputs for this tool and {count} in all",
                    f"delete some; {PER_TOOL} and {MOST} may be saved",
                )
            saved[name] = arguments
            self._write(everything)

    def remove(self, server: str, tool: str, name: str) -> None:
        """Delete an input; all of the tool's without a name.

        Raises:
            UnknownNameError: None was saved under that name.
            StoreError: The file cannot be read or written.
        """
        with locked(self.path):
            everything = self._read()
            saved = everything.get(server, {}).get(tool, {})
            if name and name not in saved:
                raise _unknown(name, saved)
            rest = {key: value for key, value in saved.items() if name and key != name}
            everything.setdefault(server, {})[tool] = rest
            self._write(everything)

    def _read(self) -> _All:
        try:
            document = json.loads(read_bounded(self.path, MOST * LARGEST))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise _damaged(self.path, error) from error
        tools = document.values() if isinstance(document, dict) else [None]
        inputs = [saved for tool in tools if isinstance(tool, dict) for saved in tool.values()]
        if not all(isinstance(table, dict) for table in [*tools, *inputs]):
            raise _damaged(self.path, "it holds something else")
        everything: _All = document
        return everything

    def _write(self, everything: _All) -> None:
        filled = {
            server: inputs_of
            for server, tools in everything.items()
            if (inputs_of := {tool: inputs for tool, inputs in tools.items() if inputs})
        }
        write_atomic(self.path, json.dumps(filled).encode())


def _damaged(path: Path, why: object) -> StoreError:
    return StoreError(f"'{path}' is damaged ({why})", "move it away to start anew")


def _unknown(name: str, saved: Inputs) -> UnknownNameError:
    near = ", ".join(closest(name, saved) or list(saved)[:20]) or "none"
    return UnknownNameError(f"no input {name[:80]!r} was saved for this tool", f"there are: {near}")
