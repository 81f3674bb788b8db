"""Reads an answer of Cohere's chat, in one piece or in events, by one reader.

A message that ends with an error is a failure, also after an HTTP 200; an unknown reason never is, and is never taken for
a clean end either. What the model plans to do with its tools (``tool_plan``) is no reasoning and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import attrs
import msgspec

from helmdeck_core import (
    CallFailed,
    Cancelled,
    ChatDelta,
    ChatResponse,
    ModelInfo,
    QuotaExhausted,
    SafetyFiltered,
    StopReason,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
)
from helmdeck_core.http import (
    MAX_EXCERPT_CHARS,
    NOT_JSON,
    Cause,
    ErrorFacts,
    ErrorWords,
    Secrets,
    count,
    decoded,
    echoed,
    failure_of,
    in_context,
    plain_text,
    quota,
    quoted,
    read_error,
    request_id,
    string,
)

DIALECT = "cohere-v2"

REASONS: Mapping[str, StopReason] = {
    "complete": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_call": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
}
"""The dialect. ``ERROR`` and ``TIMEOUT`` are left out on purpose: the turn is not complete."""

WORDS = ErrorWords(
    marks=(("calls / month", Cause(QuotaExhausted)),),  # a trial key comes to its end as a 429
    context_marks=("too many tokens", "too_many_tokens", "maximum context length"),
    form_marks=("response_format", "json_schema", "json schema"),
    statuses={
        498: Cause(SafetyFiltered),  # a text that is on a list of refused ones
        499: Cause(Cancelled),
    },
)

_QUOTA_HEADERS = ("x-trial-endpoint-call-", "x-ratelimit-", "x-endpoint-monthly-call-", "x-api-warning", "retry-after")

Normalise = Callable[[str | None], StopReason]


def look_up(raw: str | None) -> StopReason:
    """Look a native word up in the dialect."""
    return REASONS.get((raw or "").casefold(), StopReason.UNKNOWN)


@attrs.define
class _Call:
    """A tool call as it comes together."""

    index: int
    id: str
    name: str
    arguments: list[str] = attrs.Factory(list)
    is_closed: bool = False

    def finished(self) -> ToolCall:
        text = "".join(self.arguments)
        # A tool without arguments is called with nothing at all; a call that broke off is not.
        return ToolCall(self.id, self.name, "{}" if self.is_closed and text.strip() in ("", "null") else text)


class _Content(msgspec.Struct, gc=False):
    text: str = ""
    thinking: str = ""


class _Message(msgspec.Struct, gc=False):
    content: _Content


class _Delta(msgspec.Struct, gc=False):
    message: _Message


class _Piece(msgspec.Struct, gc=False):
    """A piece of text or reasoning, as nearly all events of a stream are."""

    type: Literal["content-delta"]
    delta: _Delta
    error: None = None
    object: None = None


_read_piece = msgspec.json.Decoder(_Piece).decode


class AnswerReader:
    """Adds events up to a response.

    :param headers: of the answer, names in lower case.
    :param normalise: native stop reason to ours.
    :param max_tokens: the output limit that was asked for; with it, a truncation that calls itself an end is seen.
    :param secrets: what must not be quoted.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        normalise: Normalise = look_up,
        *,
        max_tokens: int | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._headers = headers
        self._normalise = normalise
        self._max_tokens = max_tokens
        self._secrets = Secrets.of(secrets)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._open_calls: dict[object, _Call] = {}
        self._raw: str | None = None
        self._usage = Usage()

    def read(self, data: object) -> Iterator[ChatDelta]:
        """Take an answer in one piece; give what it would have been in several.

        :raises CallFailed: it is an error, or no answer at all.
        """
        if (facts := read_error(data)) is not None:
            raise self._failed(facts)
        body = _table(data)
        message = body.get("message")
        if not isinstance(message, dict):
            raise TransientUnknown("the provider's answer is not a chat message", status=200, sub_cause="wrong_shape")
        content, calls = message.get("content"), message.get("tool_calls")
        for block in content if isinstance(content, list) else [{"text": content}]:
            if (delta := self._content(_table(block))) is not None:
                yield delta
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if (delta := self._start(index, _table(call))) is not None:
                yield delta
            self._end(index)
        self._finish(body)

    def feed(self, payload: bytes) -> ChatDelta | None:
        """Take the data of the next event; return what it adds to the answer, if anything.

        :raises CallFailed: it says that something failed, or is damaged.
        """
        try:
            content = _read_piece(payload).delta.message.content
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # it says more
        else:
            return self._said(content.text, content.thinking)
        if payload.strip() in (b"", b"[DONE]"):
            return None
        data = decoded(payload)
        if data is NOT_JSON:
            detail = quoted(plain_text(payload, self._secrets), self._secrets, 120)
            damage = TransientUnknown(
                "the provider's stream is damaged", status=200, sub_cause="damaged_event", detail=f"it says {detail!r}"
            )
            raise self._broken(damage)
        if (facts := read_error(data)) is not None:
            raise self._failed(facts)
        event = _table(data)
        delta, index = _table(event.get("delta")), event.get("index")
        message = _table(delta.get("message"))
        match event.get("type"):
            case "content-start" | "content-delta":
                return self._content(_table(message.get("content")))
            case "tool-call-start":
                return self._start(index, _table(message.get("tool_calls")))
            case "tool-call-delta":
                return self._more(index, _table(message.get("tool_calls")))
            case "tool-call-end":
                self._end(index)
            case "message-end":
                self._finish(delta)
        return None

    def response(self) -> ChatResponse:
        """What came so far; without a stop reason the turn is not known to be complete."""
        text, calls = "".join(self._text), tuple(call.finished() for call in self._calls)
        strict = self._strict()
        is_at_limit = self._max_tokens is not None and self._usage.output_tokens >= self._max_tokens
        return ChatResponse(
            text=text,
            reasoning="".join(self._reasoning),
            tool_calls=calls,
            stop_reason=in_context(strict, text=text, tool_calls=calls, is_at_limit=is_at_limit),
            strict_stop_reason=strict,
            raw_stop_reason=self._raw and echoed(self._raw, self._secrets),
            usage=self._usage,
            quota=quota(self._headers, _QUOTA_HEADERS, self._secrets),
            request_id=request_id(self._headers, self._secrets),
        )

    def _content(self, block: Mapping[str, Any]) -> ChatDelta | None:
        return self._said(string(block.get("text")), string(block.get("thinking")))

    def _said(self, text: str, reasoning: str) -> ChatDelta | None:
        if reasoning:
            self._reasoning.append(reasoning)
        if text:
            self._text.append(text)
        return ChatDelta(text=text, reasoning=reasoning) if text or reasoning else None

    def _start(self, index: object, call: Mapping[str, Any]) -> ChatDelta | None:
        function = _table(call.get("function"))
        if not (name := string(function.get("name"))):
            return None
        started = _Call(len(self._calls), string(call.get("id")), name)
        self._calls.append(started)
        self._open_calls[repr(index)] = started
        piece = string(function.get("arguments"))
        started.arguments.append(piece)
        return ChatDelta(tool_call=ToolCallDelta(started.index, started.id, name, piece))

    def _more(self, index: object, call: Mapping[str, Any]) -> ChatDelta | None:
        started = self._open_calls.get(repr(index))
        piece = string(_table(call.get("function")).get("arguments"))
        if started is None or not piece:
            return None
        started.arguments.append(piece)
        return ChatDelta(tool_call=ToolCallDelta(started.index, arguments=piece))

    def _end(self, index: object) -> None:
        if call := self._open_calls.pop(repr(index), None):
            call.is_closed = True

    def _finish(self, end: Mapping[str, Any]) -> None:
        self._raw = string(end.get("finish_reason")) or None
        self._usage = _usage(_table(end.get("usage")))
        if facts := read_error(end):
            raise self._failed(facts)

    def _strict(self) -> StopReason:
        return self._normalise(self._raw) if self._raw else StopReason.UNKNOWN

    def _failed(self, facts: ErrorFacts) -> CallFailed:
        return self._broken(failure_of(200, self._headers, facts, words=WORDS, secrets=self._secrets))

    def _broken(self, failure: CallFailed) -> CallFailed:
        """Add to a failure what had come before it."""
        text = "".join(self._text)
        return attrs.evolve(
            failure,
            stop_reason=self._strict().value,
            raw_stop_reason=self._raw and echoed(self._raw, self._secrets),
            raw_length=len(text.encode("utf-8", "replace")),
            excerpt=quoted(text, self._secrets, MAX_EXCERPT_CHARS),
        )


def read_models(data: object) -> tuple[list[ModelInfo], str]:
    """The models of one page, and the token of the next one."""
    page = _table(data)
    listed = page.get("models")
    rows = [_table(row) for row in listed] if isinstance(listed, list) else []
    found = [
        ModelInfo(id=name, input_tokens=count(row, "context_length") or None)
        for row in rows
        if (name := string(row.get("name")))
    ]
    return found, string(page.get("next_page_token"))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _usage(usage: Mapping[str, Any]) -> Usage:
    # What is billed is another count, without the tokens of the template.
    tokens = _table(usage.get("tokens"))
    return Usage(
        input_tokens=count(tokens, "input_tokens"),
        output_tokens=count(tokens, "output_tokens"),
        cached_input_tokens=count(usage, "cached_tokens"),
        reasoning_tokens=count(tokens, "reasoning_tokens"),
    )
