"""The faults of the fault suite by name, as statuses, headers and bytes; standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping

Fault = str
"""The name of a fault; ``good`` is none."""

STATUSES: Mapping[Fault, tuple[int, Mapping[str, str]]] = {
    **{str(status): (status, {}) for status in (408, 429, 500, 502, 503, 504, 529)},
    "429, Retry-After 1": (429, {"retry-after": "1"}),
    "429, Retry-After 2": (429, {"retry-after": "2"}),
    "429, Retry-After 60": (429, {"retry-after": "60"}),
    "429, Retry-After 1.5 s": (429, {"retry-after-ms": "1500"}),
    "429, reset in 1 s": (429, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}),
    "429, Retry-After in the past": (429, {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}),
    "429, Retry-After in 2094": (429, {"retry-after": "Sat, 06 Nov 2094 08:49:37 GMT"}),
    "429, Retry-After a year": (429, {"retry-after": "31536000"}),
    "429, Retry-After -1": (429, {"retry-after": "-1"}),
    "429, Retry-After NaN": (429, {"retry-after": "NaN"}),
    "429, Retry-After 1e400": (429, {"retry-after": "1e400"}),
    "503, Retry-After 1": (503, {"retry-after": "1"}),
    "503, Retry-After 2": (503, {"retry-after": "2"}),
    "503, Retry-After 60": (503, {"retry-after": "60"}),
}
KEY_STATUSES: Mapping[Fault, tuple[int, Mapping[str, str]]] = {"401": (401, {}), "402": (402, {})}
"""Further faults of single API keys."""
HANG_UP = ("reset before the answer", "closed before the answer")
WHOLE: Mapping[Fault, tuple[Mapping[str, str], bytes]] = {
    "HTML in 200": ({"content-type": "text/html"}, b"<html><title>502 Bad Gateway</title><h1>nginx</h1></html>"),
    "HTML as JSON": ({"content-type": "application/json"}, b"<html><title>Log in</title></html>"),
    "gzip that is none": ({"content-type": "application/json", "content-encoding": "gzip"}, b'{"choices": []}'),
    "no body": ({"content-type": "application/json"}, b""),
}
"""Bodies with HTTP 200, the same for whole and streamed responses."""
AT_ONCE = (
    "silent", "silent after the headers", "error in 200", "empty answer", "only comments", *HANG_UP, *WHOLE, *STATUSES,
)  # fmt: skip
"""Faults before any text."""
IN_MID_STREAM = (
    "stalled", "stalled after each chunk", "reset", "closed", "no end mark", "damaged event", "error event",
)  # fmt: skip
"""Faults after half of the text, or after its first words."""
HARMLESS = ("100 Continue", "slow upload", "closed after the answer")
"""What a client has to bear: an interim response, a server that reads slowly, a connection that is closed after an answer."""


def whole(body: str | bytes, status: int, headers: Mapping[str, str] | None = None) -> bytes:
    """Return a response with a length."""
    data = body if isinstance(body, bytes) else body.encode()
    lines = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + data


def at_once(fault: Fault) -> bytes | None:
    """Return the response of a fault that is the same for every request; ``None`` for any other fault."""
    if fault in WHOLE:
        headers, body = WHOLE[fault]
        return whole(body, 200, headers)
    found = STATUSES.get(fault) or KEY_STATUSES.get(fault)
    if found is None:
        return None
    return whole(json.dumps({"error": {"message": "try later", "code": found[0]}}), *found)
