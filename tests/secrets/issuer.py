"""An authorization server and an MCP server that trusts it, both real, in one thread."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

MODERN = "2026-07-28"


class Issuer:
    """Issues tokens that its own MCP server asks for; the test turns its knobs."""

    def __init__(self) -> None:
        self.url = ""
        self.life = 3600
        self.gives_refresh = True
        self.renews = True
        self.failing = False
        """Whether the token endpoint is out of order."""
        self.pkce = ["S256"]
        self.wrong_iss = False
        self.authorize_at = ""
        """What it says its login page is, if not the true one."""
        self.denies = False
        self.admits_nobody = False
        """Whether its MCP server takes no token at all."""
        self.methods: list[str] | None = ["none", "client_secret_post"]
        """How clients may prove who they are; None does not say."""
        self.says_method = True
        """Whether a registration is answered with the method it is for."""
        self.listed_as = ""
        """What the MCP server calls its issuer, if not as the issuer does itself."""
        self.iss = ""
        """What the issuer calls itself when it sends the browser back, if not its address."""
        self.body: bytes = b""
        """What a refusal has for a body."""
        self.packed = ""
        """The coding in which its metadata is sent, asked for or not."""
        self.encodings: list[str] = []
        """What its guests take an answer in."""
        self.scope_needed = ""
        """What a call wants to be granted."""
        self.granted: dict[str, str] = {}
        self.scopes: list[str] = []
        """What was asked for on the login page."""
        self.valid: dict[str, float] = {}
        self.refresh_tokens: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.clients: dict[str, dict[str, Any]] = {}
        self.registrations: list[dict[str, Any]] = []
        self.refreshes = 0
        self.denied = 0
        """Renewals that were asked for and not given."""
        self.failures = 0
        self.refused = 0
        self.asked: list[str] = []
        """The methods that MCP requests had, refused ones as `401`."""

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def revoke(self) -> None:
        """No token holds any more; refresh tokens do."""
        self.valid.clear()

    # OAuth.

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": self.authorize_at or f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            **({"token_endpoint_auth_methods_supported": self.methods} if self.methods else {}),
            "authorization_response_iss_parameter_supported": True,
            **({"code_challenge_methods_supported": self.pkce} if self.pkce else {}),
        }

    def register(self, wish: dict[str, Any]) -> dict[str, Any]:
        self.registrations.append(wish)
        client = {**wish, "client_id": secrets.token_hex(8)}
        method = wish.get("token_endpoint_auth_method") or "client_secret_basic"
        assert method in (self.methods or ["client_secret_basic"])
        if method != "none":
            client["client_secret"] = secrets.token_urlsafe(24)
        client["token_endpoint_auth_method"] = method
        self.clients[client["client_id"]] = client
        if not self.says_method:
            return {k: v for k, v in client.items() if k != "token_endpoint_auth_method"}
        return client

    def authorize(self, asked: dict[str, str]) -> str:
        client = self.clients[asked["client_id"]]
        assert asked["redirect_uri"] in client["redirect_uris"]
        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] == self.mcp
        scope = asked.get("scope", "")
        assert {*scope.split()} <= {*client.get("scope", scope).split()}
        back = {
            "state": asked["state"],
            "iss": "http://127.0.0.1:9" if self.wrong_iss else self.iss or self.url,
        }
        if self.denies:
            return f"{asked['redirect_uri']}?{urlencode({**back, 'error': 'access_denied'})}"
        self.scopes.append(scope)
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({**back, 'code': code})}"

    def _knows(self, form: dict[str, str], header: str) -> bool:
        """Whether a client proves who it is, in the one way it was registered for."""
        client = self.clients.get(form.get("client_id", ""), {})
        method = client.get("token_endpoint_auth_method", "client_secret_post")
        pair = f"{client.get('client_id')}:{client.get('client_secret')}".encode()
        basic = f"Basic {base64.b64encode(pair).decode()}"
        shown = (form.get("client_secret"), header)
        return shown == {
            "none": (None, ""),
            "client_secret_post": (client.get("client_secret", "?"), ""),
            "client_secret_basic": (None, basic),
        }.get(method)

    def token(self, form: dict[str, str], header: str) -> tuple[int, dict[str, Any]]:
        if self.failing:
            self.failures += 1
            return 503, {}
        if not self._knows(form, header):
            return 401, {"error": "invalid_client"}
        if form["grant_type"] == "refresh_token":
            if not self.renews or form["refresh_token"] not in self.refresh_tokens:
                self.denied += 1
                return 400, {"error": "invalid_grant"}
            assert form["resource"] == self.mcp
            self.refresh_tokens.discard(form["refresh_token"])
            self.refreshes += 1
            return 200, self._issue(self.scopes[-1])
        asked = self.codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
        assert form["redirect_uri"] == asked["redirect_uri"]
        assert form["resource"] == self.mcp
        return 200, self._issue(asked.get("scope", ""))

    def _issue(self, scope: str) -> dict[str, Any]:
        token = f"token-{secrets.token_urlsafe(24)}"
        self.valid[token] = time.time() + self.life
        self.granted[token] = scope
        answer: dict[str, Any] = {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": self.life,
            "scope": scope or "tools",
        }
        if self.gives_refresh:
            answer["refresh_token"] = f"refresh-{secrets.token_urlsafe(24)}"
            self.refresh_tokens.add(answer["refresh_token"])
        return answer

    # MCP.

    def admits(self, header: str) -> bool:
        token = header.removeprefix("Bearer ")
        return not self.admits_nobody and time.time() < self.valid.get(token, 0)

    def lacks(self, header: str, request: dict[str, Any]) -> bool:
        """Whether a call wants more than its token grants."""
        granted = self.granted.get(header.removeprefix("Bearer "), "").split()
        return request["method"] == "tools/call" and not {*self.scope_needed.split()} <= {*granted}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        results: dict[str, dict[str, Any]] = {
            "server/discover": {
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}},
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            },
            "tools/list": {
                "tools": [{"name": "whoami", "inputSchema": {"type": "object"}}],
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            },
            "tools/call": {
                "content": [{"type": "text", "text": "you"}],
                "resultType": "complete",
            },
        }
        return {"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    issuer: Issuer

    def do_GET(self) -> None:
        issuer, parts = self.issuer, urlsplit(self.path)
        issuer.encodings.append(self.headers.get("Accept-Encoding", ""))
        if issuer.packed and "well-known" in parts.path:
            # A megabyte that becomes a gigabyte, in small.
            self._send(200, gzip.compress(bytes(1 << 24)), {"Content-Encoding": issuer.packed})
        elif parts.path == "/.well-known/oauth-protected-resource/mcp":
            servers = [issuer.listed_as or issuer.url]
            self._json(200, {"resource": issuer.mcp, "authorization_servers": servers})
        elif parts.path == "/.well-known/oauth-authorization-server":
            self._json(200, issuer.metadata())
        elif parts.path == "/authorize":
            place = issuer.authorize({k: v[0] for k, v in parse_qs(parts.query).items()})
            self._send(302, b"", {"Location": place})
        else:
            self._send(404, b"")

    def do_POST(self) -> None:
        issuer = self.issuer
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/register":
            self._json(201, issuer.register(json.loads(body)))
        elif self.path == "/token":
            header = self.headers.get("Authorization", "")
            self._json(*issuer.token(dict(parse_qsl(body.decode())), header))
        else:
            self._mcp(json.loads(body), self.headers.get("Authorization", ""))

    def _mcp(self, request: dict[str, Any], header: str) -> None:
        issuer = self.issuer
        if not issuer.admits(header):
            issuer.refused += 1
            issuer.asked.append("401")
            where = f"{issuer.url}/.well-known/oauth-protected-resource/mcp"
            self._refuse(401, f'Bearer resource_metadata="{where}"')
        elif issuer.lacks(header, request):
            issuer.asked.append("403")
            lack = f'error="insufficient_scope", scope="{issuer.scope_needed}"'
            self._refuse(403, f"Bearer {lack}")
        else:
            issuer.asked.append(request["method"])
            self._json(200, issuer.answer(request))

    def _refuse(self, status: int, challenge: str) -> None:
        kind = "application/json" if self.issuer.body[:1] == b"{" else "text/plain"
        headers = {"WWW-Authenticate": challenge, "Content-Type": kind}
        self._send(status, self.issuer.body, headers)

    def do_DELETE(self) -> None:
        self._send(404, b"")

    def _json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def issuing() -> Iterator[Issuer]:
    """A running issuer with its MCP server."""
    issuer = Issuer()
    door = type("Here", (Door,), {"issuer": issuer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), door)
    server.daemon_threads = True
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
