"""Questions about calls, over or under way, and the order to repeat one."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct, structs

from toolyard.core.errors import ConfigError, LinkError, UnknownNameError
from toolyard.features.history.model import Call, Statistic, moment
from toolyard.features.history.redaction import is_redacted
from toolyard.features.history.search import Search
from toolyard.features.history.store import CallRecord, FoundCalls, History
from toolyard.features.history.timeline import MOST_BUCKETS, Grouping, Timeline
from toolyard.features.history.under_way import CallsUnderWay, find_calls
from toolyard.operation import Needs, NoInput, RawObject, operation
from toolyard.records.audit_trail import AuditedOrder, AuditTrail, WantedOrders
from toolyard.records.seals.check import LogCheck
from toolyard.records.seals.logs import SealedLogs
from toolyard.relay.relay import Relay
from toolyard.relay.session import Outlet, Session
from toolyard.wire import jsonrpc
from toolyard.yard import Yard

TOP = "/api/v1/history"
ONE = "/api/v1/history/{id}"
Text = Annotated[str, Meta(max_length=1000)]
Id = Annotated[int, Meta(ge=0, le=2**53)]
RecordedJson = Annotated[Any, Meta(description="Any JSON, as far as it was kept.")]
Ended = Literal["", "ok", "tool-error", "error", "cancelled", "failed"]


class HistoryQuery(Struct, frozen=True):
    """Which calls; `since` is `1h`, `30m`, `2d` ago or an ISO 8601 time, `before` an id."""

    server: Text = ""
    tool: Text = ""
    agent: Text = ""
    caller: Text = ""
    outcome: Ended = ""
    text: Text = ""
    since: Text = ""
    before: Id = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


class StatsQuery(Struct, frozen=True):
    """Which calls to count; every field means what it means in a search."""

    server: Text = ""
    tool: Text = ""
    agent: Text = ""
    caller: Text = ""
    outcome: Ended = ""
    text: Text = ""
    since: Text = ""
    before: Id = 0


class TimelineQuery(Struct, frozen=True):
    """Which calls, since when, in about how many buckets, and of what there is a line each."""

    by: Grouping = "server"
    server: Text = ""
    tool: Text = ""
    agent: Text = ""
    caller: Text = ""
    since: Text = "1h"
    buckets: Annotated[int, Meta(ge=1, le=MOST_BUCKETS)] = 60


class CallId(Struct, frozen=True):
    """The call that is meant."""

    id: str


class CallPage(Struct, frozen=True):
    """Calls, newest first; `before` of the next page, or null at the end.

    A search for a text looks at so many arguments and results at most. If `stopped`, older calls
    may match although fewer than `limit` are here, or none: ask again with `before`.
    """

    calls: list[Call]
    next: int | None
    stopped: bool = False


class OrdersQuery(Struct, frozen=True):
    """Which orders; `since` is `1h`, `30m`, `2d` ago or an ISO 8601 time, `before` an id."""

    by: Text = ""
    kind: Text = ""
    key: Text = ""
    since: Text = ""
    before: Id = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


class OrdersPage(Struct, frozen=True):
    """Orders, newest first; `before` of the next page, or null at the end."""

    orders: list[AuditedOrder]
    next: int | None


class HistoryCheck(Struct, frozen=True):
    """Calls and orders as they were examined; `whole` if nothing is altered or missing."""

    whole: bool
    logs: list[LogCheck]


class WholeCall(Struct, frozen=True):
    """One call; arguments and result are null unless they are kept."""

    call: Call
    arguments: RecordedJson
    result: RecordedJson


class StatsPage(Struct, frozen=True):
    """Per server, and per tool of it: counts, error rate, median and 95th percentile.

    A text is looked for in so many arguments and results at most. If calls with a smaller id than
    `next` were not counted, ask for these with it as `before`.
    """

    stats: list[Statistic]
    next: int | None = None


@operation("GET", TOP)
async def search_calls(yard: Yard, order: HistoryQuery) -> CallPage:
    """Search calls."""
    return call_page(await yard.part(History).search(_search(order)), order.limit)


@operation("GET", f"{TOP}/stats")
async def count_calls(yard: Yard, order: StatsQuery) -> StatsPage:
    """Counts, error rates and durations."""
    counted = await yard.part(History).statistics(_search(order))
    return StatsPage(counted.statistics, counted.stopped_at)


@operation("GET", f"{TOP}/timeline")
async def draw_timeline(yard: Yard, order: TimelineQuery) -> Timeline:
    """Calls, errors and durations along time."""
    now = datetime.now(UTC)
    since = moment(order.since or "1h", now).timestamp()
    wanted = Search(order.server, order.tool, order.agent, order.caller, since=since)
    history = yard.part(History)
    return await history.timeline(wanted, order.by, order.buckets, now.timestamp())


@operation("GET", "/api/v1/audit", needs=Needs.FILES, errors=(422,))
async def search_orders(yard: Yard, order: OrdersQuery) -> OrdersPage:
    """The audit trail: what was changed, by whom, before and after."""
    since = _since(order.since)
    wanted = WantedOrders(order.by, order.kind, order.key, since, order.before, order.limit)
    orders = await asyncio.to_thread(yard.part(AuditTrail).search, wanted)
    return OrdersPage(orders, orders[-1].id if len(orders) == order.limit else None)


@operation("GET", "/api/v1/calls")
async def list_calls(yard: Yard, order: NoInput) -> CallsUnderWay:
    """Calls under way: who calls what now."""
    return find_calls(yard)


@operation("GET", f"{TOP}/check", needs=Needs.FILES)
async def check_history(yard: Yard, order: NoInput) -> HistoryCheck:
    """Examine the seals of all calls and orders."""
    if History in yard.parts:
        yard.part(History).log.flush()
        await asyncio.to_thread(yard.part(History).settle)
    logs, trail = yard.part(SealedLogs), yard.part(AuditTrail)
    checks = await asyncio.to_thread(logs.examine, trail.read)
    return HistoryCheck(not any(check.faults for check in checks), checks)


@operation("GET", ONE, errors=(422,))
async def get_call(yard: Yard, order: CallId) -> WholeCall:
    """One call."""
    record = await _record(yard, order)
    return WholeCall(record.call, _value(record.arguments), _value(record.result))


@operation("POST", f"{ONE}/replay", errors=(422, 502))
async def replay_call(yard: Yard, order: CallId) -> RawObject:
    """Repeat a call."""
    record = await _record(yard, order)
    again = {
        "server": record.call.server,
        "tool": record.call.tool,
        "arguments": Raw(_arguments(record)),
    }
    session = Session("control", _drop, agent="replay", caller="control", is_stateless=True)
    wanted = Raw(jsonrpc.encode(again))
    message = await yard.part(Relay).call(session, wanted, Outlet(_drop))
    if message.error:
        raise LinkError(jsonrpc.read_fault(message.error).message)
    return message.result


def call_page(found: FoundCalls, limit: int) -> CallPage:
    """Return calls with where a search for more goes on."""
    if found.stopped_at is not None:
        return CallPage(found.calls, found.stopped_at, stopped=True)
    return CallPage(found.calls, found.calls[-1].id if len(found.calls) == limit else None)


def _search(order: HistoryQuery | StatsQuery) -> Search:
    return Search(**{**structs.asdict(order), "since": _since(order.since)})


def _since(text: str) -> float:
    return moment(text, datetime.now(UTC)).timestamp() if text else 0.0


async def _record(yard: Yard, order: CallId) -> CallRecord:
    written = order.id
    if not (written.isascii() and written.isdigit() and int(written) < 2**63):
        raise UnknownNameError(f"{written!r} is no id of a call", "an id is a number")
    return await yard.part(History).get(int(written))


def _arguments(record: CallRecord) -> bytes:
    """Return the arguments of a call, if they are all there.

    Raises:
        ConfigError: They are not.
    """
    which = f"call {record.call.id}"
    if record.arguments is None:
        hint = "start the hub with TOOLYARD_HISTORY_BODIES=on; calls from then on can be repeated"
        raise ConfigError(f"{which} was recorded without its arguments", hint)
    value = jsonrpc.to_python(record.arguments)
    hint = f"call it anew: toolyard call {record.call.server} {record.call.tool} …"
    if is_redacted(value):
        raise ConfigError(f"{which} had secrets in its arguments, which are not kept", hint)
    if value is None:
        return b"{}"
    if not isinstance(value, dict):
        raise ConfigError(f"the arguments of {which} were too large to be kept", hint)
    return record.arguments


def _value(raw: bytes | None) -> Any:
    return jsonrpc.to_python(raw) if raw is not None else None


def _drop(_message: bytes) -> None:
    return None
