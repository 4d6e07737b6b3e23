"""The two ways to say no."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolyard.example.jsontypes import JsonObject


class RefusedError(Exception):
    """The request cannot be served: the client gets a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: JsonObject = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class ArgumentError(Exception):
    """An argument makes no sense: the model gets a tool error that says what would."""


def closest(word: str, names: list[str]) -> str:
    """The three most similar names as a phrase, or nothing."""
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in names}
    matches = get_close_matches(word.casefold(), folded, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(folded[name] for name in matches)}?" if matches else ""
