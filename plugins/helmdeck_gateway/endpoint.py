"""The ASGI endpoints that make calls: they read the body, watch for disconnects, and write the response."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from helmdeck_core import ChatDelta, ChatResponse
from helmdeck_core.log import logger
from helmdeck_gateway import call_record
from helmdeck_gateway.counters import Counters
from helmdeck_gateway.messages_dialect import estimate_tokens
from helmdeck_gateway.opaque_store import OWN_PREFIX
from helmdeck_gateway.parsed import Parsed
from helmdeck_gateway.principals import Authoriser, Principal
from helmdeck_gateway.problems import CLIENT_CLOSED, Problem, problem_of
from helmdeck_gateway.reply import DamagedCallError, Dialect, Opening, Reply, StreamWriter
from helmdeck_gateway.service import Service, Work

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

BODY_S: Final = 60
"""Seconds until the body of a request must be complete."""
_JSON: Final = b"application/json"
_SSE: Final = b"text/event-stream; charset=utf-8"
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Disconnected(Exception):
    """The client closed the connection before its request was complete."""


class Door:
    """What every endpoint needs: the check of keys, the limits, and the counters.

    :ivar under_way: requests that are being processed.
    :ivar is_draining: the server is stopping; new requests are refused.
    """

    def __init__(self, service: Service, authoriser: Authoriser, counters: Counters) -> None:
        self.service = service
        self.authoriser = authoriser
        self.counters = counters
        self.under_way = 0
        self.is_draining = False

    async def open(self, scope: Scope) -> Principal:
        """Check a request before its body is read.

        :raises Problem: it is refused.
        """
        settings = self.service.settings
        if self.is_draining:
            raise Problem(
                message="the gateway is stopping; send the request again",
                status=503, kind="overloaded_error", code="draining", retry_after_s=1, is_worth_retrying=True,
            )  # fmt: skip
        if self.under_way >= settings.max_requests:
            raise Problem(
                message=f"the gateway is processing {self.under_way:,} requests, its limit",
                status=429, kind="rate_limit_error", code="too_many_requests", retry_after_s=1, is_worth_retrying=True,
            )  # fmt: skip
        return await self.authoriser.authorise(headers_of(scope))


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request by lower-case name."""
    return dict(scope["headers"])


class CallEndpoint:
    """An endpoint in one dialect."""

    def __init__(self, door: Door, dialect: Dialect, name: str) -> None:
        self.door = door
        self.dialect = dialect
        self.name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        door = self.door
        door.under_way += 1
        status = CLIENT_CLOSED
        try:
            status = await self._serve(scope, receive, send)
        except Disconnected:
            door.counters.disconnects += 1
        finally:
            door.under_way -= 1
            door.counters.count(self.name, status)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> int:
        work: Work | None = None
        try:
            principal = await self.door.open(scope)
            body = await read_json(scope, receive, self.door.service.settings.max_request_bytes)
            parsed = self.parse(body, principal)
            narrows = headers_of(scope).get(b"x-helmdeck-narrow-tools") != b"off"
            work = self.door.service.prepare(parsed, self.dialect.FAMILY, principal, narrows_tools=narrows)
        except Disconnected:
            raise
        except Exception as exc:
            return await self._refuse(send, exc, work)
        out = StreamOut(send, work)
        task = asyncio.current_task()
        assert task is not None
        writer = self.dialect.Writer(Opening(model=work.name), parsed) if parsed.is_stream else None
        ping_s = self.door.service.settings.ping_s if writer is not None else None
        # The call runs in this task; a second one waits for the client, and cancels the call when it leaves.
        attendant = asyncio.create_task(_attend(receive, task, out, writer, ping_s))
        call_record.current.set(work.record)
        try:
            return await (self._whole(send, work) if writer is None else self._stream(out, writer, work))
        except asyncio.CancelledError:
            if out.is_disconnected and task.uncancel() == 0:
                raise Disconnected from None
            raise
        finally:
            attendant.cancel()

    def parse(self, body: Mapping[str, Any], principal: Principal) -> Parsed:  # noqa: ARG002
        """Read a request of the dialect.

        :raises Problem: it is invalid.
        """
        return self.dialect.parse(body, self.door.service.opaque.find)

    def finished(self, reply: Reply, principal: Principal) -> None:  # noqa: ARG002
        """Take note of a finished response."""
        self.door.service.remember(reply.response, [f"{OWN_PREFIX}{reply.opening.id}"])

    async def _whole(self, send: Send, work: Work) -> int:
        try:
            response = await self.door.service.complete(work)
        except Exception as exc:
            return await self._refuse(send, exc, work)
        reply = Reply(response=response, opening=Opening(model=work.name), model=work.shown_model(), parsed=work.parsed)
        self.finished(reply, work.principal)
        await send_whole(send, 200, _encode(self.dialect.whole(reply)), work.response_headers())
        return 200

    async def _refuse(self, send: Send, error: Exception, work: Work | None) -> int:
        problem = _reported(error)
        headers = {**(work.response_headers() if work is not None else {}), **problem.headers}
        await send_whole(send, problem.status, _encode(self.dialect.error(problem)), headers)
        return problem.status

    async def _stream(self, out: StreamOut, writer: StreamWriter, work: Work) -> int:
        """Stream a response. The headers wait for the first delta, so that a failure before it has its own status."""
        try:
            async with contextlib.aclosing(self.door.service.stream(work)) as chunks:
                async for chunk in chunks:
                    await out.open(writer)
                    await out.send(self._written(writer, chunk, work))
        except Exception as exc:
            if not out.is_open:
                return await self._refuse(out.raw, exc, work)
            problem = _reported(exc)
            await out.send(writer.fail(problem), is_last=True)
            return problem.status
        await out.send(b"", is_last=True)
        return 200

    def _written(self, writer: StreamWriter, chunk: ChatDelta | ChatResponse, work: Work) -> bytes:
        if isinstance(chunk, ChatDelta):
            return writer.feed(chunk)
        reply = Reply(response=chunk, opening=writer.opening, model=work.shown_model(), parsed=work.parsed)
        try:
            out = writer.finish(reply)
        except DamagedCallError as exc:
            raise Problem(
                message=f"the arguments of the tool call {exc} were damaged after a part of them was sent; send the request again",
                status=502, kind="api_error", code="damaged_tool_call", is_worth_retrying=True,
            ) from exc  # fmt: skip
        self.finished(reply, work.principal)
        return out


