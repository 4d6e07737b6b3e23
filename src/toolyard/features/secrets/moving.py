"""Moves secrets out of endpoints: they are kept under a name, and a reference takes their place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.endpoint import Endpoint, change_texts
from toolyard.core.errors import SecretError
from toolyard.features.secrets.model import KeptSecret
from toolyard.features.secrets.store import Secrets
from toolyard.records.secrets.extraction import INPUT, take_secrets

_ODD: Final = re.compile(r"[^a-z0-9.]+")
_NAME_LONGEST: Final = 64
_ANY: Final = "${secret}"
_ANY_REFERENCE: Final = re.compile(r"(?<!\$)\$\{(?:keyring|file|input):[^}]*\}")


@dataclass(frozen=True, slots=True)
class MovedSecrets:
    """An endpoint without secrets, and the secrets that its references stand for."""

    endpoint: Endpoint
    values: dict[str, str] = field(default_factory=dict, repr=False)
    """The value of each secret, by its name."""
    needed: tuple[KeptSecret, ...] = ()
    """Secrets that only the user knows: an editor would have asked for them."""


class SecretMover:
    """Plans the move of servers' secrets; it blocks, for a keyring may ask its user."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._values: dict[str, str | None] = {}
        """Values that were looked up or promised, by the name of the secret."""

    def move_out(self, server: str, endpoint: Endpoint) -> MovedSecrets:
        """Return the endpoint of a server without its secrets; nothing is kept yet."""
        values: dict[str, str] = {}
        needed: dict[str, KeptSecret] = {}

        def stand_in(label: str, text: str) -> str:
            value = text.replace("$${", "${")
            name = self._name_for(make_name(server, label), value)
            values[name] = value
            return self._secrets.planned(name).reference

        def ask_for(match: re.Match[str]) -> str:
            secret = self._secrets.planned(make_name(server, match[1]))
            needed[secret.name] = secret
            return secret.reference

        endpoint = take_secrets(endpoint, stand_in)
        endpoint = change_texts(endpoint, lambda text: INPUT.sub(ask_for, text))
        stored = self._secrets.list()
        missing = tuple(secret for name, secret in needed.items() if name not in stored)
        return MovedSecrets(endpoint, values, missing)

    def find_moved(self, server: str, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint without its secrets if all of them are stored; else as it is."""
        moved = self.move_out(server, endpoint)
        stored = self._secrets.list()
        return moved.endpoint if all(name in stored for name in moved.values) else endpoint

    def _name_for(self, wish: str, value: str) -> str:
        """The wish, or one like it, that no other value has."""
        number = 1
        while True:
            name = wish if number == 1 else f"{wish[: _NAME_LONGEST - 4]}-{number}"
            if self._value(name) in (None, value):
                self._values[name] = value
                return name
            number += 1

    def _value(self, name: str) -> str | None:
        """The value of a secret; None if there is none, and empty if it cannot be read."""
        if name not in self._values:
            secret = self._secrets.list().get(name)
            try:
                self._values[name] = self._secrets.read(secret) if secret else None
            except SecretError:
                self._values[name] = ""
        return self._values[name]


def make_name(server: str, label: str) -> str:
    """The name for a secret of a server: `github-token` of GITHUB_TOKEN."""
    first, second = (_ODD.sub("-", text.lower()).strip("-.") for text in (server, label))
    begins_alike = second == first or second.startswith(f"{first}-")
    return (second if begins_alike else f"{first}-{second}")[:_NAME_LONGEST].strip("-.") or "secret"


def shape_of(endpoint: Endpoint) -> Endpoint:
    """The endpoint with one mark for every secret, be it plain or a reference."""
    plain = take_secrets(endpoint, lambda _label, _text: _ANY)
    return change_texts(plain, lambda text: _ANY_REFERENCE.sub(_ANY, text))
