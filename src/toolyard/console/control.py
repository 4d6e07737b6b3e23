"""Speaks to the running hub through its control door."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, cast
from urllib.parse import quote, urlsplit

import msgspec

from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.core.rows import YardStatus
from toolyard.operation import Answer, FaultRow, Operation, Order, RawObject, Versioned, write_order

PATIENCE = 10.0
"""Seconds for a question the hub answers from what it knows."""
ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - they are compared, not bound
"""Addresses that listen everywhere; whoever is on this machine uses the loopback."""


EXITS: Final = {
    400: Exit.CONFIG,
    404: Exit.NOT_FOUND,
    408: Exit.TIMEOUT,
    422: Exit.CONFIG,
    504: Exit.TIMEOUT,
}
"""What a command ends with when the hub answers with this status: the same as without a hub."""


class Control:
    """The control door of the hub at `url`."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self._host = parts.hostname or "127.0.0.1"
        if self._host in ANYWHERE:
            self._host = "127.0.0.1"
        self._port = parts.port or 80
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def run(
        self,
        operation: Operation[Order, Answer],
        order: Order,
        patience: float = PATIENCE,
        version: str = "",
    ) -> Answer:
        """Have an operation carried out; return its answer.

        With `version`, an order is refused if what it changes is no longer at that version.
        """
        request = write_order(operation, order)
        with self._request(
            operation.method,
            request.target,
            request.body,
            patience,
            f'"{version}"' if version else "",
            request.headers,
        ) as response:
            raw, version = response.read(), response.headers.get("ETag", "").strip('"')
        if operation.answer == RawObject:
            return cast("Answer", msgspec.Raw(raw))
        answer = self._decode(raw, operation.answer)
        return cast("Answer", Versioned(answer, version) if operation.is_versioned else answer)

    def status(self) -> YardStatus:
        """The whole yard."""
        with self._request("GET", "/api/v1/status", None, PATIENCE) as response:
            status: YardStatus = self._decode(response.read(), YardStatus)
        return status

    def log(self, alias: str, follow: bool) -> Iterator[str]:
        """The lines a server wrote; with `follow` also those it is yet to write."""
        query = "?follow=1" if follow else ""
        path = f"/api/v1/servers/{quote(alias, safe='')}/log{query}"
        with self._request("GET", path, None, None if follow else PATIENCE) as response:
            while line := response.readline():
                yield line.decode("utf-8", "replace").rstrip("\r\n")

    def _decode(self, raw: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.MsgspecError as error:
            text = f"cannot read the answer of the hub at {self.url}: {error}"
            raise CommandError(text, "it may be of another version: toolyard restart") from error

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        body: object,
        patience: float | None,
        match: str = "",
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=patience)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = self._headers | ({"Content-Type": "application/json"} if data else {})
        headers |= {"If-Match": match} if match else {}
        headers |= dict(more)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise _refusal(response.status, response.read(1 << 20))
            yield response
        except TimeoutError as error:
            text = f"the hub at {self.url} did not answer within {patience:g} s"
            raise CommandError(text, "try again, or run: toolyard restart", Exit.TIMEOUT) from error
        except (OSError, http.client.HTTPException) as error:
            text = f"the hub at {self.url} cannot be reached: {str(error) or type(error).__name__}"
            raise CommandError(text, "run: toolyard restart", Exit.NO_HUB) from error
        finally:
            connection.close()


def _refusal(status: int, body: bytes) -> CommandError:
    """The hub's refusal, in its own words."""
    errors: list[FaultRow] = []
    try:
        problem = json.loads(body)
        text, hint = str(problem.get("detail") or problem["title"]), str(problem.get("hint", ""))
        errors = msgspec.convert(problem.get("errors", []), list[FaultRow])
    except (ValueError, KeyError, AttributeError, msgspec.MsgspecError):
        text, hint = f"the hub answered with status {status}", "look into: toolyard logs"
    if status == 401:
        hint = "the hub was started with another token: set TOOLYARD_TOKEN alike, or restart it"
    usual = Exit.REFUSED if status < 500 else Exit.FAILED
    error = CommandError(text, hint, EXITS.get(status, usual))
    error.errors = errors
    return error
