"""Stands between a call and its server: has interceptors look at both, and change them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import CallRefusedError, ToolyardError
from toolyard.core.interceptors import Interceptor, Masking, Rewriting
from toolyard.core.model import Offer
from toolyard.features.interceptors import invocation
from toolyard.features.interceptors.invocation import METHOD, OnePhase
from toolyard.features.interceptors.masking import Masker
from toolyard.features.interceptors.rewriting import Rewriter
from toolyard.features.interceptors.talking import Talk
from toolyard.relay.guards import Deliver
from toolyard.relay.routes import Route
from toolyard.relay.session import ClientRequest
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

log = logging.getLogger(__name__)
AUDITS: Final = 100
"""Invocations of which nobody waits for the answer, at a time; beyond this there are none."""
AT_ONCE: Final = 64 * 1024
"""Bytes of a result that are masked at once; more is masked in a thread, so that others go on."""


class InterceptorStep:
    """One interceptor, at one tool."""

    def __init__(self, interceptor: Interceptor, tool: Offer, talk: Talk | None) -> None:
        """Make ready; `talk` leads to a program or endpoint, if it is one."""
        self.interceptor, self._tool, self._talk = interceptor, tool, talk
        work = interceptor.work
        self.rewriter = Rewriter(work.rules, tool) if isinstance(work, Rewriting) else None
        self._masker = Masker(work.kinds) if isinstance(work, Masking) else None

    async def validate(self, phase: OnePhase, payload: bytes, context: Context) -> None:
        """Have it judge.

        Raises:
            CallRefusedError: It says no, or failed and must not.
        """
        try:
            result = await self._invoke(phase, payload, context)
            invocation.check_verdict(self.interceptor, phase, result)
        except CallRefusedError:
            raise
        except (ToolyardError, TimeoutError) as error:
            self.fail(phase, error)

    async def change_arguments(self, arguments: Raw, context: Context) -> Raw:
        """Return the arguments as it wants them.

        Raises:
            CallRefusedError: It failed, and must not.
            ConfigError: The caller sends what it does not see.
        """
        if self.rewriter is not None:
            return Raw(jsonrpc.encode(self.rewriter.arguments(jsonrpc.fields(arguments))))
        try:
            payload = invocation.request_payload(self._tool.key, arguments)
            result = await self._invoke("request", payload, context)
            changed = invocation.mutated_arguments(self._tool.key, result)
        except (ToolyardError, TimeoutError) as error:
            self.fail("request", error)
            return arguments
        return arguments if changed is None else changed

    async def change_result(self, result: Raw, context: Context) -> Raw:
        """Return the result as it wants it.

        Raises:
            CallRefusedError: It failed, and must not.
        """
        try:
            if self._masker is not None:
                return await self._mask_result(self._masker, result)
            answer = await self._invoke("response", bytes(result), context)
            changed = invocation.mutated_result(result, answer)
        except (ToolyardError, TimeoutError, *jsonrpc.MalformedError) as error:
            self.fail("response", error)
            return result
        return result if changed is None else changed

    def change_error(self, error: Raw) -> Raw:
        """Return the error of a server, masked if that is its work."""
        if self._masker is None:
            return error
        try:
            return self._mask(self._masker, error)
        except (ToolyardError, *jsonrpc.MalformedError) as failure:
            self.fail("response", failure)
            return error

    async def _mask_result(self, masker: Masker, raw: Raw) -> Raw:
        if len(raw) <= AT_ONCE:
            return self._mask(masker, raw)
        return await asyncio.to_thread(self._mask, masker, raw)

    def _mask(self, masker: Masker, raw: Raw) -> Raw:
        self._check_size("response", raw)
        value = jsonrpc.to_python(raw)
        masked = masker.mask(value)
        return raw if masked is value else Raw(jsonrpc.encode(masked))

    async def _invoke(self, phase: OnePhase, payload: bytes, context: Context) -> Raw:
        self._check_size(phase, payload)
        assert self._talk is not None
        params = invocation.make_params(
            self.interceptor, phase, payload, context.session, context.server
        )
        async with asyncio.timeout(self.interceptor.seconds):
            return invocation.read_answer(await self._talk.ask(METHOD, params))

    def _check_size(self, phase: OnePhase, payload: bytes | Raw) -> None:
        largest = self.interceptor.largest
        if len(payload) > largest:
            about = "arguments have" if phase == "request" else "result has"
            text = f"the {about} {len(payload)} bytes, and it takes {largest} at most"
            raise ToolyardError(text)

    def fail(self, phase: OnePhase, error: BaseException) -> None:
        """Go by the failure mode of the interceptor: closed refuses, open lets pass.

        Raises:
            CallRefusedError: It is closed.
        """
        name, seconds = self.interceptor.name, self.interceptor.seconds
        why = f"no answer within {seconds:g} s" if isinstance(error, TimeoutError) else str(error)
        log.warning("interceptor failed", extra={"interceptor": name, "why": why, "phase": phase})
        if self.interceptor.fails_open:
            return
        about = "this call" if phase == "request" else "the result of this call"
        text = f"the interceptor {name!r} failed ({why}), so {about} is refused"
        raise CallRefusedError(text, f"see: toolyard interceptor test {name}")


class Context:
    """The circumstances of a call that interceptors are told."""

    def __init__(self, request: ClientRequest | None, server: str) -> None:
        self.session = request.session if request is not None else None
        self.server = server


class Chain:
    """The interceptors of one tool, in their order."""

    def __init__(self, steps: Sequence[InterceptorStep], audits: Tasks) -> None:
        active = [step for step in steps if not step.interceptor.is_audit]
        self._audits = audits
        self._audited = [step for step in steps if step.interceptor.is_audit]
        ordered = sorted(active, key=_rank)
        self._mutators = {phase: _of(ordered, "mutation", phase) for phase in _PHASES}
        self._validators = {phase: _of(ordered, "validation", phase) for phase in _PHASES}
        self._rewriters = [s.rewriter for s in ordered if s.rewriter is not None]

    def listed(self, tool: Offer) -> Offer:
        """Return a tool as callers see it."""
        for rewriter in self._rewriters:
            tool = rewriter.listed(tool)
        return tool

    async def before(self, tool: str, arguments: Raw, context: Context) -> Raw:
        """Have the arguments of a call changed, then judged.

        Raises:
            CallRefusedError: The call must not be made.
        """
        for step in self._mutators["request"]:
            arguments = await step.change_arguments(arguments, context)
        payload = invocation.request_payload(tool, arguments)
        self._audit("request", payload, context)
        await _all(s.validate("request", payload, context) for s in self._validators["request"])
        return arguments

    async def after(self, result: Raw, context: Context) -> Raw:
        """Have the result of a call judged, then changed.

        Raises:
            CallRefusedError: It must not be given to the caller.
        """
        payload = bytes(result)
        self._audit("response", payload, context)
        await _all(s.validate("response", payload, context) for s in self._validators["response"])
        for step in self._mutators["response"]:
            result = await step.change_result(result, context)
        return result

    def after_error(self, error: Raw) -> Raw:
        """Have the error of a server masked."""
        for step in self._mutators["response"]:
            error = step.change_error(error)
        return error

    def _audit(self, phase: OnePhase, payload: bytes, context: Context) -> None:
        """Tell those whose answer has no effect; nobody waits for them."""
        for step in self._audited:
            if step.interceptor.is_in(phase) and self._audits.count < AUDITS:
                self._audits.start(_audited(step, phase, payload, context))


_PHASES: Final[tuple[OnePhase, ...]] = ("request", "response")


def _rank(step: InterceptorStep) -> tuple[int, str]:
    return step.interceptor.priority, step.interceptor.name


def _of(steps: Sequence[InterceptorStep], kind: str, phase: OnePhase) -> list[InterceptorStep]:
    return [s for s in steps if s.interceptor.type == kind and s.interceptor.is_in(phase)]


async def _all(judging: Any) -> None:
    """Have all of them judge at the same time; the first no is the answer."""
    verdicts: list[Awaitable[None]] = list(judging)
    if len(verdicts) == 1:
        await verdicts[0]
    elif verdicts:
        for outcome in await asyncio.gather(*verdicts, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome


async def _audited(
    step: InterceptorStep, phase: OnePhase, payload: bytes, context: Context
) -> None:
    try:
        await step.validate(phase, payload, context)
    except ToolyardError as error:
        log.info("interceptor would refuse", extra={"why": str(error)})


class InterceptorGuard:
    """Guards the calls of one tool."""

    holds_for_tasks = True
    """The result of a call may come later, with its task."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def listed(self, tool: Offer) -> Offer:
        """Return the tool as callers see it."""
        return self._chain.listed(tool)

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Have a call changed and judged, make it, and do the same with its result."""
        context = Context(request, route.alias)
        is_task = request.method.startswith("tasks/")
        if not is_task:
            arguments = fields.get("arguments", Raw(b"{}"))
            changed = await self._chain.before(route.key, arguments, context)
            if changed is not arguments:
                fields = {**fields, "arguments": changed}
        message = await deliver(fields)
        if message.error:
            message.error = self._chain.after_error(message.error)
        elif is_task:
            message.result = await self._after_task(message.result, context)
        elif not _is_round(message.result):
            message.result = await self._chain.after(message.result, context)
        return message

    async def _after_task(self, result: Raw, context: Context) -> Raw:
        """Have a result judged and changed that comes with its task, or is what the task gave."""
        fields = jsonrpc.fields(result)
        if "content" in fields or "structuredContent" in fields:
            return await self._chain.after(result, context)
        if "result" not in fields:
            return result
        inner = await self._chain.after(fields["result"], context)
        return Raw(jsonrpc.encode({**fields, "result": inner}))


class ClosedGuard:
    """Refuses the calls of a tool whose interceptor cannot be read."""

    holds_for_tasks = True

    def __init__(self, text: str, hint: str) -> None:
        self._text, self._hint = text, hint

    async def serve(
        self, request: ClientRequest, fields: Fields, route: Route, deliver: Deliver
    ) -> Message:
        """Refuse a call."""
        raise CallRefusedError(self._text, self._hint)


_BODY: Final = frozenset({"content", "structuredContent", "result"})


def _is_round(result: Raw) -> bool:
    """Tell whether a result is a question to the client, or a task that has just begun."""
    raw = bytes(result)
    if b'"input_required"' not in raw and b'"task"' not in raw:
        return False
    fields = jsonrpc.fields(result)
    if not _BODY.isdisjoint(fields):
        return False  # whatever it says it is
    return "task" in fields or jsonrpc.text(fields.get("resultType")) in ("input_required", "task")
