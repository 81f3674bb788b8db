"""The ASGI endpoints that make calls: they check the sender, watch for disconnects, and write the response."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from helmdeck_core import TRACE_CONTEXT, ChatDelta, ChatResponse
from helmdeck_gateway.accounts.ledger import Ledger
from helmdeck_gateway.accounts.principals import PRINCIPAL, Authoriser, Principal, tags_of
from helmdeck_gateway.calls import call_record
from helmdeck_gateway.calls.aside import INLINE_BYTES, aside
from helmdeck_gateway.calls.client_deadlines import client_deadline_s
from helmdeck_gateway.calls.client_retries import ends_retries
from helmdeck_gateway.calls.request_ids import echoing, request_id_of, trace_context_of
from helmdeck_gateway.calls.service import Service
from helmdeck_gateway.calls.stream_out import ClientWatch, StreamOut
from helmdeck_gateway.calls.work import Work
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
from helmdeck_gateway.dialects import messages as messages_dialect
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_gateway.dialects.reply import CountingDialect, DamagedCallError, Dialect, Opening, Reply, StreamWriter
from helmdeck_gateway.endpoints.bodies import Disconnected, JsonBody, headers_of, read_json, send_whole
from helmdeck_gateway.failure_log import FailureLog
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.load.fair_queue import Tenant
from helmdeck_gateway.load.request_load import LOAD, RequestLoad
from helmdeck_gateway.problems import CLIENT_CLOSED, DRAINING, Problem, invalid

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

SINGLE: Final = (b"authorization", b"x-api-key", b"content-length", b"content-type", b"host")
"""Headers that a request has once."""
SIGNING: Final = frozenset(("anthropic", "responses", "gemini"))
"""Families of dialects whose clients send the signatures of reasoning back."""
Headers = Mapping[bytes, bytes]
"""The headers of a client's request by lower-case name."""
_encode = msgspec.json.Encoder().encode


class Door:
    """What every endpoint needs: the check of keys, the limits, the counters, and the log."""

    def __init__(self, service: Service, authoriser: Authoriser, counters: Counters, ledger: Ledger) -> None:
        self.service = service
        self.ledger = ledger
        self.authoriser = authoriser
        self.counters = counters
        self.failures: FailureLog = FailureLog(service.deck)

    async def open(self, scope: Scope) -> Principal:
        """Check a request before its body is read.

        :raises Problem: it is refused.
        """
        settings, under_way = self.service.settings, self.counters.under_way
        if self.counters.is_draining:
            raise stopping("the gateway is stopping; send the request again")
        self.counters.load.check(under_way, settings.max_lag_s)
        is_full, places = under_way > settings.max_requests, self.counters.places
        if is_full and not places.waiting:
            raise self.full()
        headers = headers_of(scope)
        if len(headers) < len(scope["headers"]) and (name := _repeated(scope)):
            raise invalid(f"the header {name} is sent more than once")
        own: Principal | None = scope.get(PRINCIPAL)
        principal = await self.authoriser.authorise(headers) if own is None else own
        tenant = tenant_of(principal)
        if is_full and not places.make_room(tenant):
            raise self.full()
        load: RequestLoad | None = scope.get(LOAD)
        if load is not None:
            load.tenant = tenant
        return principal

    def full(self) -> Problem:
        """Return the error for a request beyond ``max_requests``."""
        return Problem(
            message=f"the gateway is processing {self.service.settings.max_requests:,} requests, its limit",
            status=429, kind="rate_limit_error", code="too_many_requests", retry_after_s=1, is_worth_retrying=True,
        )  # fmt: skip


def tenant_of(principal: Principal) -> Tenant:
    """Return whose turn a request is."""
    key = principal.key
    return Tenant(principal.caller) if key is None else Tenant(key.team or key.name, key.name)


def stopping(message: str) -> Problem:
    """Return the error of a gateway that is about to stop; another worker, or the next process, may answer."""
    return Problem(
        message=message,
        status=503,
        kind="overloaded_error",
        code=DRAINING,
        retry_after_s=1,
        is_worth_retrying=True,
    )


def _repeated(scope: Scope) -> str:
    """The name of a header that must not be repeated and is, since a proxy may have read another value; else empty."""
    names = [name for name, _ in scope["headers"]]
    return next((name.decode() for name in SINGLE if names.count(name) > 1), "")


