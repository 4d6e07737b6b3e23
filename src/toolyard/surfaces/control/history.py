"""The calls that are over: searched, counted, looked at, repeated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Raw

from toolyard.core.errors import ConfigError, LinkError, UnknownNameError
from toolyard.core.history import Call as Recorded
from toolyard.core.history import Statistic, is_redacted, moment
from toolyard.operation import OpenObject
from toolyard.relay.relay import Relay
from toolyard.relay.session import Outlet, Session
from toolyard.stores.history import CallRecord, History, Search
from toolyard.surfaces.control.api import Call, Operation
from toolyard.wire import jsonrpc

Text = Annotated[str, msgspec.Meta(max_length=1000)]
Id = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
RecordedJson = Annotated[Any, msgspec.Meta(description="Any JSON, as far as it was kept.")]
Ended = Literal["", "ok", "tool-error", "error", "cancelled", "failed"]


class HistoryQuery(msgspec.Struct, frozen=True):
    """Which calls; `since` is `1h`, `30m`, `2d` ago or an ISO 8601 time, `before` an id."""

    server: Text = ""
    tool: Text = ""
    agent: Text = ""
    caller: Text = ""
    outcome: Ended = ""
    text: Text = ""
    since: Text = ""
    before: Id = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


class StatsQuery(msgspec.Struct, frozen=True):
    """Calls of which server, tool, agent or token, and since when."""

    server: Text = ""
    tool: Text = ""
    agent: Text = ""
    caller: Text = ""
    since: Text = ""


class CallPage(msgspec.Struct, frozen=True):
    """Calls, newest first; `before` of the next page, or null at the end."""

    calls: list[Recorded]
    next: int | None


class WholeCall(msgspec.Struct, frozen=True):
    """One call; arguments and result are null unless they are kept."""

    call: Recorded
    arguments: RecordedJson
    result: RecordedJson


class StatsPage(msgspec.Struct, frozen=True):
    """Per server, and per tool of it: counts, error rate, median and 95th percentile."""

    stats: list[Statistic]


class HistoryDoor:
    """Questions about calls that are over, and the order to repeat one."""

    def __init__(self, history: History, relay: Relay) -> None:
        self._history = history
        self._relay = relay

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        top = "/api/v1/history"
        return [
            Operation(
                "GET",
                top,
                "Search calls",
                self._search,
                CallPage,
                query=HistoryQuery,
                tag="history",
            ),
            Operation(
                "GET",
                f"{top}/stats",
                "Counts, error rates and durations",
                self._stats,
                StatsPage,
                query=StatsQuery,
                tag="history",
            ),
            Operation(
                "GET", top + "/{id}", "One call", self._one, WholeCall, tag="history", errors=(422,)
            ),
            Operation(
                "POST",
                top + "/{id}/replay",
                "Repeat a call",
                self._replay,
                OpenObject,
                tag="history",
                errors=(422, 502),
            ),
        ]

    async def _search(self, call: Call) -> CallPage:
        asked: HistoryQuery = call.query
        fields = {name: getattr(asked, name) for name in asked.__struct_fields__}
        wanted = Search(**{**fields, "since": _since(asked.since)})
        calls = await self._history.search(wanted)
        return CallPage(calls, calls[-1].id if len(calls) == asked.limit else None)

    async def _stats(self, call: Call) -> StatsPage:
        asked: StatsQuery = call.query
        named = asked.server, asked.tool, asked.agent, asked.caller
        wanted = Search(*named, since=_since(asked.since))
        return StatsPage(await self._history.statistics(wanted))

    async def _one(self, call: Call) -> WholeCall:
        record = await self._record(call)
        return WholeCall(record.call, _value(record.arguments), _value(record.result))

    async def _record(self, call: Call) -> CallRecord:
        written = call.path["id"]
        if not (written.isascii() and written.isdigit() and int(written) < 2**63):
            raise UnknownNameError(f"{written!r} is no id of a call", "an id is a number")
        return await self._history.get(int(written))

    async def _replay(self, call: Call) -> bytes:
        record = await self._record(call)
        arguments = self._arguments(record)
        session = Session("control", _drop, agent="replay", caller="control", is_stateless=True)
        again = {
            "server": record.call.server,
            "tool": record.call.tool,
            "arguments": Raw(arguments),
        }
        message = await self._relay.call(session, Raw(jsonrpc.encode(again)), Outlet(_drop))
        if message.error:
            raise LinkError(jsonrpc.read_fault(message.error).message)
        return bytes(message.result)

    def _arguments(self, record: CallRecord) -> bytes:
        """The arguments of a call, if they are all there.

        Raises:
            ConfigError: They are not.
        """
        which = f"call {record.call.id}"
        if record.arguments is None:
            hint = (
                "start the hub with TOOLYARD_HISTORY_BODIES=on; calls from then on can be repeated"
            )
            raise ConfigError(f"{which} was recorded without its arguments", hint)
        value = jsonrpc.to_python(record.arguments)
        hint = "call it anew: toolyard call " + f"{record.call.server} {record.call.tool} …"
        if is_redacted(value):
            raise ConfigError(f"{which} had secrets in its arguments, which are not kept", hint)
        if value is None:
            return b"{}"
        if not isinstance(value, dict):
            raise ConfigError(f"the arguments of {which} were too large to be kept", hint)
        return record.arguments


def _since(text: str) -> float:
    return moment(text, datetime.now(UTC)).timestamp() if text else 0.0


def _value(raw: bytes | None) -> Any:
    return jsonrpc.to_python(raw) if raw is not None else None


def _drop(_message: bytes) -> None:
    return None
