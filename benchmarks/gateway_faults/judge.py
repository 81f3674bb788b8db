"""Judges what a client of the gateway receives: complete, or a typed error, in time, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.faults.upstream import ANSWER
from benchmarks.gateway_faults.faults import CALLS
from benchmarks.gateway_faults.table import FAULTS

TOOL = {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}}
CHAT_ENDS = ("stop", "tool_calls", "length", "content_filter")
MESSAGE_ENDS = ("end_turn", "tool_use", "max_tokens", "refusal", "stop_sequence")
RESPONSE_ENDS = ("completed", "incomplete", "failed")
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


class Case(NamedTuple):
    """One request of a client.

    :ivar second: the fault of the fallback; empty without a fallback; ``once`` is no fallback and a single failure.
    """

    fault: str
    kind: str
    second: str
    dialect: str
    streams: bool

    @property
    def must_be_complete(self) -> bool:
        """Whether a server can give the whole answer, so that the client must get it."""
        if FAULTS[self.fault].is_harmless:
            return True
        # A tool call that was shown in part cannot be replaced: its arguments are another model's.
        if self.fault in MISCONFIGURED or (self.streams and self.kind == "calls"):
            return False
        is_repeated = not self.fault.startswith(NOT_REPEATED)
        return self.second == "none" or (self.second == "once" and is_repeated)

    def body(self, model: str) -> dict[str, Any]:
        """Return the payload of the request."""
        body: dict[str, Any] = {"model": model, "stream": self.streams}
        text = "When is the tide?"
        body |= {"input": text} if self.dialect == "responses" else {"messages": [{"role": "user", "content": text}]}
        if self.dialect == "messages":
            body["max_tokens"] = 4_000
        if self.kind == "calls":
            function = {"name": "look_up", "description": "looks a word up"}
            body["tools"] = [
                {
                    "chat": {"type": "function", "function": {**function, "parameters": TOOL}},
                    "messages": {**function, "input_schema": TOOL},
                    "responses": {"type": "function", **function, "parameters": TOOL},
                }[self.dialect]
            ]
        return body


MISCONFIGURED = ("401", "404", "302")
"""Faults that an operator has to see: no other model is called."""
NOT_REPEATED = (
    *MISCONFIGURED, "refused", "429, Retry-After 600", "silent", "half a head", "500 that stalls",
    "stall in role", "stall in reasoning", "stall in call", "keep-alives", "drips", "unclosed", "empty at the limit",
)  # fmt: skip
"""Faults after which the same model is not called again: silence, and a long wait."""


class Outcome(NamedTuple):
    """What a client received.

    :ivar raw: the body.
    :ivar error: what happened in place of a response, such as a timeout.
    """

    status: int = 0
    content_type: str = ""
    raw: bytes = b""
    seconds: float = 0.0
    error: str = ""


class Read(NamedTuple):
    """A response as its client understands it.

    :ivar calls: names and arguments.
    :ivar code: the code of an error.
    """

    text: str
    calls: Sequence[tuple[str, str]]
    finish: str | None
    code: str | None
    ids: Sequence[str] = ()


def judge(case: Case, outcome: Outcome, deadline_s: float) -> tuple[str, str]:
    """Return the verdict, ``complete`` or ``error`` with its code, and what is wrong; empty if nothing is."""
    if outcome.error:
        return outcome.error, outcome.error
    if outcome.seconds > deadline_s:
        return "late", f"{outcome.seconds:.1f} s, deadline {deadline_s:.1f} s"
    try:
        read = _read(case, outcome)
    except (AssertionError, ValueError, KeyError, TypeError, IndexError) as exc:
        return "malformed", f"{type(exc).__name__}: {exc} in {outcome.raw[-300:]!r}"
    calls = [("look_up", json.loads(arguments)) for _, arguments in CALLS] if case.kind == "calls" else []
    if read.code is not None:
        is_part = ANSWER.startswith(read.text)
        problem = "" if is_part else f"text before the error is no prefix: {read.text[-80:]!r}"
        if outcome.status == 200 and outcome.content_type.startswith("application/json"):
            problem = "an error with status 200"
        if case.must_be_complete:
            problem = problem or f"an error although a server answers: {outcome.raw[-400:]!r}"
        return f"error {read.code}", problem
    try:
        found = [(name, json.loads(arguments)) for name, arguments in read.calls]
    except ValueError:
        return "complete", f"damaged arguments passed as a success: {read.calls}"
    if found != calls or len(set(read.ids)) != len(read.ids):
        return "complete", f"tool calls {read.calls} {read.ids}"
    if not calls and read.text != ANSWER:
        if case.fault == "dripping" or (
            read.finish in ("length", "max_tokens", "incomplete") and ANSWER.startswith(read.text) and read.text
        ):
            return "partial, length", "" if not case.must_be_complete else "a part passed although a server answers"
        return (
            "complete",
            f"other text ({len(read.text)} of {len(ANSWER)} characters): {read.text[-60:]!r}, {read.finish}",
        )
    wanted = {
        "chat": "tool_calls" if calls else "stop",
        "messages": "tool_use" if calls else "end_turn",
        "responses": "completed",
    }
    if read.finish != wanted[case.dialect]:
        return "complete", f"finish reason {read.finish!r}"
    return "complete", ""


def _read(case: Case, outcome: Outcome) -> Read:
    if not outcome.content_type.startswith("text/event-stream"):
        assert outcome.content_type.startswith("application/json"), f"content type {outcome.content_type!r}"
        body = json.loads(outcome.raw)
        if outcome.status != 200:
            return _error(case.dialect, body)
        assert not case.streams, "a stream was requested"
        return {"chat": _chat, "messages": _message, "responses": _response}[case.dialect](body)
    assert outcome.status == 200
    assert case.streams
    events = [_event(block) for block in outcome.raw.decode().split("\n\n") if block and not block.startswith(":")]
    return {"chat": _chat_events, "messages": _message_events, "responses": _response_events}[case.dialect](events)


def _event(block: str) -> Any:
    lines = dict(line.split(": ", 1) for line in block.split("\n"))
    data = lines["data"]
    if data == "[DONE]":
        return data
    value = json.loads(data)
    assert lines.get("event", value.get("type")) == value.get("type")
    return value


def _error(dialect: str, body: Mapping[str, Any]) -> Read:
    error = body["error"]
    assert all(error[name] for name in ("message", "type", "code")), "an error without facts"
    assert dialect != "messages" or body["type"] == "error"
    return Read("", [], None, error["code"])


def _chat(body: Mapping[str, Any]) -> Read:
    (choice,) = body["choices"]
    message = choice["message"]
    assert choice["finish_reason"] in CHAT_ENDS
    assert body["object"] == "chat.completion"
    calls = message.get("tool_calls") or ()
    pairs = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
    return Read(message["content"] or "", pairs, choice["finish_reason"], None, [call["id"] for call in calls])


def _chat_events(events: Sequence[Any]) -> Read:
    assert events.index("[DONE]") == len(events) - 1, "the stream does not end with [DONE]"
    text, code = "", None
    finish: list[str] = []
    calls: dict[int, list[str]] = {}
    for event in events[:-1]:
        assert code is None, "events after an error"
        if "error" in event:
            code = _error("chat", event).code
            continue
        for choice in event["choices"]:
            delta = choice["delta"]
            assert not finish or not delta, "content after the finish reason"
            text += delta.get("content") or ""
            finish += [choice["finish_reason"]] if choice["finish_reason"] else []
            for call in delta.get("tool_calls") or ():
                if call["index"] not in calls:
                    assert call["index"] == len(calls)
                    assert call["id"]
                    assert call["function"]["name"]
                    calls[call["index"]] = [call["id"], call["function"]["name"], ""]
                else:
                    assert not call.get("id")
                    assert call["index"] == len(calls) - 1
                calls[call["index"]][2] += call["function"]["arguments"]
    assert code or len(finish) == 1, f"finish reasons {finish}"
    assert not finish or finish[0] in CHAT_ENDS
    found = calls.values()
    return Read(
        text, [(name, rest) for _, name, rest in found], next(iter(finish), None), code, [call[0] for call in found]
    )


def _message(body: Mapping[str, Any]) -> Read:
    assert body["stop_reason"] in MESSAGE_ENDS
    assert body["type"] == "message"
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    calls = [block for block in body["content"] if block["type"] == "tool_use"]
    pairs = [(call["name"], json.dumps(call["input"])) for call in calls]
    return Read(text, pairs, body["stop_reason"], None, [call["id"] for call in calls])


def _message_events(events: Sequence[Any]) -> Read:
    text, finish, code, is_open, is_over, count = "", None, None, False, False, 0
    calls: list[list[str]] = []
    for event in events:
        assert code is None, "events after an error"
        assert not is_over, "events after message_stop"
        match event["type"]:
            case "content_block_start":
                assert not is_open
                assert event["index"] == count
                is_open = True
                count += 1
                if (block := event["content_block"])["type"] == "tool_use":
                    calls.append([block["id"], block["name"], ""])
            case "content_block_delta":
                assert is_open
                text += event["delta"].get("text", "")
                if event["delta"]["type"] == "input_json_delta":
                    calls[-1][2] += event["delta"]["partial_json"]
            case "content_block_stop":
                assert is_open
                is_open = False
            case "message_delta":
                assert not is_open
                finish = event["delta"]["stop_reason"]
            case "message_stop":
                is_over = True
            case "error":
                code = _error("messages", event).code
    assert code or (is_over and finish in MESSAGE_ENDS), "the stream ends without message_stop"
    return Read(text, [(name, rest or "{}") for _, name, rest in calls], finish, code, [call[0] for call in calls])


def _response(body: Mapping[str, Any]) -> Read:
    assert body["status"] in RESPONSE_ENDS
    assert body["object"] == "response"
    items = body["output"]
    text = "".join(part.get("text", "") for item in items if item["type"] == "message" for part in item["content"])
    calls = [item for item in items if item["type"] == "function_call"]
    pairs = [(call["name"], call["arguments"]) for call in calls]
    if body["status"] == "failed":
        return Read(text, pairs, None, body["error"]["code"])
    return Read(text, pairs, body["status"], None, [call["call_id"] for call in calls])


def _response_events(events: Sequence[Any]) -> Read:
    assert [event["sequence_number"] for event in events] == list(range(len(events))), "sequence numbers"
    *before, last = events
    assert last["type"] in [f"response.{end}" for end in RESPONSE_ENDS], "the stream ends without a final event"
    text = "".join(event["delta"] for event in before if event["type"] == "response.output_text.delta")
    read = _response(last["response"])
    if read.code is not None:
        assert last["response"]["error"]["message"]
        return read._replace(text=text)
    assert text == read.text, "deltas differ from the final event"
    return read
