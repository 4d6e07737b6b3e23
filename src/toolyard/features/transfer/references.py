"""References in place of secrets: a value that is one never leaves the yard."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from toolyard.core.jsontypes import JsonObject
from toolyard.features.secrets.moving import make_name
from toolyard.records.secrets.extraction import take_from_json
from toolyard.records.secrets.mask import is_reference


class References:
    """Gives every secret of a yard a name, the same one each time the yard is read alike."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self.notes: list[str] = []
        """A sentence for each record that held secrets."""

    def replace(
        self, owner: str, name: str, body: JsonObject, members: Collection[str]
    ) -> JsonObject:
        """Return a record with references in place of the secrets in these members of it.

        Args:
            owner: The record as people call it.
            name: The name that those of its secrets begin with.
        """
        shown, names = self._replace(name, body, members)
        if names:
            self._note(owner, names)
        return shown

    def find(self, name: str, body: JsonObject, members: Collection[str]) -> list[str]:
        """Return names for the secrets that are plain in these members of a record."""
        return self._replace(name, body, members)[1]

    def _replace(
        self, name: str, body: JsonObject, members: Collection[str]
    ) -> tuple[JsonObject, list[str]]:
        names: dict[str, None] = {}

        def stand_in(label: str, secret: str) -> str:
            reference = self._name(make_name(name, label), secret)
            names[reference] = None
            return f"${{keyring:{reference}}}"

        shown = {
            key: take_from_json(value, stand_in, key) if key in members else value
            for key, value in body.items()
        }
        return shown, list(names)

    def replace_values(
        self, owner: str, name: str, body: JsonObject, secrets: Collection[str]
    ) -> JsonObject:
        """Return values with references in place of those that are said to be secrets."""
        shown, names = dict(body), list[str]()
        for key in secrets:
            if isinstance(value := body.get(key), str) and value and not is_reference(value):
                names.append(self._name(make_name(name, key), value))
                shown[key] = f"${{keyring:{names[-1]}}}"
        if names:
            self._note(owner, names)
        return shown

    def _name(self, wish: str, secret: str) -> str:
        """The wish, or one like it that no other secret has."""
        name, number = wish, 2
        while self._values.get(name, secret) != secret:
            name, number = f"{wish[:60]}-{number}", number + 1
        self._values[name] = secret
        return name

    def _note(self, owner: str, names: list[str]) -> None:
        orders = "; ".join(f"toolyard secret set {name}" for name in dict.fromkeys(names))
        self.notes.append(
            f"{owner} holds a secret, and a reference takes its place;"
            f" where the document is applied, run: {orders}"
        )


def fill_back(wanted: Any, shown: Any, present: Any) -> Any:
    """Return what is wanted, with the present value wherever it says what was shown for that.

    So a document that names a secret by its reference does not take the secret away.
    """
    if wanted == shown:
        return present
    if isinstance(wanted, dict) and isinstance(shown, dict) and isinstance(present, dict):
        return {
            key: fill_back(value, shown[key], present[key]) if key in shown else value
            for key, value in wanted.items()
        }
    if isinstance(wanted, list) and isinstance(shown, list) and isinstance(present, list):
        words = {
            text: before
            for text, before in zip(shown, present, strict=True)
            if isinstance(text, str)
        }
        return [words.get(item, item) if isinstance(item, str) else item for item in wanted]
    return wanted
