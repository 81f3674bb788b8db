"""The checks, written once for every SDK.

An SDK is an adapter: a script in ``tests/real/client_scripts`` that reads operations as lines of JSON and writes what the SDK returned.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from benchmarks.gateway_sdks.upstream import (
    LIMIT,
    LONG,
    RETRY_AFTER_S,
    TEXT,
    TOOL,
    TRUNCATED,
    USAGE,
    VECTOR,
    ScriptedUpstream,
)

Reply = Mapping[str, Any]
"""What an adapter returned: ``text``, ``calls``, ``finish``, ``usage``, ``deltas``, or ``error``, or ``unsupported``."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
PROMPT: Final = "When is the tide?"
ALIAS: Final = "harbour"
"""A name of ``[gateway.models]``, which the list of models contains."""


class UnsupportedByClient(Exception):
    """The SDK has no such operation, or does not report such a value; the text says which."""


class CheckFailed(Exception):
    """The result differs from the expected one."""


class Client(Protocol):
    """A running adapter, and the model behind the gateway."""

    @property
    def upstream(self) -> ScriptedUpstream:
        """The model."""
        ...

    def send(self, op: str, **fields: Any) -> Reply:
        """Run an operation.

        :raises UnsupportedByClient: the SDK has none.
        """
        ...


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    header = (1).to_bytes(4) * 2 + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(b"\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


PNG: Final = _png()
PDF: Final = b"%PDF-1.4\n%%EOF\n"


def _user(text: str = PROMPT, **parts: str) -> Mapping[str, Any]:
    return {"role": "user", "text": text, **parts}


def _ask(client: Client, model: str, *messages: Mapping[str, Any], **fields: Any) -> Reply:
    return client.send("chat", model=f"up/{model}", messages=messages or [_user()], **fields)


def _answered(client: Client, model: str, *messages: Mapping[str, Any], **fields: Any) -> Reply:
    reply = _ask(client, model, *messages, **fields)
    if error := reply.get("error"):
        raise CheckFailed(f"{error['class']}: {error['message']}")
    return reply


def check_equal(found: Any, expected: Any) -> None:
    """Compare a result.

    :raises CheckFailed: it differs.
    """
    if found != expected:
        raise CheckFailed(f"{found!r:.200} instead of {expected!r:.80}")


def _plain(client: Client) -> None:
    check_equal(_answered(client, "plain")["text"], TEXT)


def _stream(client: Client) -> None:
    reply = _answered(client, "plain", stream=True)
    check_equal((reply["text"], reply["deltas"] > 1), (TEXT, True))


def _words(reply: Reply) -> Sequence[tuple[str, Any]]:
    return [(call["name"], call["arguments"].get("word")) for call in reply["calls"]]


def _tools(client: Client) -> None:
    check_equal(_words(_answered(client, "tools", tools=True)), [(TOOL, "tide")])


def _tool_result(client: Client) -> None:
    call = {"id": "call_tide", "name": TOOL, "arguments": {"word": "tide"}}
    messages = [
        _user(),
        {"role": "assistant", "text": "", "calls": [call]},
        {"role": "tool", "text": "high", "call_id": "call_tide", "name": TOOL},
    ]
    check_equal(_answered(client, "tool-result", *messages, tools=True)["text"], "The tool returned high.")


def _parallel_tools(client: Client) -> None:
    reply = _answered(client, "parallel-tools", tools=True, stream=True)
    check_equal(_words(reply), [(TOOL, "tide"), (TOOL, "moon")])
    check_equal(len({call["id"] for call in reply["calls"]}), 2)


def _tool_choice(client: Client) -> None:
    check_equal(_words(_answered(client, "tool-choice", tools=True, choice=TOOL)), [(TOOL, "tide")])


def _schema(client: Client) -> None:
    check_equal(json.loads(_answered(client, "schema", schema=SCHEMA, strict=False)["text"]), {"word": "tide"})


def _strict_schema(client: Client) -> None:
    client.upstream.requests.clear()
    check_equal(json.loads(_answered(client, "strict-schema", schema=SCHEMA, strict=True)["text"]), {"word": "tide"})


def _image(client: Client) -> None:
    message = _user(image=base64.b64encode(PNG).decode())
    check_equal(_answered(client, "image", message)["text"], f"image/png, {len(PNG)} bytes")


def _pdf(client: Client) -> None:
    message = _user(pdf=base64.b64encode(PDF).decode())
    check_equal(_answered(client, "pdf", message)["text"], f"application/pdf, {len(PDF)} bytes")


def _system(client: Client) -> None:
    check_equal(
        _answered(client, "system", {"role": "system", "text": "Be brief."}, _user())["text"], "system: Be brief."
    )


def _multi_turn(client: Client) -> None:
    reply = _answered(client, "multi-turn", _user(), {"role": "assistant", "text": "At noon."}, _user("And the moon?"))
    check_equal(reply["text"], "user assistant user")


def _long(client: Client) -> None:
    prompt = "word " * 8_000
    check_equal(_answered(client, "long", _user(prompt), stream=True)["text"], f"{len(prompt)} {LONG}")


def _cancel(client: Client) -> None:
    client.upstream.dropped.clear()
    _answered(client, "cancel", stream=True, cancel=True)
    if not client.upstream.dropped.wait(10):
        raise CheckFailed("the request to the model continues")


def _failure(reply: Reply) -> Mapping[str, Any]:
    error: Mapping[str, Any] | None = reply.get("error")
    if error is None:
        raise CheckFailed(f"no error but {reply.get('text')!r:.80}")
    return error


def _bad_key(client: Client) -> None:
    check_equal(_failure(_ask(client, "plain", key="wrong"))["status"], 401)


def _unknown_model(client: Client) -> None:
    error = _failure(client.send("chat", model="nowhere/m", messages=[_user()]))
    check_equal((error["status"], "nowhere" in error["message"]), (404, True))


def _rate_limit(client: Client) -> None:
    error = _failure(_ask(client, "rate-limit"))
    if "retry_after" not in error:
        check_equal(error["status"], 429)
        raise UnsupportedByClient("HTTP 429, without headers in the error")
    check_equal((error["status"], error["retry_after"]), (429, str(RETRY_AFTER_S)))


def _usage(client: Client) -> None:
    check_equal(tuple(_answered(client, "plain")["usage"]), USAGE)


def _stream_usage(client: Client) -> None:
    check_equal(tuple(_answered(client, "plain", stream=True)["usage"]), USAGE)


_REFUSALS: Final = ("content_filter", "content-filter", "refusal", "safety")
_LENGTHS: Final = ("length", "max_tokens", "max_output_tokens")


def _refusal(client: Client) -> None:
    reply = _ask(client, "refusal")
    error = reply.get("error")
    shown = f"{error['class']} {error['message']}" if error else str(reply["finish"])
    if not any(word in shown.lower() for word in _REFUSALS):
        raise CheckFailed(shown)


def _length(client: Client) -> None:
    reply = _ask(client, "length", max_tokens=LIMIT)
    error = reply.get("error")
    if error and "length" not in error["class"].lower() + error["message"].lower():
        raise CheckFailed(f"{error['class']}: {error['message']}")
    if not error and reply["finish"] is None and reply["text"] == TRUNCATED:
        raise UnsupportedByClient("no finish reason in a result")
    if not error and str(reply["finish"]).lower() not in _LENGTHS:
        raise CheckFailed(f"{reply['finish']}, {reply['text']!r:.80}")


def _stop_sequence(client: Client) -> None:
    check_equal(_answered(client, "stop", stop=["noon"])["text"].strip(), "The tide is high at")


def _embeddings(client: Client) -> None:
    reply = client.send("embed", model="up/vectors", texts=["tide", "moon"])
    if error := reply.get("error"):
        raise CheckFailed(f"{error['class']}: {error['message']}")
    check_equal(reply["vectors"], [list(VECTOR)] * 2)


def _models(client: Client) -> None:
    reply = client.send("models")
    if error := reply.get("error"):
        raise CheckFailed(f"{error['class']}: {error['message']}")
    names = [name.removeprefix("models/") for name in reply["models"]]
    if ALIAS not in names:
        raise CheckFailed(f"{ALIAS} is not among {names!r:.80}")


def _empty(client: Client) -> None:
    client.upstream.requests.clear()
    check_equal(_answered(client, "empty")["text"], TEXT)


CHECKS: Final[Mapping[str, Callable[[Client], None]]] = {
    "plain answer": _plain,
    "stream": _stream,
    "tool call": _tools,
    "tool result": _tool_result,
    "parallel tool calls, streamed": _parallel_tools,
    "tool choice": _tool_choice,
    "JSON Schema, answer in a code fence": _schema,
    "strict JSON Schema, first answer invalid": _strict_schema,
    "image part": _image,
    "PDF part": _pdf,
    "system prompt": _system,
    "several turns": _multi_turn,
    "40 KB in, 28 KB out": _long,
    "cancel a stream": _cancel,
    "wrong key": _bad_key,
    "unknown model": _unknown_model,
    "rate limit with `Retry-After`": _rate_limit,
    "usage": _usage,
    "usage of a stream": _stream_usage,
    "refusal": _refusal,
    "output limit": _length,
    "stop sequence": _stop_sequence,
    "embeddings": _embeddings,
    "list of models": _models,
    "empty answer of the model": _empty,
}
"""The checks by their name in the table."""
