"""The API of a cluster: objects as plain values, streams as web sockets, errors as ours."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypedDict

import msgspec

from toolyard.core.errors import StartError
from toolyard.executors.kubernetes.container import Manifest

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientWebSocketResponse
    from kubernetes_asyncio.client import ApiClient

REQUEST_SECONDS: Final = 10.0
HEARTBEAT: Final = 8.0
"""Seconds between two pings; a stream is lost without an answer for half of that."""
_PATHS: Final = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
}


class _ConnectionOptions(TypedDict, total=False):
    """The way to the cluster, as aiohttp takes it."""

    proxy: str
    proxy_headers: Mapping[str, str]
    server_hostname: str


class ApiError(StartError):
    """The cluster refused a request; `status` is the HTTP status, 0 if it did not answer."""

    def __init__(self, text: str, hint: str = "", status: int = 0) -> None:
        super().__init__(text, hint)
        self.status = status

    @property
    def is_passing(self) -> bool:
        """True if the same request may work later: no answer, or an error of the cluster."""
        return self.status == 0 or self.status >= 500


class Api:
    """One cluster and one namespace in it."""

    def __init__(
        self,
        client: ApiClient,
        name: str,
        namespace: str,
        renew: Callable[[], Awaitable[object]],
    ) -> None:
        self._client = client
        self._renew = renew
        self._name = name
        self.namespace = namespace

    @property
    def host(self) -> str:
        """The address of the API."""
        return str(self._client.configuration.host)

    async def create(self, manifest: Manifest) -> Manifest:
        """Create an object, and return it as the cluster has it."""
        return await self._json("POST", self._path(manifest["kind"]), body=manifest)

    async def get(self, kind: str, name: str) -> Manifest | None:
        """Return an object, or None if there is none of that name."""
        try:
            return await self._json("GET", f"{self._path(kind)}/{name}")
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    async def list(self, kind: str, selector: str) -> Manifest:
        """Return the list of all objects with these labels."""
        return await self._json("GET", self._path(kind), {"labelSelector": selector})

    async def delete(self, kind: str, name: str, *, grace: int | None = None) -> None:
        """Delete an object and everything it owns; one that is gone already is no error."""
        body: Manifest = {"kind": "DeleteOptions", "propagationPolicy": "Background"}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            await self._json("DELETE", f"{self._path(kind)}/{name}", body=body)
        except ApiError as error:
            if error.status != 404:
                raise

    async def log(self, pod: str, lines: int) -> bytes:
        """Return the last lines of a pod's log, stdout and stderr mixed."""
        path = f"{self._path('Pod')}/{pod}/log"
        async with self._request("GET", path, {"tailLines": str(lines)}) as response:
            return await response.read()

    @asynccontextmanager
    async def watch(
        self, kind: str, selector: str, version: str, seconds: int
    ) -> AsyncIterator[AsyncIterator[Manifest]]:
        """Give changes after a version as they come, for some seconds."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "labelSelector": selector,
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        async with self._request("GET", self._path(kind), query, quiet=seconds + 5) as response:
            yield self._events(response)

    @asynccontextmanager
    async def socket(
        self, pod: str, verb: str, query: Mapping[str, str], protocols: tuple[str, ...]
    ) -> AsyncIterator[ClientWebSocketResponse]:
        """Open a stream to a pod: `attach` or `portforward`."""
        from aiohttp import ClientWSTimeout, WSServerHandshakeError

        url = re.sub("^http", "ws", self.host) + f"{self._path('Pod')}/{pod}/{verb}"
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                socket = await self._session.ws_connect(
                    url,
                    params=query,
                    headers=await self._headers(),
                    protocols=protocols,
                    heartbeat=HEARTBEAT,
                    timeout=ClientWSTimeout(ws_close=1.0),
                    max_msg_size=0,
                    **self._connection_options(),
                )
        except WSServerHandshakeError as error:
            raise self.refusal(error.status, f"{verb} to pod {pod}: {error.message}") from error
        except (OSError, TimeoutError) as error:
            raise self._unreachable(error) from error
        async with socket:
            yield socket

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _json(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None
    ) -> Manifest:
        try:
            return await self._once(method, path, query, body)
        except ApiError as error:
            if error.status != 401:
                raise
        # Tokens of some clusters last minutes: get another where the last one came from.
        await self._renew()
        return await self._once(method, path, query, body)

    async def _once(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Any
    ) -> Manifest:
        async with self._request(method, path, query, body=body) as response:
            answer: Manifest = msgspec.json.decode(await response.read())
            return answer

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        quiet: float = 0,
    ) -> AsyncIterator[ClientResponse]:
        from aiohttp import ClientError, ClientTimeout

        whole = None if quiet else REQUEST_SECONDS
        limit = ClientTimeout(total=whole, sock_connect=REQUEST_SECONDS, sock_read=quiet or None)
        headers = await self._headers() | {"Content-Type": "application/json"}
        if self._session.closed:  # a server was still starting when the hub stopped
            raise self._unreachable(ConnectionError("it was closed"))
        try:
            async with self._session.request(
                method,
                self.host + path,
                params=query,
                headers=headers,
                data=None if body is None else msgspec.json.encode(body),
                timeout=limit,
                **self._connection_options(),
            ) as response:
                if response.status >= 400:
                    raise self.refusal(response.status, _message(await response.read()))
                yield response
        except (ClientError, OSError, TimeoutError, ValueError, msgspec.DecodeError) as error:
            # Half an answer, or one of something in between, counts as none.
            raise self._unreachable(error) from error

    async def _events(self, response: ClientResponse) -> AsyncIterator[Manifest]:
        async for line in response.content:
            if not line.strip():
                continue
            event = msgspec.json.decode(line)
            if event["type"] == "ERROR":
                status = event["object"].get("code", 500)
                raise self.refusal(status, event["object"].get("message", ""))
            yield event

    @property
    def _session(self) -> Any:
        return self._client.rest_client.pool_manager

    def _path(self, kind: str) -> str:
        return _PATHS[kind].format(self.namespace)

    def _connection_options(self) -> _ConnectionOptions:
        rest, options = self._client.rest_client, _ConnectionOptions()
        if rest.proxy:
            options["proxy"] = rest.proxy
        if rest.proxy_headers:
            options["proxy_headers"] = rest.proxy_headers
        if rest.server_hostname:
            options["server_hostname"] = rest.server_hostname
        return options

    async def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": "toolyard", "Accept": "*/*"}
        await self._client.update_params_for_auth(headers, [], ["BearerToken"])
        return headers

    def _unreachable(self, error: Exception) -> ApiError:
        why = str(error) or "no answer in time"
        return ApiError(
            f'the cluster of executor "{self._name}" at {self.host} cannot be reached: {why}',
            "see whether the cluster runs, and whether the context names the right address",
        )

    def refusal(self, status: int, message: str) -> ApiError:
        """Return the error for a refusal by the cluster."""
        text = f'the cluster of executor "{self._name}" refused: {message}'
        return ApiError(text, _hint(status, message, self.namespace), status)


def _message(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body)["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return body[:300].decode(errors="replace").strip() or "no reason given"


def _hint(status: int, message: str, namespace: str) -> str:
    if "exceeded quota" in message or "maximum" in message:
        return (
            f'namespace "{namespace}" has a quota: stop something there, ask for less, or raise it'
        )
    if status == 403:
        right = re.search(r'cannot (\w+) resource "([^"]+)"', message)
        action = f"{right[1]} {right[2]}" if right else "do that"
        return (
            f'the right to {action} in namespace "{namespace}" is missing; '
            "the role that comes with toolyard grants all it needs"
        )
    if status == 401:
        return "log in to the cluster again, e.g. with kubectl; its credentials are not accepted"
    if status == 404 and "namespaces" in message:
        return f'create it: kubectl create namespace {namespace}; or set the option "namespace"'
    return ""
