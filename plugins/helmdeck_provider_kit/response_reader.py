"""What adapters have in common when they read: an answer that grows event by event.

An answer in one piece is read as a stream of one event, so that both ways come to the same response.
"""

from __future__ import annotations

import abc
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
import msgspec

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatResponse,
    Disposition,
    ProviderUnavailable,
    StopReason,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
)
from helmdeck_core.redaction import MAX_EXCERPT_CHARS, Secrets, echoed, quoted
from helmdeck_provider_kit.bodies import NOT_JSON, arguments, decoded, quota
from helmdeck_provider_kit.failures import ErrorFacts, ErrorRules, failure_of, read_error, request_id
from helmdeck_provider_kit.stop_reasons import in_context

END_MARK = b"[DONE]"
"""By default the data of the event that ends a stream: what chat completions use, and gateways for every interface."""


@attrs.frozen(kw_only=True)
class ReaderContext:
    """What an answer is read with.

    :ivar headers: of the answer, names in lower case.
    :ivar normalise: native stop reason to ours.
    :ivar dispose: native stop reason, and what the answer means, to what can be done.
    :ivar max_tokens: the output limit that was asked for; with it, a truncation that calls itself an end is seen.
    :ivar secrets: what must not be quoted from an error.
    :ivar downgrades: what was asked for and left out of the request.
    :ivar constraint: what the answer is held to, for ``ChatResponse.constraint``.
    :ivar words: what the words of the family's errors mean.
    :ivar quota_headers: beginnings of the names of headers that say how much is left.
    :ivar end_mark: the data of the event that ends a stream; empty for none.
    :ivar sent_s: when the request was sent, on ``time.perf_counter``; without it, the response has no latency.
    """

    normalise: Callable[[str | None], StopReason]
    dispose: Callable[[str | None, StopReason], Disposition]
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    max_tokens: int | None = None
    secrets: Secrets = Secrets()
    downgrades: tuple[str, ...] = ()
    constraint: str = ""
    words: ErrorRules = ErrorRules()
    quota_headers: tuple[str, ...] = ()
    end_mark: bytes = END_MARK
    sent_s: float | None = None


_NOT_WELL = (StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN)

_MOST_UNREAD = 20
"""Kinds of content that are told; more than these nobody reads."""


class PartialToolCall:
    """A tool call that may still grow.

    :ivar is_open: whether its end will be told and has not come; a format that tells no ends leaves it.
    """

    def __init__(self, number: int, id: str, name: str) -> None:
        self.number = number
        self.id = id
        self.name = name
        self.pieces: list[str] = []
        self.is_open = False

    @property
    def written(self) -> str:
        """The arguments as far as they have come."""
        return "".join(self.pieces)

    def is_cut(self) -> bool:
        """Whether the arguments break off."""
        try:
            msgspec.json.decode(arguments(self.written))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return True
        return False


