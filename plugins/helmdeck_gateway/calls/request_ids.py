"""Ids that clients give their requests: ``x-request-id``, and the W3C trace context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from helmdeck_core import EMPTY

if TYPE_CHECKING:
    from starlette.types import Send

_REQUEST_ID: Final = re.compile(rb"[!-~]{1,128}")
_TRACE_PARENT: Final = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TRACE_STATE: Final = re.compile(rb"[ -~]{1,512}")


def request_id_of(headers: Mapping[bytes, bytes]) -> str:
    """Return the id that the client gave its request; empty without one, or for one that is too long or not ASCII."""
    found = headers.get(b"x-request-id")
    return found.decode() if found is not None and _REQUEST_ID.fullmatch(found) else ""


def trace_context_of(headers: Mapping[bytes, bytes]) -> Mapping[str, str]:
    """Return the valid headers of the W3C trace context; empty without a valid ``traceparent``."""
    parent = headers.get(b"traceparent")
    if parent is None or not _TRACE_PARENT.fullmatch(parent):
        return EMPTY
    state = headers.get(b"tracestate", b"")
    shown = {"traceparent": parent.decode()}
    return {**shown, "tracestate": state.decode()} if _TRACE_STATE.fullmatch(state) else shown


def echoing(send: Send, request_id: str) -> Send:
    """Return ``send`` with the id as a header of the response."""
    header = (b"x-request-id", request_id.encode())

    async def echo(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], header]
        await send(message)

    return echo
