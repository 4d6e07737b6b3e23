"""Saved inputs of tools over the control API."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from toolyard.operation import Done
from toolyard.stores.inputs import NAME_LONGEST, InputsFile
from toolyard.surfaces.control.api import Call, Operation

PATH = "/api/v1/tools/{server}/{tool:path}/inputs"


class SavedInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a tool, under a name."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LONGEST)]
    arguments: Annotated[dict[str, Any], Meta(description="Whatever the tool takes.")]


class SavedInputs(msgspec.Struct, frozen=True):
    """All that was saved for one tool."""

    server: str
    tool: str
    inputs: list[SavedInput]


class WhichInput(msgspec.Struct, frozen=True):
    """The input to delete; all of the tool's without a name."""

    name: str = ""


class InputsDoor:
    """Keeps what people called tools with, so that they can do it again."""

    def __init__(self, inputs: InputsFile) -> None:
        self._inputs = inputs

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "tools"}
        return [
            Operation("GET", PATH, "Saved inputs of a tool", self._list, SavedInputs, **tag),
            Operation("PUT", PATH, "Save an input", self._put, Done, body=SavedInput, **tag),
            Operation("DELETE", PATH, "Delete one", self._remove, Done, query=WhichInput, **tag),
        ]

    async def _list(self, call: Call) -> SavedInputs:
        server, tool = call.path["server"], call.path["tool"]
        saved = await asyncio.to_thread(self._inputs.of, server, tool)
        return SavedInputs(server, tool, [SavedInput(name, each) for name, each in saved.items()])

    async def _put(self, call: Call) -> Done:
        new: SavedInput = call.body
        where = (call.path["server"], call.path["tool"])
        await asyncio.to_thread(self._inputs.put, *where, new.name, new.arguments)
        return Done()

    async def _remove(self, call: Call) -> Done:
        where = (call.path["server"], call.path["tool"])
        await asyncio.to_thread(self._inputs.remove, *where, call.query.name)
        return Done()
