"""The guard in front of the HTTP endpoint: an ASGI application that refuses requests before the protocol sees them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from helmdeck_mcp.server.limits import HttpLimits, RateLimiter, retry_after
from helmdeck_mcp.server.tokens import Tokens

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"

DRAINED_BYTES = 32 * 1_048_576
"""Bytes of a refused body that are read and dropped, so that the client reads the refusal instead of a broken connection."""
DRAINED_UNKNOWN_BYTES = 1_048_576
"""The same for requests without a valid token."""
DRAIN_S = 5.0

PART_BYTES = 65_536
"""Bytes of a response that are sent at once."""

PREFLIGHT = (
    (b"access-control-allow-methods", b"POST, GET, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name",
    ),
    (b"access-control-max-age", b"600"),
)
"""The answer to a browser that asks whether a web page may send a request."""

GRACE_S = 15.0
"""Seconds that a request may take longer than its call."""

UNAUTHORIZED, FORBIDDEN, LIMITED = -32001, -32003, -32029
"""JSON-RPC codes of refusals; the HTTP status says the same."""


@attrs.frozen
class Refusal(Exception):
    """A request that is refused.

    :ivar message: what was found, and what to do.
    :ivar headers: additional headers of the response.
    :ivar drains: whether the rest of the body is read first.
    """

    status: int
    message: str
    code: int = LIMITED
    headers: tuple[tuple[bytes, bytes], ...] = ()
    drains: bool = True


class ClientTooSlow(Exception):
    """The client does not read its response."""


class Guard:
    """Checks host, origin, token, rate, number and size of requests, and limits their time.

    :param app: the protected application; it finds the caller in the scope under ``caller_key``.
    :param tokens: empty if every local user may call.
    :param hosts: valid names of the ``Host`` header, lower case, without port.
    :param origins: valid ``Origin`` headers, in addition to those of ``hosts``.
    :param authenticate: puts the identity of a caller into a scope.
    """

    def __init__(
        self,
        app: App,
        *,
        tokens: Tokens,
        limits: HttpLimits,
        hosts: frozenset[str],
        origins: frozenset[str] = frozenset(),
        authenticate: Callable[[Scope, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._limits = limits
        self._hosts = hosts
        self._origins = origins
        self._authenticate = authenticate
        self._rates = RateLimiter(limits.rate, 10 * limits.rate, clock)
        self._running: Counter[str] = Counter()
        self._is_shared = len(tokens) > 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} connections are not supported")
        headers = _headers(scope)
        drained = DRAINED_UNKNOWN_BYTES
        try:
            self._check_target(scope, headers)
            origin = headers.get(b"origin", b"")
            if origin.decode("latin-1").lower() in self._origins:
                send = _readable_by(origin, send)
                if scope["method"] == "OPTIONS":
                    await send({"type": "http.response.start", "status": 204, "headers": PREFLIGHT})
                    await send({"type": "http.response.body", "body": b""})
                    return
            caller = self._caller(scope, headers)
            drained = DRAINED_BYTES
            key = f"caller {caller}" if caller is not None else "local"
            self._check_rate(key)
            self._check_length(headers)
            is_call = scope["method"] == "POST" and not _is_subscription(headers)
            with self._counted(key) if is_call else contextlib.nullcontext():
                await self._serve(scope, receive, send, caller, is_call=is_call)
        except Refusal as refusal:
            await _refuse(refusal, receive, send, drained if refusal.drains else 0)

    def _check_target(self, scope: Scope, headers: MutableMapping[bytes, bytes]) -> None:
        host = _host_name(headers.get(b"host", b"").decode("latin-1"))
        if host not in self._hosts:
            raise Refusal(421, f"the host {host[:100]!r} is not served here; --allow-host adds one", FORBIDDEN)
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin not in self._origins and not self._is_own_origin(origin):
            raise Refusal(403, f"the origin {origin[:100]!r} is not allowed; --allow-origin adds one", FORBIDDEN)
        if scope["path"].rstrip("/") != PATH:
            raise Refusal(404, f"the endpoint is {PATH}", FORBIDDEN)

    def _is_own_origin(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and (parts.hostname or "") in self._hosts
        except ValueError:
            return False

    def _caller(self, scope: Scope, headers: MutableMapping[bytes, bytes]) -> str | None:
        if not len(self._tokens):
            return None
        caller = self._tokens.caller(headers.get(b"authorization", b"").decode("latin-1"))
        if caller is not None:
            return caller
        peer = (scope.get("client") or ("unknown", 0))[0]
        self._check_rate(f"address {peer}")
        what = "the token is not valid" if b"authorization" in headers else "a bearer token is required"
        challenge = b'Bearer realm="helmdeck"'
        if b"authorization" in headers:
            challenge += b', error="invalid_token"'
        raise Refusal(
            401, f"{what}; send Authorization: Bearer TOKEN", UNAUTHORIZED, ((b"www-authenticate", challenge),)
        )

    def _check_rate(self, key: str) -> None:
        if wait_s := self._rates.wait_s(key):
            wait = retry_after(wait_s)
            raise Refusal(
                429, f"more than {self._limits.rate:g} requests per second", LIMITED, ((b"retry-after", wait),)
            )

    def _check_length(self, headers: MutableMapping[bytes, bytes]) -> None:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.max_body_bytes:
            raise self._too_large()

    def _too_large(self, *, drains: bool = True) -> Refusal:
        return Refusal(413, f"the body exceeds {self._limits.max_body_bytes:,} bytes", drains=drains)

    @contextlib.contextmanager
    def _counted(self, key: str) -> Iterator[None]:
        most = self._limits.max_calls
        share = max(1, most // 2) if self._is_shared else most
        if self._running[key] >= share or self._running.total() >= most:
            again = (b"retry-after", b"1")
            raise Refusal(503, f"{self._running.total()} requests are under way; try again", LIMITED, (again,))
        self._running[key] += 1
        try:
            yield
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]

    async def _serve(self, scope: Scope, receive: Receive, send: Send, caller: str | None, *, is_call: bool) -> None:
        body = await self._body(receive)
        if caller is not None and self._authenticate is not None:
            self._authenticate(scope, caller)
        is_started = False
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        async def bounded_send(message: Message) -> None:
            nonlocal is_started
            is_started = True
            for part in _parts(message):
                try:
                    async with asyncio.timeout(self._limits.send_s):
                        await send(part)
                except TimeoutError:
                    raise ClientTooSlow from None

        total_s = self._limits.call_s + GRACE_S if is_call else None
        try:
            async with asyncio.timeout(total_s):
                await self._app(scope, replay, bounded_send)
        except TimeoutError:
            if not is_started:
                raise Refusal(504, f"the request took longer than {self._limits.call_s:g} s", drains=False) from None
        except BaseExceptionGroup as group:
            if group.split(ClientTooSlow)[1] is not None:
                raise
        except ClientTooSlow:
            pass  # the server closes the connection, because the response is not complete

    async def _body(self, receive: Receive) -> bytes:
        parts = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_s):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return bytes(parts)
                    parts += message.get("body", b"")
                    if len(parts) > self._limits.max_body_bytes:
                        raise self._too_large(drains=message.get("more_body", False))
                    if not message.get("more_body", False):
                        return bytes(parts)
        except TimeoutError:
            message_text = f"the body did not arrive within {self._limits.body_s:g} s"
            raise Refusal(408, message_text, drains=False) from None


def _parts(message: Message) -> Iterator[Message]:
    """A message in parts, of which the server sends the next one when the client has read enough of the last."""
    body = message.get("body", b"")
    if message["type"] != "http.response.body" or len(body) <= PART_BYTES:
        yield message
        return
    view = memoryview(body)
    for start in range(0, len(body), PART_BYTES):
        has_more = start + PART_BYTES < len(body) or message.get("more_body", False)
        yield {**message, "body": bytes(view[start : start + PART_BYTES]), "more_body": has_more}


def _readable_by(origin: bytes, send: Send) -> Send:
    """Return ``send`` with the headers that let a web page of an allowed origin read the response."""
    allowed = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"mcp-session-id, mcp-protocol-version, www-authenticate, retry-after"),
        (b"vary", b"origin"),
    ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *allowed]}
        await send(message)

    return send_readable


def _is_subscription(headers: MutableMapping[bytes, bytes]) -> bool:
    """Whether a request opens a stream of notifications, which is not a call and has no end.

    Clients of the older protocol open it with GET. In the newer one, the header is compared with the body.
    """
    is_modern = headers.get(b"mcp-protocol-version", b"") >= b"2026"
    return is_modern and headers.get(b"mcp-method") == b"subscriptions/listen"


def _headers(scope: Scope) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in (b"host", b"origin", b"authorization", b"content-length") and name in headers:
            value = b"\0"  # sent twice: two readers could see two different requests
        headers[name] = value
    return headers


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


async def _refuse(refusal: Refusal, receive: Receive, send: Send, drained: int) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            while drained > 0:
                message = await receive()
                drained -= len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body", False):
                    break
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": refusal.code, "message": refusal.message}}
    body = json.dumps(error).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
