"""Accumulates a response from its events: text, reasoning, tool calls, usage; the base class of the readers of all wire formats.

A response that is not streamed is read as a stream of one event, so that both give the same result.
"""

from __future__ import annotations

import abc
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import (
    EMPTY,
    MAX_EXCERPT_CHARS,
    CallFailed,
    ChatDelta,
    ChatResponse,
    Disposition,
    Secrets,
    StopReason,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
    echoed,
    quoted,
)
from helmdeck_providers.http.bodies import arguments, quota
from helmdeck_providers.http.error_rules import ErrorRules
from helmdeck_providers.http.event_reader import EventReader
from helmdeck_providers.http.failures import ErrorFacts, failure_of, read_error, request_id
from helmdeck_providers.http.partial_tool_call import PartialToolCall
from helmdeck_providers.http.stop_reason_context import in_context

END_MARK = b"[DONE]"
"""Default data of the event that ends a stream, as in chat completions; gateways send it in every wire format."""


@attrs.frozen(kw_only=True)
class ReaderContext:
    """The context in which a response is read.

    :ivar headers: response headers, names in lower case.
    :ivar normalise: maps a native stop reason to a ``StopReason``.
    :ivar dispose: maps a native stop reason and its ``StopReason`` to a ``Disposition``.
    :ivar max_tokens: output limit of the request; used to detect truncation that is reported as a clean end.
    :ivar secrets: redacted in every quotation.
    :ivar downgrades: parts of the request that were not sent.
    :ivar constraint: value of ``ChatResponse.constraint``.
    :ivar error_rules: map error responses to failure classes.
    :ivar quota_headers: name prefixes of headers with the remaining quota.
    :ivar end_mark: data of the event that ends a stream; empty for none.
    :ivar sent_s: ``time.perf_counter`` when the request was sent; without it the response has no latency.
    """

    normalise: Callable[[str | None], StopReason]
    dispose: Callable[[str | None, StopReason], Disposition]
    status: int = 200
    headers: Mapping[str, str] = EMPTY
    max_tokens: int | None = None
    secrets: Secrets = Secrets()
    downgrades: tuple[str, ...] = ()
    constraint: str = ""
    error_rules: ErrorRules = ErrorRules()
    quota_headers: tuple[str, ...] = ()
    end_mark: bytes = END_MARK
    sent_s: float | None = None


_REFUSAL_REASONS = (StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN)

_MAX_CHARS = 2_000_000
"""Maximum characters of text, reasoning and arguments together; no model writes half of that in one response."""
_MAX_DELTA_CHARS = 16_384
_MAX_CALLS = 1_000
"""Maximum number of tool calls of a response."""
_MAX_UNREAD = 20
"""Maximum number of reported content kinds."""


