"""The lines of OpenAI's batch files, and the results in the forms of both APIs."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from typing import Any, Final

import msgspec

from helmdeck_gateway.batches.batch import CANCELLED, EXPIRED, SUCCEEDED, Batches, Line, Result
from helmdeck_gateway.batches.files import joined_lines
from helmdeck_gateway.calls.aside import aside
from helmdeck_gateway.problems import Problem

MAX_LINES: Final = 50_000
MAX_ERRORS: Final = 100
"""Errors of an input file that are shown."""
PUT_LINES: Final = 500
PUT_BYTES: Final = 4_000_000
"""Lines, and bytes of them, that one step stores."""

ENDPOINTS: Final = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses")
"""The endpoints of OpenAI's batches."""


class _InputLine(msgspec.Struct):
    custom_id: str
    method: str
    url: str
    body: msgspec.Raw


_decode = msgspec.json.Decoder(_InputLine).decode
_decode_body = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


async def read_lines(
    content: AsyncIterable[bytes], endpoint: str, batches: Batches, batch_id: str, most: int
) -> tuple[int, list[dict[str, Any]]]:
    """Store the lines of a file; return their number, and the mistakes.

    :param most: bytes that a line may have.
    """
    mistakes: list[dict[str, Any]] = []
    known: set[str] = set()
    waiting: dict[int, Line] = {}
    size = count = number = 0
    async for text in joined_lines(content, most):
        number += 1
        if text is not None and not text.strip():
            continue
        count += 1
        if count > MAX_LINES:
            mistakes.append(_mistake("too_many_requests", f"at most {MAX_LINES:,} requests are allowed", None, number))
            break
        try:
            if text is None:
                raise Problem(message=f"the line is larger than {most:,} bytes", code="line_too_large")
            line = await aside(len(text), read_line, text, endpoint, known)
        except Problem as exc:
            mistakes.append(_mistake(exc.code, str(exc), exc.param, number))
            if len(mistakes) >= MAX_ERRORS:
                break
            continue
        waiting[count], size = line, size + len(line.body)
        if not mistakes and (len(waiting) >= PUT_LINES or size >= PUT_BYTES):
            await batches.add_lines(batch_id, waiting)
            waiting, size = {}, 0
    if not count:
        mistakes.append(_mistake("empty_file", "the file has no requests", None, None))
    if not mistakes:
        await batches.add_lines(batch_id, waiting)
    return count, mistakes


def read_line(text: bytes, endpoint: str, known: set[str]) -> Line:
    """Read a line of a batch file.

    :param known: the ids of the lines before, to which its own is added.
    :raises Problem: it is invalid.
    """
    try:
        line = _decode(text)
        body = _decode_body(line.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        detail = str(exc) or "nested too deeply"
        raise Problem(message=f"the line is not a valid request: {detail}", code="invalid_json_line") from None
    if not line.custom_id or len(line.custom_id) > 256:
        raise Problem(
            message="custom_id: 1 to 256 characters are expected", code="invalid_custom_id", param="custom_id"
        )
    if line.custom_id in known:
        message = f"custom_id: {line.custom_id[:80]!r} is not unique in the file"
        raise Problem(message=message, code="duplicate_custom_id", param="custom_id")
    known.add(line.custom_id)
    if line.method.upper() != "POST":
        raise Problem(
            message=f"method: expected 'POST', found {line.method[:20]!r}", code="invalid_method", param="method"
        )
    if line.url != endpoint:
        message = f"url: expected {endpoint!r}, the endpoint of the batch, found {line.url[:80]!r}"
        raise Problem(message=message, code="mismatched_endpoint", param="url")
    check_body(body, "body.")
    return Line(line.custom_id, bytes(line.body))


def check_body(body: Mapping[str, Any], where: str) -> None:
    """Check the body of a request.

    :raises Problem: it asks for a stream.
    """
    for name in ("stream", "background"):
        if body.get(name):
            raise Problem(
                message=f"{where}{name}: not available in a batch", code="invalid_request", param=f"{where}{name}"
            )


def _mistake(code: str, message: str, param: str | None, line: int | None) -> dict[str, Any]:
    return {"code": code, "message": message, "param": param, "line": line}


def openai_line(batch_id: str, state: int, result: Result) -> bytes:
    """Return a line of an output or error file."""
    response: dict[str, Any] | None = None
    problem: dict[str, str] | None = None
    if state == CANCELLED:
        problem = {"code": "batch_cancelled", "message": "the batch was cancelled before this request was sent"}
    elif state == EXPIRED:
        problem = {"code": "batch_expired", "message": "the batch expired before this request was sent"}
    else:
        body = msgspec.Raw(result.body or b"null")
        response = {"status_code": result.status, "request_id": result.request_id, "body": body}
    row_id = result.request_id or f"batch_req_{batch_id}"
    return _encode({"id": row_id, "custom_id": result.custom_id, "response": response, "error": problem}) + b"\n"


def anthropic_line(state: int, result: Result) -> bytes:
    """Return a line of the results of a message batch."""
    outcome: dict[str, Any]
    if state == SUCCEEDED:
        outcome = {"type": "succeeded", "message": msgspec.Raw(result.body)}
    elif state in (CANCELLED, EXPIRED):
        outcome = {"type": "canceled" if state == CANCELLED else "expired"}
    else:
        outcome = {"type": "errored", "error": msgspec.Raw(result.body or b"null")}
    return _encode({"custom_id": result.custom_id, "result": outcome}) + b"\n"
