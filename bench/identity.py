"""The cost of a call by a member, who comes in by their own name, beside one by the hub's owner.

Two hubs that run the same program differ by several percent as long as they run, by where things
happen to lie in memory. So each round starts hubs of its own.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median

from joserfc import jwt
from joserfc.jwk import ECKey
from load import Target, repeat
from processes import TOKEN, Running, door_opens, http_upstreams, hub, tools_arrive
from table import Row

CALLERS = 16
TURNS = 3
START_SECONDS = 60.0
MOST = 1.03
"""A call with identity on, as a multiple of one without."""
KEY = ECKey.generate_key("P-256", {"kid": "bench", "use": "sig"})


async def with_and_without(rounds: int, seconds: float) -> list[Row]:
    """A member of a hub that trusts an issuer, beside owners of hubs that do not.

    The second row is beside an owner whose token is as long: what a member costs but for the head
    of their requests, which a signed token makes longer wherever it goes.
    """
    costs: dict[str, list[float]] = {"member": [], "owner": [], "owner, long token": []}
    with http_upstreams(1, 0) as urls, issuing() as issuer:
        for _ in range(rounds):
            for name, cost in (await one_round(urls, issuer, seconds)).items():
                costs[name].append(cost)
    return [
        compared("echo, member", costs["member"], costs["owner"], MOST),
        compared("the same, equal heads", costs["member"], costs["owner, long token"]),
    ]


async def one_round(urls: list[str], issuer: str, seconds: float) -> dict[str, float]:
    """Start hubs, and measure a call of each caller three times in turn; the medians."""
    long = as_member(Target("http://127.0.0.1:65535/mcp"), issuer).token.split()[-1].lower()
    costs: dict[str, list[float]] = {}
    with (
        hub(urls, [], settings={"TOOLYARD_ISSUER": issuer}) as team,
        hub(urls, []) as own,
        hub(urls, [], settings={"TOOLYARD_TOKEN": long}) as other,
    ):
        other.target = Target(other.target.url, long, other.target.prefix)
        for running in (team, own, other):
            await door_opens(running, START_SECONDS)
            await tools_arrive(running, 3, START_SECONDS)
        await asyncio.to_thread(admit_everybody, team.target)
        member = replace(team, target=as_member(team.target, issuer))
        callers = {"member": member, "owner": own, "owner, long token": other}
        for _ in range(TURNS):
            for name, caller in callers.items():
                costs.setdefault(name, []).append(await measure(caller, seconds / TURNS))
    return {name: median(values) for name, values in costs.items()}


def compared(work: str, costs: list[float], before: list[float], most: float = 0.0) -> Row:
    """A row of what calls cost beside others of the same rounds; judged if there is a target."""
    row = Row(work, "CPU us/call", target=f"at most {most:g} x the owner" if most else "")
    row.compare(costs, before)
    row.met = row.change is not None and row.change <= most if most else None
    return row


async def measure(running: Running, seconds: float) -> float:
    """CPU of a hub for one call, in microseconds."""
    target = running.target
    params = {"name": f"{target.prefix}echo", "arguments": {"text": "hello"}}
    tally = await repeat(target, "tools/call", params, CALLERS, seconds, running.cpu)
    return tally.cpu_us


def as_member(target: Target, issuer: str) -> Target:
    """The door of the hub for somebody with a token of the issuer."""
    url = target.url
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