class ResponseReader(EventReader):
    """Accumulates one response; each wire format has a subclass.

    ``feed`` is called once per event, then ``finish``, also if the stream was interrupted.

    :ivar cancel_path: path of a background response that must be cancelled if reading stops, relative to the base URL;
        else empty.
    :ivar is_divided: whether a text that arrived at once was divided into several deltas.
    """

    cancel_path: str = ""

    def __init__(self, context: ReaderContext) -> None:
        super().__init__(context.end_mark)
        self._context = context
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[PartialToolCall] = []
        self._raw: str | None = None
        self._model = ""
        self._seed = ""
        """Unique per response; used to generate ids of tool calls."""
        self._unread: dict[str, None] = {}
        self._refusal = ""
        self._is_refused = False
        self._is_truncated = False
        self._chars_left = _MAX_CHARS
        self.is_divided: bool = False

    # -- defined by subclasses -----------------------------------------------------------------------------------

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read the decoded body of a response that is not streamed; by default it is a single event.

        :raises CallFailed: it is an error, or does not belong to the wire format.
        """
        return self.feed(body)

    @property
    def may_be_done(self) -> bool:
        """Whether silence from here on means that the stream is complete; for a wire format without an end mark."""
        return False

    @property
    def has_stop_reason(self) -> bool:
        """Whether the stop reason arrived."""
        return bool(self._raw)

    @abc.abstractmethod
    def usage(self) -> Usage:
        """Return the token usage reported so far."""

    def opaque(self) -> Mapping[str, Any]:
        """Return the data to send back unchanged with this turn."""
        return EMPTY

    def visible(self) -> str:
        """Return the text without reasoning; its shape shows whether it is truncated."""
        return "".join(self._text)

    def has_truncated_call(self) -> bool:
        """Whether the arguments of any call are incomplete."""
        return any(call.is_truncated() for call in self._calls)

    def has_ended(self) -> bool:
        """Whether a stream without a stop reason came to its end."""
        return self.is_done

    # -- helpers for subclasses -------------------------------------------------------------------------------

    def _add_text(self, text: str) -> tuple[ChatDelta, ...]:
        if not text:
            return ()
        self._text.append(text)
        self._count(len(text))
        return (ChatDelta(text),) if len(text) <= _MAX_DELTA_CHARS else self._divided(text)

    def _add_reasoning(self, text: str) -> tuple[ChatDelta, ...]:
        if not text:
            return ()
        self._reasoning.append(text)
        self._count(len(text))
        if len(text) <= _MAX_DELTA_CHARS:
            return (ChatDelta("", text),)
        return tuple(ChatDelta("", each.text) for each in self._divided(text))

    def _add_texts(self, texts: Sequence[str], *, is_reasoning: bool = False) -> list[ChatDelta] | None:
        """Add several texts, none of them empty; return ``None`` if they must be added one by one."""
        chars = sum(map(len, texts))
        if chars > self._chars_left or max(map(len, texts)) > _MAX_DELTA_CHARS:
            return None
        self._chars_left -= chars
        if is_reasoning:
            self._reasoning += texts
            return [ChatDelta("", text) for text in texts]
        self._text += texts
        return list(map(ChatDelta, texts))

    def _divided(self, text: str) -> tuple[ChatDelta, ...]:
        """Divide a text that arrived at once, so that its readers do not block the event loop."""
        self.is_divided = True
        return tuple(
            ChatDelta(text[start : start + _MAX_DELTA_CHARS]) for start in range(0, len(text), _MAX_DELTA_CHARS)
        )

    def _count(self, chars: int) -> None:
        """Count characters of the response.

        :raises CallFailed: there are too many.
        """
        self._chars_left -= chars
        if self._chars_left < 0:
            raise self._too_large(f"{_MAX_CHARS:,} characters")

    def _too_large(self, limit: str) -> CallFailed:
        headline, detail = "the provider's answer is too large", f"it has more than {limit}"
        return TransientUnknown(headline, status=self._context.status, sub_cause="too_large", detail=detail)

    def _start_call(self, id: str, name: str) -> tuple[PartialToolCall, ChatDelta]:
        """Start a tool call.

        :raises CallFailed: there are too many.
        """
        if len(self._calls) >= _MAX_CALLS:
            raise self._too_large(f"{_MAX_CALLS:,} tool calls")
        call = PartialToolCall(len(self._calls), id, name)
        self._calls.append(call)
        return call, ChatDelta(tool_call=ToolCallDelta(call.number, id=id, name=name))

    def _add_arguments(self, call: PartialToolCall, chunk: str) -> Iterator[ChatDelta]:
        if chunk:
            self._count(len(chunk))
            call.chunks.append(chunk)
            yield ChatDelta(tool_call=ToolCallDelta(call.number, arguments=chunk))

    def _note_lost_arguments(self, written: object) -> None:
        """Record arguments of an unknown call: the response counts as truncated, since a known call may lack them."""
        self._is_truncated = self._is_truncated or bool(written.strip() if isinstance(written, str) else written)

    def _add_call(self, id: str, name: str, value: object) -> Iterator[ChatDelta]:
        """Add a complete tool call; its arguments are an object or JSON."""
        text = arguments(value)
        call, delta = self._start_call(id or self._generate_id(len(self._calls), name, text), name)
        yield delta
        yield from self._add_arguments(call, text)

    def _note_unread(self, kind: object) -> None:
        """Record a kind of content that ``ChatResponse`` cannot represent."""
        if isinstance(kind, str) and kind and len(self._unread) < _MAX_UNREAD:
            self._unread[echoed(kind, self._context.secrets)] = None

    def _generate_id(self, number: int, name: str, text: str) -> str:
        """Generate an id for a tool call without one: nine letters and digits, which every provider accepts."""
        seed = f"{self._seed}/{number}/{name}/{text}"
        return hashlib.blake2s(seed.encode("utf-8", "replace")).hexdigest()[:9]

    def _raise_error(self, event: object) -> None:
        """Raise the failure if the event contains an error."""
        facts = read_error(event, self._context.error_rules)
        if facts is not None:
            raise self._make_failure(facts)

    def _make_failure(self, facts: ErrorFacts) -> CallFailed:
        """Convert an error to a failure with the partial response."""
        context = self._context
        return self.with_partial_response(
            failure_of(context.status, context.headers, facts, rules=context.error_rules, secrets=context.secrets)
        )

    def with_partial_response(self, failure: CallFailed) -> CallFailed:
        """Add the partial response to a failure, since its tokens are billed."""
        context, text = self._context, "".join(self._text)
        return attrs.evolve(
            failure,
            stop_reason=context.normalise(self._raw).value,
            raw_stop_reason=self._native(),
            raw_length=len(text.encode("utf-8", "surrogatepass")),
            excerpt=failure.excerpt or quoted(text, context.secrets, MAX_EXCERPT_CHARS),
            usage=self.usage(),
        )

    def _wrong_format(self, event: object, wire_format: str) -> CallFailed:
        """Return the failure for JSON that does not belong to the wire format."""
        detail = f"it is JSON, but a {type(event).__name__} without the expected fields; check base_url"
        headline = f"the provider's answer is not one of {wire_format}"
        return TransientUnknown(headline, status=self._context.status, sub_cause="wrong_shape", detail=detail)

    def _native(self) -> str | None:
        return None if self._raw is None else echoed(self._raw, self._context.secrets)

    # -- the end ----------------------------------------------------------------------------------------------

    def finish(self) -> ChatResponse:
        """Return the complete response; without a stop reason it is ``UNKNOWN``."""
        context, usage, text = self._context, self.usage(), "".join(self._text)
        calls = self._finished_calls()
        strict = context.normalise(self._raw)
        is_at_limit = context.max_tokens is not None and usage.output_tokens >= context.max_tokens
        is_truncated = self._is_truncated or self.has_truncated_call()
        reason = in_context(
            strict,
            text=self.visible(),
            tool_calls=calls,
            is_refused=self._is_refused,
            is_at_limit=is_at_limit,
            is_truncated=is_truncated,
        )
        disposition = context.dispose(self._raw, reason)
        if (
            reason is StopReason.MAX_TOKENS
            and usage.input_tokens
            and not (usage.output_tokens or text or calls or self._reasoning)
        ):
            # No output token was left, so the prompt fills the window: a higher limit would not help.
            disposition = Disposition.SHRINK
        return ChatResponse(
            text=text,
            stop_reason=reason,
            raw_stop_reason=self._native(),
            strict_stop_reason=strict,
            disposition=disposition,
            tool_calls=calls,
            usage=usage,
            reasoning_content="".join(self._reasoning),
            refusal=echoed(self._refusal, context.secrets) if reason in _REFUSAL_REASONS else "",
            opaque=self.opaque(),
            served_model=echoed(self._model, context.secrets),
            quota_metadata=quota(context.headers, context.quota_headers, context.secrets),
            request_id=request_id(context.headers, context.secrets),
            downgrades=context.downgrades,
            unread=tuple(self._unread),
            constraint=context.constraint,
            latency_s=0.0 if context.sent_s is None else time.perf_counter() - context.sent_s,
        )

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls with unique ids, since results refer to calls by id."""
        calls: dict[str, ToolCall] = {}
        for call in self._calls:
            # Empty arguments mean a tool without arguments, unless the call is truncated.
            text = call.arguments if call.is_open and self._raw is None else arguments(call.arguments)
            call_id = call.id
            while not call_id or call_id in calls:
                call_id = self._generate_id(call.number, call.name, f"{text}/{call_id}")
            calls[call_id] = ToolCall(call_id, call.name, text)
        return tuple(calls.values())
