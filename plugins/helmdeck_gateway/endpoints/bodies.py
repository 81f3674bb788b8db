"""Bodies of requests within the limits of size and time of ``[gateway]``, and whole responses; ASGI headers as a mapping.

The size and time of the head are limited in ``http_server.http_protocol``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

from helmdeck_core import Limited
from helmdeck_gateway.accounts.principals import headers_by_name
from helmdeck_gateway.calls.aside import aside
from helmdeck_gateway.calls.stream_out import raw_headers
from helmdeck_gateway.load.request_load import LOAD, RequestLoad
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_HEADERS: Final = "helmdeck.headers"
_JSON: Final = b"application/json"
_decode = msgspec.json.Decoder().decode


@attrs.frozen
class JsonBody:
    """The body of a request.

    :ivar size: its bytes, which tell how long it takes to read.
    :ivar names_files: it may name stored files.
    """

    fields: dict[str, Any]
    size: int
    names_files: bool = False


class Disconnected(Exception):
    """The client closed the connection before its request was complete."""


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request by lower-case name; without its key, if it has several."""
    found: dict[bytes, bytes] | None = scope.get(_HEADERS)
    if found is None:
        found = scope[_HEADERS] = headers_by_name(scope["headers"])
    return found


def is_anthropic(scope: Scope) -> bool:
    """Return whether a request has the headers of Anthropic's API, for paths that both APIs have."""
    headers = headers_of(scope)
    return b"anthropic-version" in headers or b"anthropic-beta" in headers


async def read_json(scope: Scope, receive: Receive, settings: GatewaySettings) -> JsonBody:
    """Read the body of a request as a JSON object, when it is the turn of the request.

    :raises Problem: it is too large or too slow, not a JSON object, or there is no room for it.
    :raises Disconnected: the client closed the connection.
    """
    data = await read_in_time(scope, receive, settings.max_request_bytes, settings.body_s)
    load: RequestLoad | None = scope.get(LOAD)
    if load is not None:
        try:
            await load.take_place(scope)
        except ConnectionError:
            raise Disconnected from None
    return JsonBody(await aside(len(data), decode_object, data), len(data), b'"file_id"' in data)


def decode_object(data: bytes) -> dict[str, Any]:
    """Decode a JSON object; of fields with the same name, the last one counts.

    :raises Problem: it is something else.
    """
    try:
        body = _decode(data)
    except RecursionError:
        raise Problem(message="the body is nested too deeply", code="invalid_json") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:  # the latter: msgspec before 0.23
        raise _undecodable(data, exc) from None
    if not isinstance(body, dict):
        raise Problem(message="the body is not a JSON object", code="invalid_json")
    return body


def _undecodable(data: bytes, error: Exception) -> Problem:
    try:
        data.decode()
    except UnicodeDecodeError as exc:
        message = f"the body is not valid UTF-8: byte 0x{exc.object[exc.start]:02x}, {exc.reason}"
    else:
        message = f"the body is not valid JSON: {error}"
    return Problem(message=message, code="invalid_json")


async def read_in_time(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """Read the body of a request.

    :raises Problem: it is too large or too slow.
    :raises Disconnected: the client closed the connection.
    """
    until_s = asyncio.get_running_loop().time() + seconds
    try:  # most bodies have arrived with the head
        return await Limited(_read_body(scope, receive, most).__await__(), until_s)
    except TimeoutError:
        message = f"the body did not arrive within {seconds:g} seconds"
        raise Problem(message=message, status=408, kind="timeout_error", code="request_timeout") from None


async def _read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    headers = headers_of(scope)
    check_encoding(headers)
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    load: RequestLoad | None = scope.get(LOAD)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        if load is not None:
            load.take(len(part))
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def check_encoding(headers: Mapping[bytes, bytes]) -> None:
    """Check that a body is not compressed: a small one could become larger than any limit.

    :raises Problem: it is.
    """
    encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip()
    if encoding.lower() not in ("", "identity"):
        raise Problem(
            message=f"compressed bodies are not accepted (content-encoding: {encoding[:40]!r}); send the body as it is",
            status=415, code="unsupported_encoding",
        )  # fmt: skip


def _too_large(most: int) -> Problem:
    return Problem(
        message=f"the body is larger than {most:,} bytes",
        status=413,
        kind="request_too_large",
        code="request_too_large",
    )


async def send_whole(
    send: Send, status: int, body: bytes, headers: Mapping[str, str], content_type: bytes = _JSON
) -> None:
    """Send a whole response."""
    raw = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *raw_headers(headers)]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
