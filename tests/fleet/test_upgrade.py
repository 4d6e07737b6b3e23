"""The chart's pods as processes: replaced one by one by a version with newer tables, under load.

The order is that of a Deployment with `maxSurge: 1` and `maxUnavailable: 0`. The variables are
those of the rendered manifest; only the places are others: all pods are on one machine.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.deploy.test_chart import plain, pod_of
from tests.e2e.hub import TOKEN, new_home
from tests.fixtures.ports import free_port, free_ports
from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from tests.fleet.balanced import introduce, running_servers
from tests.fleet.balancer import balancer
from tests.fleet.fleet import KEY
from tests.fleet.load import Outcomes, calling, progressed
from tests.fleet.mixed import FOLLOWERS, check, mixed_load
from tests.fleet.replicas import Replica
from toolyard.records.postgres.schema import STEPS

__all__ = ["postgres", "shared_yard"]

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(3600)]

SOURCE = Path(__file__).resolve().parents[2] / "src"
SECRET = {"token": TOKEN, "key": KEY, "database-password": ""}
PODS = 3
BETWEEN = 500
"""Calls that end between two steps of the upgrade."""
NEWER = """
STEPS = (*STEPS, SchemaStep("ALTER TABLE replicas ADD COLUMN zone text NOT NULL DEFAULT ''"))
"""
"""The next version's change of the tables."""


def pod_environment(name: str, address: str) -> dict[str, str]:
    """The variables that the manifest gives to a pod of this name, at this address."""
    made: dict[str, str] = {}
    facts = {"metadata.name": name, "status.podIP": address}
    for variable in pod_of(plain("with-postgresql.yaml"))["containers"][0]["env"]:
        origin = variable.get("valueFrom", {})
        if "secretKeyRef" in origin:
            value = SECRET[origin["secretKeyRef"]["key"]]
        elif "fieldRef" in origin:
            value = facts[origin["fieldRef"]["fieldPath"]]
        else:
            value = variable["value"].replace("$(POD_IP)", address)
        made[variable["name"]] = value
    return made


@contextmanager
def pods(yard: SharedYard, port: int, sources: Mapping[str, Path]) -> Iterator[list[Replica]]:
    """Pods with these sources, by their names; none has started."""
    with ExitStack() as stack:
        made = []
        for number, (name, source) in enumerate(sources.items(), 10):
            address = f"127.1.0.{number}"
            environment = {
                **pod_environment(name, address),
                **yard.environment,
                "TOOLYARD_HOST": address,
                "TOOLYARD_ALLOW_HOST": f"127.0.0.1:{port}",
                "PYTHONPATH": str(source),
            }
            home, places = stack.enter_context(new_home()), free_ports(3)
            made.append(Replica(name, home, places[0], places[1], places[2], environment, address))
            stack.callback(made[-1].close)
        yield made


def next_version(folder: Path) -> Path:
    """A copy of the sources that knows one more step of the tables."""
    copied = Path(shutil.copytree(SOURCE, folder / "next"))
    with (copied / "toolyard/records/postgres/schema.py").open("a") as schema:
        schema.write(NEWER)
    return copied


def steps_done(yard: SharedYard) -> int:
    """The number of steps that the tables of a yard have gone."""
    query = sql.SQL("SELECT schema FROM {}").format(sql.Identifier(yard.schema, "yard"))
    with psycopg.connect(yard.address) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


async def test_no_call_is_lost_while_pods_are_replaced_by_a_version_with_newer_tables(
    home: Path, shared_yard: SharedYard
) -> None:
    outcomes, port = Outcomes(), free_port()
    versions = {"old": SOURCE, "new": next_version(home)}
    sources = {f"{v}-{n}": source for v, source in versions.items() for n in range(PODS)}
    with (
        running_servers(list(FOLLOWERS)) as servers,
        pods(shared_yard, port, sources) as made,
    ):
        before, after = made[:PODS], made[PODS:]
        await asyncio.gather(*(asyncio.to_thread(pod.start) for pod in before))
        await asyncio.to_thread(introduce, before, servers)
        assert steps_done(shared_yard) == len(STEPS)
        async with (
            balancer(home, port, made) as front,
            calling(mixed_load(port, outcomes)),
        ):
            for old, new in zip(before, after, strict=True):
                await progressed(outcomes, BETWEEN)
                await asyncio.to_thread(new.start)
                await front.until(new.name, "UP")
                assert steps_done(shared_yard) == len(STEPS) + 1
                await progressed(outcomes, BETWEEN)
                assert await asyncio.to_thread(old.stop) == 0
            await progressed(outcomes, BETWEEN)

    print(f"{PODS} pods replaced: {outcomes}")
    check(outcomes)