class CountTokens(CallEndpoint):
    """Estimates the input tokens of a request without a call."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> int:
        try:
            principal = await self.door.open(scope)
            body = await read_json(scope, receive, self.door.service.settings.max_request_bytes)
            tokens = estimate_tokens(self.parse(body, principal))
        except Disconnected:
            raise
        except Exception as exc:
            return await self._refuse(send, exc, None)
        await send_whole(send, 200, _encode({"input_tokens": tokens}), {"x-helmdeck-estimate": "true"})
        return 200


def _reported(error: Exception) -> Problem:
    problem = problem_of(error)
    if problem.code == "internal_error":
        logger().opt(exception=error).error("the gateway failed to process a request")
    return problem


class StreamOut:
    """A streamed response on its way to the client.

    :ivar is_disconnected: the client left.
    """

    def __init__(self, send: Send, work: Work) -> None:
        self.raw = send
        self._work = work
        self.is_open = False
        self.is_disconnected = False
        self.has_ended = False
        self.is_idle = True

    async def open(self, writer: StreamWriter) -> None:
        """Send the headers and the first events, once."""
        if self.is_open:
            return
        self.is_open = True
        writer.opening.model = self._work.shown_model()
        # Proxies such as nginx would hold events back.
        more = {"cache-control": "no-cache", "x-accel-buffering": "no", **self._work.response_headers()}
        raw = [(b"content-type", _SSE), *_raw(more)]
        await self.raw({"type": "http.response.start", "status": 200, "headers": raw})
        await self.send(writer.start())

    async def send(self, body: bytes, *, is_last: bool = False) -> None:
        """Send events."""
        if self.has_ended or not (body or is_last):
            return
        self.has_ended, self.is_idle = is_last, False
        await self.raw({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def ping(self, writer: StreamWriter) -> None:
        """Send a keep-alive, if nothing was sent since the last call."""
        if self.is_idle:
            await self.open(writer)
            await self.send(writer.ping)
        self.is_idle = True


async def _attend(
    receive: Receive, task: asyncio.Task[Any], out: StreamOut, writer: StreamWriter | None, ping_s: float | None
) -> None:
    """Send keep-alives; cancel the task when the client disconnects."""
    while True:
        try:
            async with asyncio.timeout(ping_s):
                message = await receive()
        except TimeoutError:
            assert writer is not None
            await out.ping(writer)
            continue
        if message["type"] == "http.disconnect":
            out.is_disconnected = True
            task.cancel()
            return


# -- bodies ----------------------------------------------------------------------------------------------------


async def read_json(scope: Scope, receive: Receive, most: int) -> dict[str, Any]:
    """Read the body of a request as a JSON object.

    :raises Problem: it is too large, or not a JSON object.
    :raises Disconnected: the client closed the connection.
    """
    try:
        async with asyncio.timeout(BODY_S):
            data = await read_body(scope, receive, most)
    except TimeoutError:
        message = f"the body did not arrive within {BODY_S} seconds"
        raise Problem(message=message, status=408, kind="timeout_error", code="request_timeout") from None
    try:
        body = _decode(data)
    except (msgspec.DecodeError, RecursionError) as exc:
        problem = "is nested too deeply" if isinstance(exc, RecursionError) else f"is not valid JSON: {exc}"
        raise Problem(message=f"the body {problem}", code="invalid_json") from None
    if not isinstance(body, dict):
        raise Problem(message="the body is not a JSON object", code="invalid_json")
    return body


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Read the body of a request.

    :raises Problem: it is too large.
    :raises Disconnected: the client closed the connection.
    """
    length = headers_of(scope).get(b"content-length", b"0")
    too_large = Problem(
        message=f"the body is larger than {most:,} bytes",
        status=413,
        kind="request_too_large",
        code="request_too_large",
    )
    if length.isdigit() and int(length) > most:
        raise too_large
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]


async def send_whole(
    send: Send, status: int, body: bytes, headers: Mapping[str, str], content_type: bytes = _JSON
) -> None:
    """Send a whole response."""
    raw = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *_raw(headers)]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
