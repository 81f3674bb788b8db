"""Reads responses event by event; shared by all wire formats.

A response that is not streamed is read as a stream of one event, so that both give the same result.
"""

from __future__ import annotations

import abc
import hashlib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
import msgspec

from helmdeck_core import (
    EMPTY,
    MAX_EXCERPT_CHARS,
    CallFailed,
    ChatDelta,
    ChatResponse,
    Disposition,
    ProviderUnavailable,
    Secrets,
    StopReason,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
    echoed,
    quoted,
)
from helmdeck_providers.http.bodies import NOT_JSON, arguments, decode_json, quota
from helmdeck_providers.http.error_rules import ErrorRules
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
    headers: Mapping[str, str] = MappingProxyType({})
    max_tokens: int | None = None
    secrets: Secrets = Secrets()
    downgrades: tuple[str, ...] = ()
    constraint: str = ""
    error_rules: ErrorRules = ErrorRules()
    quota_headers: tuple[str, ...] = ()
    end_mark: bytes = END_MARK
    sent_s: float | None = None


_HIGH_SURROGATE = re.compile(rb"(?i)(?<!\\)(?:\\\\)*+(\\ud[89ab][0-9a-f]{2})\"(?!\s*:)")
_LOW_SURROGATE = re.compile(rb"(?i)(?<!\\)\"(\\ud[c-f][0-9a-f]{2})")
"""Halves of a character outside the basic plane: the first at the end of a value, and the second at the start of one.

An escaped backslash before the first half makes it text, such as that of JSON in the arguments of a tool call.
"""

_MAX_DELTA_BYTES = 65_536

_REFUSAL_REASONS = (StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN)

_MAX_CHARS = 2_000_000
"""Maximum characters of text, reasoning and arguments together; no model writes half of that in one response."""
_MAX_DELTA_CHARS = 16_384
_MAX_CALLS = 1_000
"""Maximum number of tool calls of a response."""
_MAX_UNREAD = 20
"""Maximum number of reported content kinds."""


class ResponseReader(abc.ABC):
    """Accumulates one response; each wire format has a subclass.

    ``feed`` is called once per event, then ``finish``, also if the stream was interrupted.

    :ivar cancel_path: path of a background response that must be cancelled if reading stops, relative to the base URL;
        else empty.
    :ivar end_mark: data of the event that ends a stream.
    :ivar is_done: whether the end mark of the stream was read; nothing after it is.
    :ivar is_divided: whether a text that arrived at once was divided into several deltas.
    """

    cancel_path: str = ""

    def __init__(self, context: ReaderContext) -> None:
        self._context = context
        self.end_mark = context.end_mark
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[PartialToolCall] = []
        self._raw: str | None = None
        self._model = ""
        self._seed = ""
        """Unique per response; used to generate ids of tool calls."""
        self._unread: dict[str, None] = {}
        self._high = b""
        self._refusal = ""
        self._is_refused = False
        self._is_truncated = False
        self._chars_left = _MAX_CHARS
        self.is_done = False
        self.is_divided = False

    # -- defined by subclasses -----------------------------------------------------------------------------------

    @abc.abstractmethod
    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read the next decoded event and yield the deltas it adds.

        :raises CallFailed: the event is an error, or does not belong to the wire format.
        """

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read the decoded body of a response that is not streamed; by default it is a single event.

        :raises CallFailed: it is an error, or does not belong to the wire format.
        """
        return self.feed(body)

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = None
    """Decodes the most frequent event, a text delta, at a third of the usual cost.

    The type must be strict: decoding must fail for every other event.
    """

    _list_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = None

    def __init_subclass__(cls) -> None:
        if cls.fast_decoder is not None:
            cls._list_decoder = msgspec.json.Decoder(list[cls.fast_decoder.type])  # type: ignore[name-defined]

    def feed_fast(self, chunk: Any) -> Sequence[ChatDelta] | None:
        """Read an event decoded by ``fast_decoder``; return ``None`` if ``feed`` must read it instead."""
        raise NotImplementedError

    def feed_fast_all(self, chunks: Sequence[Any]) -> Sequence[ChatDelta] | None:  # noqa: ARG002
        """Read several events decoded by ``fast_decoder``; return ``None`` if they must be read one by one."""
        return None

    def take_all(self, events: Sequence[bytes]) -> Iterable[ChatDelta]:
        """Read the data of the next events of a stream; usually all are text deltas, which are decoded together.

        :raises CallFailed: one is an error, or not JSON.
        """
        if self._list_decoder is not None and len(events) > 1:
            try:
                chunks = self._list_decoder.decode(b"[" + b",".join(events) + b"]")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
            else:
                if len(chunks) == len(events):
                    deltas = self.feed_fast_all(chunks)
                    return self._decoded(events, chunks) if deltas is None else deltas
        return self._one_by_one(events)

    def _decoded(self, events: Sequence[bytes], chunks: Sequence[Any]) -> Iterable[ChatDelta]:
        deltas: list[ChatDelta] = []
        try:
            for number, chunk in enumerate(chunks):
                if (added := self.feed_fast(chunk)) is None:
                    return itertools.chain(deltas, self._one_by_one(events[number:]))
                deltas += added
        except CallFailed as exc:
            return _then_fail(deltas, exc)
        return deltas

    def _one_by_one(self, events: Sequence[bytes]) -> Iterator[ChatDelta]:
        for data in events:
            if self.is_done:
                return
            if data:
                yield from self.take(data)

    def take(self, data: bytes) -> Iterable[ChatDelta]:
        """Read the data of the next stream event.

        :raises CallFailed: it is an error, or not JSON.
        """
        if self.fast_decoder is not None:
            try:
                chunk = self.fast_decoder.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
            else:
                if (deltas := self.feed_fast(chunk)) is not None:
                    return deltas
        stripped = data.strip()
        if not stripped:
            return ()
        if stripped == self.end_mark:
            self.done()
            return ()
        event = decode_json(self._with_split_pair(data))
        if event is not NOT_JSON:
            return self.feed(event)
        cause = "cut_body" if data.lstrip()[:1] in (b"{", b"[") else "not_json"
        detail = f"an event of {len(data):,} bytes is damaged"
        raise ProviderUnavailable("the provider's stream is not JSON", status=200, sub_cause=cause, detail=detail)

    def _with_split_pair(self, data: bytes) -> bytes:
        """Move the first half of a character at the end of a string to the string of the next event, where the other is."""
        if self._high and len(data) <= _MAX_DELTA_BYTES:
            data = _LOW_SURROGATE.sub(lambda match: b'"%b%b' % (self._high, match[1]), data, count=1)
            self._high = b""
        if len(data) <= _MAX_DELTA_BYTES and (match := _HIGH_SURROGATE.search(data)):
            self._high = match[1]
            data = data[: match.start(1)] + data[match.end(1) :]
        return data

    def done(self) -> None:
        """Handle the end mark of a stream: the response is complete, also without a stop reason."""
        self.is_done = True

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
            is_at_limit=is_at_limit or is_truncated,
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


def _then_fail(deltas: Iterable[ChatDelta], failure: CallFailed) -> Iterator[ChatDelta]:
    yield from deltas
    raise failure
