"""The cost of a call by a member, who comes in by their own name, beside one by the hub's owner."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median

from joserfc import jwt
from joserfc.jwk import ECKey
from load import Target, repeat
from processes import TOKEN, Running, door_opens, http_upstreams, hub, tools_arrive
from table import Row

CALLERS = 16
MOST = 1.03
"""A call with identity on, as a multiple of one without."""
KEY = ECKey.generate_key("P-256", {"kid": "bench", "use": "sig"})


async def with_and_without(rounds: int, seconds: float) -> list[Row]:
    """One row: a member of a hub that trusts an issuer, beside the owner of one that does not."""
    costs: dict[str, list[float]] = {"with": [], "without": []}
    with (
        http_upstreams(1, 0) as urls,
        issuing() as issuer,
        hub(urls, [], settings={"TOOLYARD_ISSUER": issuer}) as team,
        hub(urls, []) as own,
    ):
        for running in (team, own):
            await door_opens(running)
            await tools_arrive(running, 3)
        await asyncio.to_thread(admit_everybody, team.target)
        targets = {"with": as_member(team, issuer), "without": own.target}
        for _ in range(rounds):
            for name, running in (("with", team), ("without", own)):
                costs[name].append(await measure(running, targets[name], seconds))
    pairs = zip(costs["with"], costs["without"], strict=True)
    ratio = median(member / owner for member, owner in pairs)
    row = Row("echo, member", "CPU us/call", median(costs["with"]), before=median(costs["without"]))
    row.change, row.target, row.met = ratio, f"at most {MOST:g} x the owner", ratio <= MOST
    return [row]


async def measure(running: Running, target: Target, seconds: float) -> float:
    """CPU of a hub for one call, in microseconds."""
    params = {"name": f"{target.prefix}echo", "arguments": {"text": "hello"}}
    tally = await repeat(target, "tools/call", params, CALLERS, seconds, running.cpu)
    return tally.cpu_us


def as_member(running: Running, issuer: str) -> Target:
    """The door of the hub for somebody with a token of the issuer."""
    url = f"http://{running.target.host}:{running.target.port}/mcp"
    now = int(time.time())
    person = {"iss": issuer, "sub": "ann", "email": "ann@example.com", "groups": ["bench"]}
    claims = {**person, "aud": url, "iat": now, "exp": now + 3600}
    header = {"alg": "ES256", "kid": KEY.kid, "typ": "at+jwt"}
    return Target(url, jwt.encode(header, claims, KEY), "s00__")


def admit_everybody(target: Target) -> None:
    """Let whoever logs in use every server."""
    order(target, "/api/v1/profiles/all", {"allow": ["*"]})
    order(target, "/api/v1/admissions/*", {"profiles": ["all"]})


def order(target: Target, path: str, body: dict[str, object]) -> None:
    """Give an order to a hub, as its owner."""
    head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(target.host, target.port, timeout=30)
    try:
        connection.request("PUT", path, json.dumps(body), head)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
    finally:
        connection.close()


@contextmanager
def issuing() -> Iterator[str]:
    """An issuer of signed tokens while inside; gives its address."""
    url = ""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys = {"keys": [KEY.as_dict(private=False)]}
            about = {"issuer": url, "jwks_uri": f"{url}/keys"}
            about |= {
                name: f"{url}/{name}" for name in ("authorization_endpoint", "token_endpoint")
            }
            body = json.dumps(keys if self.path == "/keys" else about).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield url
        finally:
            server.shutdown()
            thread.join()
