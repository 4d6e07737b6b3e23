"""Questions and orders about interceptors."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from toolyard.core.errors import CallRefusedError, ConfigError, ToolyardError
from toolyard.core.interceptors import Interceptor, Rewriting
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Offer
from toolyard.features.interceptors.guard import Chain, Context
from toolyard.features.interceptors.making import Interceptors
from toolyard.features.interceptors.model import (
    InterceptorFields,
    check_name,
    make_interceptor,
    read_fields,
)
from toolyard.features.interceptors.store import InterceptorRecords, unknown_interceptor
from toolyard.operation import Guard, Needs, NoInput, OpenObject, Ordered, operation
from toolyard.records.secrets.mask import HIDDEN, is_reference
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc
from toolyard.yard import Yard

TOP = "/api/v1/interceptors"
ONE = "/api/v1/interceptors/{name}"
Name = Annotated[str, Meta(min_length=1, max_length=64)]


class InterceptorRow(Struct, frozen=True):
    """An interceptor, and how it is."""

    name: str
    work: Literal["mask", "arguments", "program", "url"]
    fields: InterceptorFields
    version: str
    """The `If-Match` of an order that counts only for the interceptor as it is here."""
    trouble: str = ""
    """The reason why it cannot be asked now, as far as that is known."""


class InterceptorList(Struct, frozen=True):
    """Every interceptor that can be read; the problems of the yard name the others."""

    interceptors: list[InterceptorRow]


class PutInterceptor(Struct, frozen=True):
    """An interceptor under its name."""

    name: Name
    body: Any
    """Its fields."""


class InterceptorName(Struct, frozen=True):
    """The interceptor that is meant."""

    name: Name


class InterceptorTrial(Struct, frozen=True, forbid_unknown_fields=True):
    """A sample to try an interceptor on: arguments, a result, or both."""

    name: Name
    tool: Annotated[str, Meta(max_length=255)] = "sample"
    """The name of the tool that the sample is from."""
    arguments: JsonObject | UnsetType = UNSET
    result: JsonObject | UnsetType = UNSET


class TrialResult(Struct, frozen=True):
    """What became of a sample."""

    outcome: Literal["passed", "changed", "refused"]
    milliseconds: float
    text: str = ""
    """The refusal."""
    arguments: OpenObject | None = None
    result: OpenObject | None = None


@operation("GET", TOP, needs=Needs.FILES)
async def list_interceptors(yard: Yard, order: NoInput) -> InterceptorList:
    """All interceptors."""
    kept = await asyncio.to_thread(yard.part(InterceptorRecords).read)
    rows = [_row(yard, name, *record) for name, record in kept.records.items()]
    return InterceptorList(rows)


@operation("PUT", ONE, needs=Needs.FILES, shape=InterceptorFields, guard=Guard.RECORD)
async def put_interceptor(yard: Yard, order: PutInterceptor) -> Ordered:
    """Write an interceptor; the next call of a tool that it is for passes it."""
    check_name(order.name)
    fields = read_fields(order.body)
    interceptor = make_interceptor(order.name, fields)
    write = yard.part(InterceptorRecords).write_over
    await asyncio.to_thread(write, yard.expected, order.name, fields, by=yard.caller)
    noticed = await yard.seen(lambda picture: interceptor in picture.interceptors)
    return Ordered(order.name, noticed)


@operation("DELETE", ONE, needs=Needs.FILES, errors=(404,), guard=Guard.RECORD)
async def remove_interceptor(yard: Yard, order: InterceptorName) -> Ordered:
    """Delete an interceptor."""
    remove = yard.part(InterceptorRecords).remove
    await asyncio.to_thread(remove, order.name, yard.expected, by=yard.caller)
    noticed = await yard.seen(
        lambda picture: order.name not in [one.name for one in picture.interceptors]
    )
    return Ordered(order.name, noticed)


@operation("POST", ONE + "/test", errors=(404,))
async def try_interceptor(yard: Yard, order: InterceptorTrial) -> TrialResult:
    """Try an interceptor on a sample; nothing is called."""
    kept = await asyncio.to_thread(yard.part(InterceptorRecords).read)
    if order.name not in kept.values:
        raise unknown_interceptor(order.name, sorted(kept.versions))
    if order.arguments is UNSET and order.result is UNSET:
        raise ConfigError("there is nothing to try it on", "give arguments, or a result")
    interceptor = make_interceptor(order.name, kept.values[order.name])
    began = monotonic()
    audits = Tasks()
    try:
        step = yard.part(Interceptors).step(interceptor, _sample_tool(order, interceptor))
        chain = Chain([step], audits)
        return _told(order, began, *await _try(chain, order))
    except (CallRefusedError, ConfigError) as error:
        return TrialResult("refused", _since(began), _sentence(error))
    finally:
        await audits.close()


async def _try(chain: Chain, order: InterceptorTrial) -> tuple[Any, Any]:
    context = Context(None, "sample")
    arguments, result = None, None
    if order.arguments is not UNSET:
        raw = Raw(jsonrpc.encode(order.arguments))
        arguments = jsonrpc.to_python(await chain.before(order.tool, raw, context))
    if order.result is not UNSET:
        raw = Raw(jsonrpc.encode(order.result))
        result = jsonrpc.to_python(await chain.after(raw, context))
    return arguments, result


def _told(order: InterceptorTrial, began: float, arguments: Any, result: Any) -> TrialResult:
    pairs = ((order.arguments, arguments), (order.result, result))
    is_same = all(after is None or before == after for before, after in pairs)
    outcome: Literal["passed", "changed"] = "passed" if is_same else "changed"
    return TrialResult(outcome, _since(began), "", arguments, result)


def _since(began: float) -> float:
    return round((monotonic() - began) * 1000, 3)


def _sentence(error: ToolyardError) -> str:
    return f"{error}; {error.hint}" if error.hint else str(error)


def _sample_tool(order: InterceptorTrial, interceptor: Interceptor) -> Offer:
    """A tool that takes what the sample says, and what the rules are about."""
    names = [] if order.arguments is UNSET else [*order.arguments]
    work = interceptor.work
    names += [rule.name for rule in work.rules] if isinstance(work, Rewriting) else []
    schema = {"type": "object", "properties": {name: {} for name in names}}
    return Offer(order.tool, jsonrpc.encode({"name": order.tool, "inputSchema": schema}))


def _row(yard: Yard, name: str, fields: InterceptorFields, version: int) -> InterceptorRow:
    interceptor = make_interceptor(name, fields)
    is_served = Interceptors in yard.parts
    trouble = yard.part(Interceptors).trouble(interceptor) if is_served else ""
    shown = _without_secrets(fields)
    return InterceptorRow(name, _work(fields), shown, str(version), trouble)


def _without_secrets(fields: InterceptorFields) -> InterceptorFields:
    """The fields as they may be shown: references stay, values do not."""
    env, headers = (
        {key: text if is_reference(text) else HIDDEN for key, text in pairs.items()}
        for pairs in (fields.env, fields.headers)
    )
    return replace(fields, env=env, headers=headers)


def _work(fields: InterceptorFields) -> Literal["mask", "arguments", "program", "url"]:
    if fields.mask is not UNSET:
        return "mask"
    if fields.arguments is not UNSET:
        return "arguments"
    return "program" if fields.program is not UNSET else "url"
