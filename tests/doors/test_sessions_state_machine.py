"""Whatever callers open, use and end in any order: a session is one caller's, and its own share."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.stress.parsers import StillLoop, running
from toolyard.core.caller import Caller
from toolyard.doors.http.session_ids import RandomIds
from toolyard.doors.http.sessions import HttpSession, HttpSessions
from toolyard.relay.relay import Relay
from toolyard.relay.session import Session
from toolyard.relay.view_key import ViewKey

LIMIT = 20
OWNER = Caller("control")
AGENTS = [Caller("ci", is_agent=True), Caller("bot", is_agent=True)]
MEMBERS = [Caller("ann", member="1"), Caller("ann, token", member="1", token="t")]
CALLERS = st.sampled_from([OWNER, *AGENTS, *MEMBERS])
PATHS = st.sampled_from([None, "one", "two"])
FEW = settings(max_examples=50, stateful_step_count=60)


class LeftRelay:
    """Notes which sessions have ended; nothing else of a relay is asked for here."""

    def __init__(self) -> None:
        self.left: Counter[Session] = Counter()
        self.takeover = self

    def leave(self, session: Session) -> None:
        self.left[session] += 1

    def forget(self, session: Session) -> None:
        pass


class Sessions(RuleBasedStateMachine):
    """The sessions of a door, beside a list of those that must be there."""

    kind = HttpSessions

    def __init__(self) -> None:
        super().__init__()
        self.relay, self.loop, self.numbers = LeftRelay(), StillLoop(), itertools.count()
        self.opened: list[HttpSession] = []
        with running(self.loop):
            relay = cast("Relay", self.relay)
            self.sessions = self.kind(relay, RandomIds(), limit=LIMIT, idle_seconds=60.0)

    @property
    def living(self) -> list[HttpSession]:
        return [client for client in self.opened if not self.relay.left[client.session]]

    @rule(caller=CALLERS, path=PATHS, times=st.integers(1, 8))
    def open(self, caller: Caller, path: ViewKey | None, times: int) -> None:
        for _ in range(times):
            others = [c for c in self.living if c.caller.account != caller.account]
            client = self.sessions.open(b"%d" % next(self.numbers), caller, path)
            assert [c for c in others if self.relay.left[c.session]] == []
            if client is not None:
                self.opened.append(client)

    @rule(data=st.data(), caller=CALLERS, path=PATHS)
    def use(self, data: st.DataObject, caller: Caller, path: ViewKey | None) -> None:
        if not self.opened:
            return
        client = data.draw(st.sampled_from(self.opened))
        is_own = client in self.living and client.caller == caller and client.view_key == path
        assert self.sessions.use(client.id, caller, path) is (client if is_own else None)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if self.living:
            self.sessions.delete(data.draw(st.sampled_from(self.living)))

    @rule(caller=CALLERS)
    def dismiss(self, caller: Caller) -> None:
        self.sessions.dismiss(lambda other: other == caller)
        assert [client for client in self.living if client.caller == caller] == []

    @invariant()
    def nobody_has_more_than_a_share(self) -> None:
        accounts = Counter(c.caller.account for c in self.living if not c.caller.is_owner)
        assert all(count <= LIMIT // 4 for count in accounts.values()), accounts
        assert len(self.living) <= LIMIT
        assert accounts.total() <= LIMIT - LIMIT // 10

    @invariant()
    def each_is_left_once(self) -> None:
        assert set(self.relay.left.values()) <= {1}
        for client in self.opened:
            own = self.sessions.use(client.id, client.caller, client.view_key)
            assert (own is client) == (client in self.living)


def test_any_order_of_callers_keeps_sessions_apart() -> None:
    run_state_machine_as_test(Sessions, settings=FEW)


class Trusting(HttpSessions):
    """Gives a session to whoever names it; the control."""

    def use(self, id_: bytes, caller: Caller, view_key: ViewKey | None) -> HttpSession | None:
        return self._sessions.get(id_)


def test_a_door_that_does_not_look_who_comes_is_found() -> None:
    machine = type("Sessions", (Sessions,), {"kind": Trusting})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=settings(FEW, report_multiple_bugs=False))
