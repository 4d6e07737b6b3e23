"""The scan of one app, against real processes on real ports."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.apps.variants import NAMES, Process, an_app, scanning, squatter, variants
from tests.fixtures.ports import free_ports
from tests.fixtures.stub_run import recorded
from toolyard.core.apps import App
from toolyard.core.errors import StartError
from toolyard.core.model import Peer, Url
from toolyard.executors.local import listeners
from toolyard.executors.local.listeners import on_port, read_listeners

NOBODY = 65534


@pytest.fixture
def six(tmp_path: Path) -> Iterator[dict[str, Process]]:
    with variants(*NAMES, record=tmp_path) as made:
        yield made


@pytest.mark.slow
async def test_six_variants_of_both_eras_are_found_in_the_first_scan(
    six: dict[str, Process],
) -> None:
    for process in six.values():
        process.start()
    async with scanning(an_app(six)) as watcher:
        await watcher.until(lambda: watcher.names == list(NAMES))
        assert watcher.codes == []
        assert all(server.steady for server in watcher.reports[-1].servers)
        assert [sight.offered for sight in watcher.scan.states()] == [True] * 6


async def test_the_first_report_comes_at_once_even_if_nothing_runs(six: dict[str, Process]) -> None:
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: True, within=2.0)
        assert watcher.names == []


async def test_a_running_variant_is_greeted_once_however_often_it_is_scanned(
    six: dict[str, Process], tmp_path: Path
) -> None:
    six["legacy"].start()
    async with scanning(an_app(six)) as watcher:
        await watcher.until(lambda: watcher.names == ["legacy"])
        for _ in range(20):
            await watcher.scan.refresh()
    assert len(recorded(tmp_path / "legacy.jsonl", "initialize")) == 1
    assert len(recorded(tmp_path / "legacy.jsonl", "session deleted")) == 1


async def test_a_killed_variant_leaves_after_three_misses_in_a_row(
    six: dict[str, Process],
) -> None:
    six["dev"].start()
    six["e2e"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev", "e2e"])
        six["dev"].kill()
        assert not watcher.scan.states()[3].listening, "known without waiting for a scan"
        for misses in (1, 2):
            await watcher.scan.refresh()
            assert watcher.names == ["dev", "e2e"]
            assert watcher.scan.states()[3].misses == misses
        await watcher.scan.refresh()
        assert watcher.names == ["e2e"]
        assert watcher.scan.states()[3].misses == 0, "one that left is missed no more"
        assert [why for _, why in watcher.replaced] == ["stopped listening"]


async def test_how_many_misses_it_takes_can_be_told(six: dict[str, Process]) -> None:
    six["dev"].start()
    env = {"TOOLYARD_YARDSTICK_SCAN_MISSES": "1"}
    async with scanning(an_app(six), interval=60_000, **env) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        six["dev"].kill()
        await watcher.scan.refresh()
        assert watcher.names == []


async def test_a_restart_shorter_than_that_changes_nothing_but_renews_the_link(
    six: dict[str, Process],
) -> None:
    six["dev"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        six["dev"].kill()
        await watcher.scan.refresh()
        await watcher.scan.refresh()
        six["dev"].start()
        await watcher.scan.refresh()
        assert len(watcher.reports) == 1
        assert watcher.scan.states()[3].misses == 0
        assert [why for _, why in watcher.replaced] == ["stopped listening", "was restarted"]


async def test_a_restart_between_two_scans_is_seen_too(six: dict[str, Process]) -> None:
    six["dev"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        six["dev"].kill()
        six["dev"].start()
        await watcher.scan.refresh()
        assert len(watcher.reports) == 1
        assert [why for _, why in watcher.replaced] == ["was restarted"]


async def test_misses_must_come_in_a_row(six: dict[str, Process]) -> None:
    six["dev"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        for _ in range(3):
            six["dev"].kill()
            await watcher.scan.refresh()
            await watcher.scan.refresh()
            six["dev"].start()
            await watcher.scan.refresh()
        assert len(watcher.reports) == 1


@pytest.mark.slow
async def test_a_pause_of_our_own_counts_as_no_miss(six: dict[str, Process]) -> None:
    six["dev"].start()
    async with scanning(an_app(six), interval=200) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        six["dev"].kill()
        for _ in range(4):
            end = time.monotonic() + 1.3
            while time.monotonic() < end:  # as if the whole process had been stopped
                pass
            await asyncio.sleep(0.02)  # one scan, which is late
        late = watcher.scan.states()[3].misses
        await watcher.until(lambda: watcher.names == [])
    assert late <= 1


# What is there but is not the app.


async def test_another_server_on_the_port_is_a_conflict_with_its_name(
    six: dict[str, Process],
) -> None:
    six["dev"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        six["dev"].kill()
        six["dev"].start("--name", "weather")
        await watcher.scan.refresh()
        assert watcher.names == []
        (problem,) = watcher.reports[-1].problems
        assert problem.code == "scan-conflict"
        assert f"port {six['dev'].port} of Yardstick dev" in problem.text
        assert "it is 'weather' 1.0" in problem.text
        assert problem.hint
        six["dev"].kill()
        six["dev"].start()
        await watcher.scan.refresh()
        assert (watcher.names, watcher.codes) == (["dev"], [])


async def test_another_server_is_not_asked_again_in_every_scan(
    six: dict[str, Process], tmp_path: Path
) -> None:
    record = str(tmp_path / "weather.jsonl")
    six["dev"].start("--name", "weather", "--era", "legacy", "--record", record)
    async with scanning(an_app(six)) as watcher:
        await watcher.until(lambda: watcher.codes == ["scan-conflict"])
        six["e2e"].start()
        await watcher.until(lambda: watcher.names == ["e2e"])
        six["e2e"].kill()
        await watcher.until(lambda: watcher.names == [])
        assert len(recorded(Path(record), "initialize")) == 1


async def test_what_speaks_no_mcp_is_a_conflict_with_what_it_said(six: dict[str, Process]) -> None:
    six["dev"].start("--status", "418")
    async with scanning(an_app(six)) as watcher:
        await watcher.until(lambda: watcher.codes == ["scan-conflict"])
        assert "HTTP 418" in watcher.reports[-1].problems[0].text


async def test_a_listener_that_starts_to_answer_later_is_found(six: dict[str, Process]) -> None:
    six["dev"].start("--name", "yardstick", "--delay-init", "700")
    async with scanning(an_app(six)) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])


async def test_a_silent_listener_holds_up_nobody_else(six: dict[str, Process]) -> None:
    six["stable"].start()
    with socket.create_server(("127.0.0.1", six["dev"].port)):
        async with scanning(an_app(six)) as watcher:
            await watcher.until(lambda: watcher.names == ["stable"])
            assert watcher.codes == [], "the other one is still waited for"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user too")
async def test_another_users_listener_is_named_and_never_touched(
    six: dict[str, Process],
) -> None:
    six["dev"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        server = watcher.reports[-1].servers[0]
        watcher.scan.admit(server)
        six["dev"].kill()
        with squatter(six["dev"].port, NOBODY) as process:
            with pytest.raises(StartError, match=f"uid {NOBODY}"):
                watcher.scan.admit(server)
            await watcher.scan.refresh()
            assert watcher.names == []
            assert watcher.codes == ["scan-foreign"]
            assert f"uid {NOBODY}" in watcher.reports[-1].problems[0].text
            assert process.stdout is not None
            touched, _, _ = select.select([process.stdout], [], [], 0.2)
            assert touched == []


async def test_a_link_to_somebody_else_is_refused(six: dict[str, Process]) -> None:
    six["dev"].start()
    async with scanning(an_app(six)) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        server = watcher.reports[-1].servers[0]
        watcher.scan.recognise(server, Peer("modern", "2026-07-28", "My YARDSTICK"))
        with pytest.raises(StartError, match="it is 'weather' 2"):
            watcher.scan.recognise(server, Peer("modern", "2026-07-28", "weather", "2"))


# Wherever there is no table, and what looking costs.


async def test_without_a_table_a_connection_tells(
    six: dict[str, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolyard.features.apps.scanner.read_listeners", lambda: None)
    six["dev"].start()
    async with scanning(an_app(six), interval=60_000) as watcher:
        await watcher.until(lambda: watcher.names == ["dev"])
        six["dev"].kill()
        for _ in range(3):
            await watcher.scan.refresh()
        assert watcher.names == []


async def test_a_single_address_is_the_variant_legacy(six: dict[str, Process]) -> None:
    six["dev"].start()
    url = f"http://localhost:{six['dev'].port}/mcp"
    env = {"TOOLYARD_YARDSTICK_MCP_URL": url, "TOOLYARD_YARDSTICK_SCAN_ENABLED": "false"}
    async with scanning(an_app(six), 100, **env) as watcher:
        await watcher.until(lambda: watcher.names == ["legacy"])
        endpoint = watcher.reports[-1].servers[0].endpoint
    assert endpoint == Url(f"http://127.0.0.1:{six['dev'].port}/mcp")


def test_the_kernel_tells_who_listens_in_both_ways() -> None:
    if (over_netlink := read_listeners()) is None:
        pytest.skip("this system has no table of listeners")
    kinds = [("127.0.0.1", 0), ("0.0.0.0", 1)] + (
        [("::", 2), ("::1", 3)] if socket.has_ipv6 else []
    )
    sockets = {rank: _listen(address) for address, rank in kinds}
    try:
        over_netlink = read_listeners()
        assert over_netlink is not None
        from_table = tuple(each for each in listeners._from_tables() if each is not None)
        for rank, listener in sockets.items():
            port = listener.getsockname()[1]
            (found,) = [each for each in over_netlink if each.port == port]
            assert (found.rank, found.uid) == (rank, os.geteuid())
            assert found.inode == os.fstat(listener.fileno()).st_ino
            assert found in from_table
            assert on_port(over_netlink, port) == ((found,) if rank < 3 else ())
    finally:
        for listener in sockets.values():
            listener.close()


def _listen(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, 0), family=family)


async def test_a_scan_of_six_silent_ports_costs_next_to_nothing() -> None:
    ports = zip(NAMES, free_ports(6), strict=True)
    async with scanning(App("yardstick", "yardstick", tuple(ports)), interval=60_000) as watcher:
        await watcher.until(lambda: True)
        rounds = 100
        began = time.process_time()
        for _ in range(rounds):
            await watcher.scan.refresh()
        each = (time.process_time() - began) / rounds * 1000
    print(f"one scan of six silent ports: {each:.2f} ms of processor time")
    assert each < 10.0
