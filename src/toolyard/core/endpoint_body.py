"""An endpoint as the control API describes it; `toolyard.core.endpoint_fields` judges it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

Scalar = str | int | float | bool
Spelling = Annotated[str, Meta(examples=["stdio", "http", "streamable-http", "sse"])]


class EndpointBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The way a server is started (`command`) or reached (`url`), as any client spells it."""

    type: Spelling | UnsetType | None = UNSET
    transport: Spelling | UnsetType | None = UNSET
    command: str | list[Scalar] | UnsetType | None = UNSET
    args: list[Scalar] | UnsetType | None = UNSET
    env: dict[str, Scalar] | UnsetType | None = UNSET
    environment: dict[str, Scalar] | UnsetType | None = UNSET
    cwd: str | UnsetType | None = UNSET
    url: str | UnsetType | None = UNSET
    httpUrl: str | UnsetType | None = UNSET  # noqa: N815 - the word of the clients' files
    serverUrl: str | UnsetType | None = UNSET  # noqa: N815 - the word of the clients' files
    headers: dict[str, Scalar] | UnsetType | None = UNSET
