"""Stored answers as bytes: a version, a checksum, and JSON. Damaged bytes, and those of a newer release, are ignored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import CachedAnswer, ChatResponse, StopReason, ToolCall, Usage

VERSION: Final = b"1"
_CHECKSUM: Final = 16


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    model: str
    stored_s: float
    stop_reason: StopReason
    text: str = ""
    cost_usd: float | None = None
    raw_stop_reason: str | None = None
    strict_stop_reason: StopReason | None = None
    tool_calls: tuple[tuple[str, str, str], ...] = ()
    usage: _Usage = _Usage()
    reasoning_content: str = ""
    opaque: dict[str, Any] = {}
    served_model: str = ""
    constraint: str = ""


def encoded(answer: CachedAnswer, owner: str) -> bytes:
    """Return an answer as bytes.

    :param owner: what the answer belongs to; the bytes are an answer for the same owner only.
    :raises TypeError: the answer has provider-specific data that JSON cannot represent.
    :raises UnicodeEncodeError: its text contains an unpaired surrogate.
    """
    response = answer.response
    entry = _Entry(
        model=answer.model,
        stored_s=answer.stored_s,
        stop_reason=response.stop_reason,
        text=response.text,
        cost_usd=answer.cost_usd,
        raw_stop_reason=response.raw_stop_reason,
        strict_stop_reason=response.strict_stop_reason,
        tool_calls=tuple((call.id, call.name, call.arguments) for call in response.tool_calls),
        usage=_Usage(**response.usage.to_dict()),
        reasoning_content=response.reasoning_content,
        opaque=_as_dict(response.opaque),
        served_model=response.served_model,
        constraint=response.constraint,
    )
    data = _encode(entry)
    return VERSION + _checksum(owner, data) + data


def decoded(data: bytes, owner: str) -> CachedAnswer | None:
    """Return the answer in some bytes; ``None`` if they are damaged, of a newer release, or of another owner."""
    start = len(VERSION) + _CHECKSUM
    body = data[start:]
    if data[: len(VERSION)] != VERSION or data[len(VERSION) : start] != _checksum(owner, body):
        return None
    try:
        entry = _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    response = ChatResponse(
        text=entry.text,
        stop_reason=entry.stop_reason,
        raw_stop_reason=entry.raw_stop_reason,
        strict_stop_reason=entry.strict_stop_reason,
        tool_calls=tuple(ToolCall(*call) for call in entry.tool_calls),
        usage=Usage(**msgspec.structs.asdict(entry.usage)),
        reasoning_content=entry.reasoning_content,
        opaque=entry.opaque,
        served_model=entry.served_model,
        constraint=entry.constraint,
    )
    return CachedAnswer(response=response, model=entry.model, cost_usd=entry.cost_usd, stored_s=entry.stored_s)


def _checksum(owner: str, data: bytes) -> bytes:
    return hashlib.blake2b(owner.encode() + b"\0" + data, digest_size=_CHECKSUM).digest()


def _as_dict(value: Any) -> Any:
    return {name: _as_dict(each) for name, each in value.items()} if isinstance(value, Mapping) else value


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Entry).decode
