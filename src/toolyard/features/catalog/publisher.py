"""The servers of a registry: any address that speaks the API of the public MCP registry.

Only https, and http on this machine; nothing is redirected, and every answer is bounded in size
and time. All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import http.client
import json
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.jsontypes import JsonObject

ANSWER_LIMIT: Final = 4 * 1024 * 1024
STEP_SECONDS: Final = 10.0
"""For one step: to connect, or until the next bytes."""
WHOLE_SECONDS: Final = 30.0
"""For a whole answer."""
PAGE: Final = 100
LOCAL: Final = ("127.0.0.1", "localhost", "::1")


class PublisherError(ConfigError):
    """The address does not give what it should."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some published servers, each as `{"server": ..., "_meta": ...}`, and where the next are."""

    servers: tuple[JsonObject, ...]
    next_cursor: str = ""


class Publisher:
    """The servers that are published at one base address.

    Raises:
        PublisherError: The address cannot be used.
    """

    def __init__(self, base: str) -> None:
        try:
            parts = urlsplit(base.strip())
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError as error:
            raise PublisherError("the address of the registry cannot be read") from error
        secure = parts.scheme == "https"
        if not self._host or not (secure or (parts.scheme == "http" and self._host in LOCAL)):
            raise PublisherError(
                "the address of a registry must be https, or http on this machine",
                "write it as https://host",
            )
        if (
            parts.username
            or not base.isascii()
            or any(c <= " " or c == "\x7f" for c in base.strip())
        ):
            raise PublisherError("the address of the registry cannot be used", "write https://host")
        self._secure = secure
        self._path = parts.path.rstrip("/").removesuffix("/v0.1")

    def search(
        self, words: str = "", cursor: str = "", limit: int = PAGE, updated_since: str = ""
    ) -> Page:
        """Give a page of the servers that match, the latest version of each.

        Raises:
            PublisherError: It cannot be had.
        """
        filters = {"search": words, "cursor": cursor, "updated_since": updated_since}
        query = {key: value for key, value in filters.items() if value}
        answer = self._get("/v0.1/servers", query | {"version": "latest", "limit": str(limit)})
        return _page(answer)

    def get(self, name: str, version: str = "latest") -> JsonObject:
        """Give one version of a server, as `{"server": ..., "_meta": ...}`.

        Raises:
            UnknownNameError: It is not published there.
            PublisherError: It cannot be had.
        """
        path = f"/v0.1/servers/{quote(name, safe='')}/versions/{quote(version, safe='')}"
        answer = self._get(path, {})
        if not isinstance(answer.get("server"), dict):
            raise PublisherError("the registry gave an answer that holds no server")
        return answer

    def versions(self, name: str) -> Page:
        """Give all versions of a server.

        Raises:
            UnknownNameError: It is not published there.
            PublisherError: It cannot be had.
        """
        return _page(self._get(f"/v0.1/servers/{quote(name, safe='')}/versions", {}))

    def _get(self, path: str, query: dict[str, str]) -> JsonObject:
        target = self._path + path + (f"?{urlencode(query)}" if query else "")
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        try:
            with closing(kind(self._host, self._port, timeout=STEP_SECONDS)) as connection:
                connection.request("GET", target, headers={"Accept": "application/json"})
                response = connection.getresponse()
                body = _read(response)
        except TimeoutError as error:
            raise PublisherError(
                f"the registry at '{self._host}' did not answer in time", "try again later"
            ) from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise PublisherError(
                f"the registry at '{self._host}' cannot be reached: {type(error).__name__}",
                "check the address, and that you are online",
            ) from error
        if response.status == 404:
            raise UnknownNameError("it is not published there", "see: toolyard catalog search")
        if response.status != 200:
            raise PublisherError(
                f"the registry at '{self._host}' answered with status {response.status}",
                "check the address" if response.status in (301, 302, 307, 308) else "try later",
            )
        return _object(body)


def _read(response: http.client.HTTPResponse) -> bytes:
    end = time.monotonic() + WHOLE_SECONDS
    body = bytearray()
    while chunk := response.read1(65536):
        body += chunk
        if len(body) > ANSWER_LIMIT:
            raise PublisherError(f"the registry's answer has more than {ANSWER_LIMIT} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    return bytes(body)


def _object(body: bytes) -> JsonObject:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PublisherError("the registry gave an answer that is no JSON") from error
    if not isinstance(value, dict):
        raise PublisherError("the registry gave an answer that is no object")
    return value


def _page(answer: JsonObject) -> Page:
    entries, metadata = answer.get("servers"), answer.get("metadata")
    if not isinstance(entries, list):
        raise PublisherError("the registry gave an answer without a list of servers")
    more = metadata if isinstance(metadata, dict) else {}
    cursor = more.get("nextCursor") or more.get("next_cursor") or ""
    return Page(tuple(_wrapped(entry) for entry in entries if isinstance(entry, dict)), str(cursor))


def _wrapped(entry: JsonObject) -> JsonObject:
    return entry if isinstance(entry.get("server"), dict) else {"server": entry}