class CallEndpoint:
    """An endpoint in one dialect."""

    def __init__(self, door: Door, dialect: Dialect, name: str) -> None:
        self.door = door
        self.dialect = dialect
        self.name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        counters = self.door.counters
        counters.under_way += 1
        load = scope[LOAD] = RequestLoad(counters.load, counters.places, self.door.service.settings)
        status = CLIENT_CLOSED
        if request_id := request_id_of(headers_of(scope)):
            send = echoing(send, request_id)
        try:
            status = await self._serve(scope, receive, ends_retries(headers_of(scope), send))
        except Disconnected:
            counters.disconnects += 1
        except Exception as exc:  # of the server, or while a response is written: it is too late for another one
            status = self.door.failures.problem(exc, headers_of(scope)).status
            raise
        finally:
            load.release()
            counters.under_way -= 1
            counters.count(self.name, status)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> int:
        work: Work | None = None
        queued: Response | None = None
        headers = headers_of(scope)
        try:
            principal = await self.door.open(scope)
            principal.check_endpoint(self.name, tags := tags_of(headers))
            body = await self.read(scope, receive)
            if principal.key is not None and body.size > INLINE_BYTES:
                self.door.ledger.check(principal.key, principal.teams)
            parsed = await self.parse(body, principal)
            if self.dialect is messages_dialect:
                parsed = messages_dialect.with_betas(parsed, headers.get(b"anthropic-beta"))
            work = self.door.service.prepare(parsed, self.dialect.FAMILY, principal, body.size)
            await self.door.service.check_schema(work)
            if body.names_files or parsed.names_files:
                await self.door.service.load_files(work, scope[LOAD].take)
            if parsed.body.get("background"):
                queued = await self.queued(scope, body, work)
            if queued is None:
                await self._admit(work, headers)
        except Disconnected:
            raise
        except asyncio.CancelledError:
            return await self._refuse(send, headers, self.stopped(), work)
        except Exception as exc:
            return await self._refuse(send, headers, exc, work)
        if queued is not None:
            scope[LOAD].release()  # its run takes a place of its own
            await queued(scope, receive, send)
            return queued.status_code
        out = StreamOut(send, work)
        opening = self.opening(scope, work)
        writer = self.dialect.Writer(opening, parsed) if parsed.is_stream else None
        context = trace_context_of(headers)
        TRACE_CONTEXT.set(context)  # also an empty one: a task may inherit the context of another request
        record = work.record
        record.request_id, record.trace_parent = request_id_of(headers), context.get("traceparent", "")
        record.sent_by(principal.key, tags)
        record.emit = self.door.service.deck.runtime.emit
        call_record.current.set(record)
        task = asyncio.current_task()
        assert task is not None
        try:
            with ClientWatch(scope, receive, out, writer, self.door.service.settings.ping_s):
                if writer is None:
                    return await self._whole(send, headers, work, opening)
                return await self._stream(out, headers, writer, work)
        except asyncio.CancelledError:
            if out.is_disconnected and task.uncancel() == 0:
                raise Disconnected from None
            return await self._end_early(out, headers, writer, work, self.stopped())
        finally:
            if work.booking is not None:
                work.booking.close()

    async def _admit(self, work: Work, headers: Headers) -> None:
        """Check a request by the guards, narrow its tools, and admit it.

        :raises GuardBlocked: a guard blocks it.
        :raises Problem: a limit is reached.
        """
        service = self.door.service
        if not work.parsed.is_stream:
            service.keep_deadline(work, client_deadline_s(headers))
        if service.guards:
            await service.check_request(work, self.name)
        if work.request.tools and headers.get(b"x-helmdeck-narrow-tools") != b"off":
            await service.narrow_tools(work)
        if work.blocked is None:
            service.use_cache(work, headers)
            await service.admit(work, self.door.ledger)

    async def read(self, scope: Scope, receive: Receive) -> JsonBody:
        """Read the body of a request.

        :raises Problem: it is too large or too slow, or not a JSON object.
        """
        return await read_json(scope, receive, self.door.service.settings)

    async def parse(self, body: JsonBody, principal: Principal) -> Parsed:
        """Read a request of the dialect.

        :raises Problem: it is invalid.
        """
        return await self.parse_with(body, principal)

    async def parse_with(self, body: JsonBody, principal: Principal, *more: object) -> Parsed:
        """Read a request with what its providers want back with its turns.

        :param more: further arguments of the dialect.
        :raises Problem: it is invalid.
        """
        lookup = self.door.service.state.opaque.lookup(principal.caller)
        parse: Callable[..., Parsed] = self.dialect.parse
        parsed = await aside(body.size, parse, body.fields, lookup.find, *more)
        if not await lookup.fetch():
            return parsed
        # Turns that other processes have seen are known after the first reading.
        return await aside(body.size, parse, body.fields, lookup.find, *more)

    def opening(self, scope: Scope, work: Work) -> Opening:  # noqa: ARG002
        """Return what is known of a response before it."""
        return Opening(model=work.name)

    async def queued(self, scope: Scope, body: JsonBody, work: Work) -> Response | None:  # noqa: ARG002
        """Queue a request that asks for it; return the response to it; ``None`` for any other request.

        :raises Problem: it cannot be queued.
        """
        return None

    async def finished(self, reply: Reply, principal: Principal) -> None:
        """Take note of a finished response, before the client can send the next request of the conversation."""
        if opaque := reply.response.opaque:
            own_id = f"{OWN_PREFIX}{reply.opening.id}" if self.dialect.FAMILY in SIGNING else ""
            call_ids = [call.id for call in reply.response.tool_calls]
            await self.door.service.state.opaque.keep(call_ids, own_id, opaque, principal.caller)

    async def _whole(self, send: Send, headers: Headers, work: Work, opening: Opening) -> int:
        try:
            response = await self.door.service.complete(work)
            await work.settle()
            reply = Reply(response=response, opening=opening, model=work.shown_model(), parsed=work.parsed)
            body = _encode(self.dialect.whole(reply))
            self.check_size(len(body))
            await self.finished(reply, work.principal)
        except Exception as exc:
            return await self._refuse(send, headers, exc, work)
        await send_whole(send, 200, body, work.response_headers())
        return 200

    def check_size(self, size: int) -> None:
        """Check the size of a response, or of its start.

        :raises Problem: it is too large.
        """
        if size > (most := self.door.service.settings.max_response_bytes):
            raise Problem(
                message=f"the response is larger than {most:,} bytes, the limit of the gateway",
                status=502, kind="api_error", code="response_too_large",
            )  # fmt: skip

    async def _refuse(self, send: Send, headers: Headers, error: Exception, work: Work | None) -> int:
        """Answer a request that has the headers with an error."""
        problem = self.door.failures.problem(error, headers, work.record.call_id if work is not None else "")
        if work is not None:
            await work.settle()
        own = {**(work.response_headers() if work is not None else {}), **problem.headers}
        await send_whole(send, problem.status, _encode(self.dialect.error(problem)), own)
        return problem.status

    def stopped(self) -> Problem:
        """Return the error of a request that is cancelled because the time for requests under way is over.

        :raises asyncio.CancelledError: it is cancelled for another reason.
        """
        task = asyncio.current_task()
        if task is None or not self.door.counters.is_draining:
            raise asyncio.CancelledError
        task.uncancel()
        return stopping("the gateway stopped before the answer was complete; send the request again")

    async def _end_early(
        self, out: StreamOut, headers: Headers, writer: StreamWriter | None, work: Work, problem: Problem
    ) -> int:
        """End a response early: a stream gets an error event."""
        if writer is None or not out.is_open:
            return await self._refuse(out.raw, headers, problem, work)
        await out.send(writer.fail(problem), is_last=True)
        return problem.status

    async def _stream(self, out: StreamOut, headers: Headers, writer: StreamWriter, work: Work) -> int:
        """Stream a response. The headers wait for the first delta, so that a failure before it has its own status."""
        try:
            async with contextlib.aclosing(self.door.service.stream(work)) as chunks:
                async for chunk in chunks:
                    if work.booking is not None:
                        await work.booking.streamed(chunk)
                    is_first = not out.is_open
                    if is_first:
                        work.record.report_stream()
                    await out.open(writer)
                    # One write for what arrived together, and the end with the last events.
                    events = await self._written(writer, chunk, work, out.size)
                    await out.send(events, is_last=isinstance(chunk, ChatResponse))
                    if is_first:  # what else arrived may wait for the first chunks of other streams
                        await asyncio.sleep(0)
        except Exception as exc:
            if not out.is_open:
                out.is_replaced = True
                return await self._refuse(out.raw, headers, exc, work)
            problem = self.door.failures.problem(exc, headers, work.record.call_id)
            await work.settle()
            await out.send(writer.fail(problem), is_last=True)
            return problem.status
        return 200

    async def _written(
        self, writer: StreamWriter, chunk: Sequence[ChatDelta] | ChatResponse, work: Work, size: int
    ) -> bytes:
        """The events for a chunk of a stream, of which ``size`` bytes were sent."""
        try:
            if not isinstance(chunk, ChatResponse):
                out = b"".join(map(writer.feed, chunk))
                self.check_size(size + len(out))
                return out
            reply = Reply(response=chunk, opening=writer.opening, model=work.shown_model(), parsed=work.parsed)
            out = writer.finish(reply)
        except DamagedCallError as exc:
            raise Problem(
                message=f"the arguments of the tool call {exc} were damaged after a part of them was sent; send the request again",
                status=502, kind="api_error", code="damaged_tool_call", is_worth_retrying=True,
            ) from exc  # fmt: skip
        self.check_size(size + len(out))
        await self.finished(reply, work.principal)
        return out


class CountTokens(CallEndpoint):
    """Estimates the input tokens of a request without a call.

    :ivar field: of the response, with the number of tokens.
    """

    dialect: CountingDialect
    field = "input_tokens"

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> int:
        headers = headers_of(scope)
        try:
            principal = await self.door.open(scope)
            body = await self.read(scope, receive)
            parsed = await self.parse(body, principal)
            tokens = await aside(body.size, self.dialect.estimate_tokens, parsed)
        except Disconnected:
            raise
        except asyncio.CancelledError:
            return await self._refuse(send, headers, self.stopped(), None)
        except Exception as exc:
            return await self._refuse(send, headers, exc, None)
        await send_whole(send, 200, _encode({self.field: tokens}), {"x-helmdeck-estimate": "true"})
        return 200
