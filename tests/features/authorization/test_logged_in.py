"""Clients that people logged in with are listed and logged out: by a keeper, or by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.control.company import send
from tests.doors.doors import Doors, call
from tests.features.authorization.people import bearer, log_in, make_app, make_member, open_own

TOP = "/api/v1/authorizations"
OWN = "/api/v1/my/authorizations"


async def listed(doors: Doors) -> list[dict[str, Any]]:
    """The clients, as the hub's owner sees them."""
    rows: list[dict[str, Any]] = (await doors.get(TOP))["clients"]
    return rows


async def test_clients_are_listed_and_logged_out(home: Path) -> None:
    async with open_own(home) as doors:
        assert await listed(doors) == []
        tokens = {}
        for name in ("ann", "bob"):
            await make_member(doors, f"{name}@example.com")
            app = await make_app(doors, client_name=f"The app of {name}")
            tokens[name] = await log_in(
                doors, app, f"{name}@example.com", scope="toolyard:use toolyard:own"
            )
        rows = await listed(doors)
        assert [(row["email"], row["client"], row["host"]) for row in rows] == [
            ("ann@example.com", "The app of ann", "127.0.0.1:9"),
            ("bob@example.com", "The app of bob", "127.0.0.1:9"),
        ]
        assert all(row["since"] <= row["last_used"] < row["until"] for row in rows)
        secrets = [tokens["ann"]["access_token"], tokens["ann"]["refresh_token"].split(".")[1]]
        assert not any(secret in str(rows) for secret in secrets)

        ann, bob = (bearer(doors, tokens[name]["access_token"]) for name in ("ann", "bob"))
        head = await ann.initialize()
        hers, his = [await own(doors, tokens[name]["access_token"]) for name in ("ann", "bob")]
        assert [hers, his] == [[rows[0]], [rows[1]]]
        theirs = {"Authorization": f"Bearer {tokens['bob']['access_token']}"}
        assert (await send(doors, "DELETE", f"{OWN}/{rows[0]['id']}", **theirs)).status == 404
        assert (await ann.post(call("ping"), head)).status == 200

        assert (await send(doors, "DELETE", f"{TOP}/{rows[0]['id']}")).status == 200
        assert (await ann.post(call("ping"), head)).status == 401
        assert (await send(doors, "DELETE", f"{TOP}/{rows[0]['id']}")).status == 404
        await bob.initialize()
        assert (await send(doors, "DELETE", f"{OWN}/{rows[1]['id']}", **theirs)).status == 200
        assert await listed(doors) == []


async def own(doors: Doors, token: str) -> Any:
    """The clients of whoever has this token."""
    answer = await send(doors, "GET", OWN, Authorization=f"Bearer {token}")
    assert answer.status == 200, answer
    return answer.json()["clients"]
