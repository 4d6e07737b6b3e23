"""What a team agreed on, and a hub that serves nothing else."""

from __future__ import annotations

import json

from tests.e2e.hub import new_home, running_hub
from tests.verify.yard import command, described, order, says, tool
from toolyard.core.locks import Locked, compare


def test_differences_between_a_lock_and_the_yard_are_named() -> None:
    lock = {"a@x": Locked("1", {"t": "1", "old": "1"}, "npm:a@1", "1.0"), "gone@x": Locked("1")}
    now = {"a@x": Locked("2", {"t": "2", "new": "1"}, "npm:a@2", "1.1"), "more@x": Locked("1")}
    assert compare(lock, lock) == ()
    assert compare(lock, now) == (
        "a@x: is started in another way",
        "a@x: package is npm:a@2, locked is npm:a@1",
        "a@x: tool 'new' is new",
        "a@x: tool 'old' is missing",
        "a@x: tool 't' has changed",
        "a@x: version is 1.1, locked is 1.0",
        "gone@x: is not there",
        "more@x: is not in the lock file",
    )


def test_a_lock_is_written_checked_and_kept_to() -> None:
    with new_home() as home:
        servers = {"shop": says(home, "shop", tool("look"), tool("buy"))}
        other = {**servers, "extra": says(home, "extra", tool("peek"))}
        lock = home / "toolyard.lock"
        with running_hub(servers, home=home) as hub:
            written = command(home, "lock", cwd=home)
            assert written.returncode == 0, written.stderr
            said = json.loads(lock.read_text())
            assert said["version"] == 1
            assert list(said["servers"]["shop@configured"]["tools"]) == ["buy", "look"]
            assert command(home, "lock", "--check", cwd=home).returncode == 0

            says(home, "shop", tool("look"), tool("buy", "does it!"), tool("sell"))
            order(hub, "shop", "restart")
            refused = command(home, "lock", cwd=home)
            assert refused.returncode == 5 and "approve shop" in refused.stderr
            checked = command(home, "--json", "lock", "--check", "--file", str(lock))
            assert checked.returncode == 1
            assert json.loads(checked.stdout)["differences"] == [
                "shop@configured: tool 'buy' has changed",
                "shop@configured: tool 'sell' is new",
            ]
            order(hub, "shop", "approve")
        with running_hub(other, "--frozen", "--lock", str(lock), home=home) as hub:
            # Approved here, but not by the team.
            order(hub, "shop", "activate")
            assert described(hub, "shop")["held"] == ["buy", "sell"]
            assert described(hub, "extra")["problem"]["code"] == "pin-lock"
            done = command(home, "approve", "shop", "--yes")
            assert done.returncode == 5 and "frozen" in done.stderr


def test_a_frozen_hub_does_not_start_without_its_lock() -> None:
    with new_home() as home:
        missing = command(home, "up", "--frozen", cwd=home)
        assert missing.returncode == 6 and "toolyard lock" in missing.stderr
        (home / "bad.lock").write_text('{"version": 1, "servers": {"a": {"launch": "x"}}}')
        broken = command(home, "up", "--frozen", "--lock", str(home / "bad.lock"))
        assert broken.returncode == 6 and "no lock file" in broken.stderr