class ResponseReader(abc.ABC):
    """An answer as far as it has come; a subclass per wire format says what an event adds to it.

    Fed once with every event, then finished, also when the events just end.

    :ivar goes_on_at: where it can be cancelled, from the base URL on, if it goes on without its reader; else empty.
    :ivar end_mark: the data of the event that ends a stream.
    """

    goes_on_at: str = ""

    def __init__(self, terms: ReaderContext) -> None:
        self._terms = terms
        self.end_mark = terms.end_mark
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[PartialToolCall] = []
        self._raw: str | None = None
        self._model = ""
        self._seed = ""
        """What tells this answer from others, for calls without an id."""
        self._unread: dict[str, None] = {}
        self._refusal = ""
        self._is_refused = False
        self._is_cut = False
        self._is_done = False

    # -- what a wire format defines --------------------------------------------------------------------------------

    @abc.abstractmethod
    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event, decoded; give what it adds.

        :raises CallFailed: the event is an error, or is none of the wire format.
        """

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Take an answer that came in one piece, decoded; by default it is a stream of one event.

        :raises CallFailed: it is an error, or none of the wire format.
        """
        return self.feed(body)

    usual: ClassVar[msgspec.json.Decoder[Any] | None] = None
    """Decodes what nearly all events of a stream are, a piece of text, at a third of what any event costs.

    Its type fits nothing else: it raises for an event that says more.
    """

    def take_usual(self, piece: Any) -> Sequence[ChatDelta] | None:
        """What such an event adds; ``None`` where it has to be read as any other after all."""
        raise NotImplementedError

    def take(self, data: bytes) -> Iterable[ChatDelta]:
        """Take the next event of a stream as it came.

        :raises CallFailed: it is an error, or is not JSON.
        """
        if self.usual is not None:
            try:
                piece = self.usual.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
            else:
                if (found := self.take_usual(piece)) is not None:
                    return found
        word = data.strip()
        if not word:
            return ()
        if word == self.end_mark:
            self.done()
            return ()
        event = decoded(data)
        if event is not NOT_JSON:
            return self.feed(event)
        cause = "cut_body" if data.lstrip()[:1] in (b"{", b"[") else "not_json"
        detail = f"an event of {len(data):,} bytes is damaged"
        raise ProviderUnavailable("the provider's stream is not JSON", status=200, sub_cause=cause, detail=detail)

    def done(self) -> None:
        """Take the mark at the end of a stream, which says that it is complete and not why."""
        self._is_done = True

    @abc.abstractmethod
    def usage(self) -> Usage:
        """The tokens, as far as they are told."""

    def opaque(self) -> Mapping[str, Any]:
        """What has to go back unchanged with this turn."""
        return {}

    def visible(self) -> str:
        """The text without reasoning, by whose shape a truncation is recognised."""
        return "".join(self._text)

    def is_call_cut(self) -> bool:
        """Whether the arguments of a call break off."""
        return any(call.is_cut() for call in self._calls)

    # -- what subclasses use ----------------------------------------------------------------------------------

    def _say(self, text: str) -> tuple[ChatDelta, ...]:
        if not text:
            return ()
        self._text.append(text)
        return (ChatDelta(text),)

    def _think(self, text: str) -> tuple[ChatDelta, ...]:
        if not text:
            return ()
        self._reasoning.append(text)
        return (ChatDelta("", text),)

    def _call(self, id: str, name: str) -> tuple[PartialToolCall, ChatDelta]:
        """Begin a call."""
        call = PartialToolCall(len(self._calls), id, name)
        self._calls.append(call)
        return call, ChatDelta(tool_call=ToolCallDelta(call.number, id=id, name=name))

    def _write(self, call: PartialToolCall, piece: str) -> Iterator[ChatDelta]:
        if piece:
            call.pieces.append(piece)
            yield ChatDelta(tool_call=ToolCallDelta(call.number, arguments=piece))

    def _call_at_once(self, id: str, name: str, given: object) -> Iterator[ChatDelta]:
        """A call that comes whole."""
        written = arguments(given)
        call, delta = self._call(id or self._made_up_id(len(self._calls), name, written), name)
        yield delta
        yield from self._write(call, written)

    def _pass_over(self, kind: object) -> None:
        """Note a kind of content that has no place in a response."""
        if isinstance(kind, str) and kind and len(self._unread) < _MOST_UNREAD:
            self._unread[echoed(kind, self._terms.secrets)] = None

    def _made_up_id(self, number: int, name: str, written: str) -> str:
        """An id for a call that came without one: of nine letters and digits, since that is what everybody takes."""
        seed = f"{self._seed}/{number}/{name}/{written}"
        return hashlib.blake2s(seed.encode("utf-8", "replace")).hexdigest()[:9]

    def _raise_error(self, event: object) -> None:
        """Raise the failure that an event says, if it says one."""
        facts = read_error(event, self._terms.words)
        if facts is not None:
            raise self._failed(facts)

    def _failed(self, facts: ErrorFacts) -> CallFailed:
        """The failure that an error stands for, with what came before it."""
        terms = self._terms
        return self.broken(failure_of(terms.status, terms.headers, facts, words=terms.words, secrets=terms.secrets))

    def broken(self, failure: CallFailed) -> CallFailed:
        """A failure in the middle of the answer, with what came before it: the tokens are paid for all the same."""
        terms, text = self._terms, "".join(self._text)
        return attrs.evolve(
            failure,
            stop_reason=terms.normalise(self._raw).value,
            raw_stop_reason=self._native(),
            raw_length=len(text.encode("utf-8", "surrogatepass")),
            excerpt=failure.excerpt or quoted(text, terms.secrets, MAX_EXCERPT_CHARS),
            usage=self.usage(),
        )

    def _alien(self, event: object, wire_format: str) -> CallFailed:
        """The failure for JSON that is no event of the wire format."""
        detail = f"it is JSON, but a {type(event).__name__} without its fields; is base_url right"
        headline = f"the provider's answer is not one of {wire_format}"
        return TransientUnknown(headline, status=self._terms.status, sub_cause="wrong_shape", detail=detail)

    def _native(self) -> str | None:
        return None if self._raw is None else echoed(self._raw, self._terms.secrets)

    # -- the end ----------------------------------------------------------------------------------------------

    def finish(self) -> ChatResponse:
        """The response that everything comes to; without a stop reason it is ``UNKNOWN``."""
        terms, usage, text = self._terms, self.usage(), "".join(self._text)
        calls = self._finished_calls()
        strict = terms.normalise(self._raw)
        is_at_limit = terms.max_tokens is not None and usage.output_tokens >= terms.max_tokens
        is_cut = self._is_cut or self.is_call_cut()
        meant = in_context(
            strict,
            text=self.visible(),
            tool_calls=calls,
            is_refused=self._is_refused,
            is_at_limit=is_at_limit or is_cut,
        )
        disposition = terms.dispose(self._raw, meant)
        if (
            meant is StopReason.MAX_TOKENS
            and usage.input_tokens
            and not (usage.output_tokens or text or calls or self._reasoning)
        ):
            # Not a token was left for the answer, so the prompt fills the window: a higher limit would not help.
            disposition = Disposition.SHRINK
        return ChatResponse(
            text=text,
            stop_reason=meant,
            raw_stop_reason=self._native(),
            strict_stop_reason=strict,
            disposition=disposition,
            tool_calls=calls,
            usage=usage,
            reasoning_content="".join(self._reasoning),
            refusal=echoed(self._refusal, terms.secrets) if meant in _NOT_WELL else "",
            opaque=self.opaque(),
            served_model=echoed(self._model, terms.secrets),
            quota_metadata=quota(terms.headers, terms.quota_headers, terms.secrets),
            request_id=request_id(terms.headers, terms.secrets),
            downgrades=terms.downgrades,
            unread=tuple(self._unread),
            constraint=terms.constraint,
            latency_s=0.0 if terms.sent_s is None else time.perf_counter() - terms.sent_s,
        )

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """The calls, each with an id of its own, since the result of a call finds it by its id."""
        found: dict[str, ToolCall] = {}
        for call in self._calls:
            # A tool without arguments is called with nothing at all; a call that broke off is not.
            written = call.written if call.is_open and self._raw is None else arguments(call.written)
            call_id = call.id
            while not call_id or call_id in found:
                call_id = self._made_up_id(call.number, call.name, f"{written}/{call_id}")
            found[call_id] = ToolCall(call_id, call.name, written)
        return tuple(found.values())


def table(value: object) -> dict[str, Any]:
    """A field that should hold an object: empty if it holds anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    """A field that should hold a list of objects: those that it holds."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def native_word(value: object) -> str | None:
    """A stop reason as it came: a word, or the number of one."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
