"""The servers of a registry: any address that speaks the API of the public MCP registry.

Only https, and http on this machine; nothing is redirected, and every answer is bounded in size
and time. All of it blocks; on an event loop, call it in a thread.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.wire.download import TooLargeError, download_json

ANSWER_LIMIT: Final = 4 * 1024 * 1024
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
            self._host, _ = parts.hostname or "", parts.port
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
        self._origin = f"{parts.scheme}://{parts.netloc}"
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
        try:
            status, body = download_json(self._origin + target, ANSWER_LIMIT)
        except TooLargeError as error:
            text = f"the registry's answer has more than {ANSWER_LIMIT} bytes"
            raise PublisherError(text) from error
        except TimeoutError as error:
            raise PublisherError(
                f"the registry at '{self._host}' did not answer in time", "try again later"
            ) from error
        except OSError as error:
            reason = type(error.__cause__ or error).__name__
            raise PublisherError(
                f"the registry at '{self._host}' cannot be reached: {reason}",
                "check the address, and that you are online",
            ) from error
        if status == 404:
            raise UnknownNameError("it is not published there", "see: toolyard catalog search")
        if status != 200:
            raise PublisherError(
                f"the registry at '{self._host}' answered with status {status}",
                "check the address" if status in (301, 302, 307, 308) else "try later",
            )
        return _object(body)


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
