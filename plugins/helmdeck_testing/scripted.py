"""A provider that answers from a script and fails on demand, for tests of whatever uses models.

::

    script = scripted_provider(["{...}", Fail("rate_limited"), Reply("half an ans", stop_reason="length")])
    deck = make_deck(script, model="scripted/any")
    ...
    assert len(script.requests) == 3

It needs no pytest, opens no socket, and serves every model name.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from helmdeck_core import (
    EMPTY,
    FAILURES,
    CallFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Disposition,
    FailureClass,
    PluginError,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    ProviderUnavailable,
    StopReason,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
    hookimpl,
)

WORDS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.SAFETY_BLOCKED,
    "tool_calls": StopReason.TOOL_CALL,
}
"""The native words that a script may use whatever plugins there are; others are looked up in the deck's tables."""

CUT_JSON = '{"steps": [{"order": 1, "tool": "blog.'
"""A plan that breaks off in the middle of a word."""

DRAFT = '{"steps": [], "complexity": "single-action", "reasoning": "a draft"}'


@attrs.frozen
class RepliesExhausted(PluginError):
    """A script was asked more often than it has replies. Not a ``CallFailed``, so that no fallback hides it.

    :ivar replies: how many the script has.
    :ivar model: the model that the request too many was for.
    """

    replies: int = 0
    model: str = ""

    def __str__(self) -> str:
        return (
            f"the script of provider {self.plugin!r} has run out: it has {self.replies} replies, and this is request "
            f"{self.replies + 1}, for {self.model!r}; give it one more reply, or find out who asks once more"
        )


@attrs.frozen
class Reply:
    """An answer.

    :ivar stop_reason: the native word, such as ``length``; ``None`` when there is to be none.
    :ivar delay_s: seconds before the answer comes.
    :ivar piece_chars: how many characters a piece of a stream has; reasoning comes first, then the text, then tool calls.
    :ivar piece_delay_s: seconds before each piece; whoever does not stream waits for all of them.
    :ivar breaks_after: pieces after which a stream breaks off with ``ProviderUnavailable``; ``None`` for never.
    """

    text: str = ""
    stop_reason: str | None = "stop"
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    served_model: str = ""
    delay_s: float = 0.0
    quota: Mapping[str, str] = EMPTY
    downgrades: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    disposition: Disposition | None = None
    piece_chars: int = attrs.field(default=16, validator=attrs.validators.ge(1))
    piece_delay_s: float = 0.0
    breaks_after: int | None = None
    request_id: str = ""

    def pieces(self) -> Iterator[ChatDelta]:
        """The answer as a stream gives it."""
        for start in range(0, len(self.reasoning), self.piece_chars):
            yield ChatDelta(reasoning_content=self.reasoning[start : start + self.piece_chars])
        for start in range(0, len(self.text), self.piece_chars):
            yield ChatDelta(text=self.text[start : start + self.piece_chars])
        for index, call in enumerate(self.tool_calls):
            yield ChatDelta(tool_call=ToolCallDelta(index, call.id, call.name, call.arguments))


def _cause(value: str | FailureClass) -> FailureClass:
    try:
        return FailureClass(value)
    except ValueError:
        raise ValueError(f"there is no cause {value!r}; causes: {', '.join(FailureClass)}") from None


@attrs.frozen
class Fail:
    """A failed call, by the name of its cause: any value of ``FailureClass``.

    :raises ValueError: there is no such cause.
    """

    cause: FailureClass = attrs.field(converter=_cause)
    retry_after_s: float | None = None
    status: int | None = None
    detail: str = ""
    sub_cause: str = ""

    def to_exception(self) -> CallFailed:
        """The exception that is raised."""
        return FAILURES[self.cause](
            "the script says so",
            status=self.status,
            retry_after_s=self.retry_after_s,
            sub_cause=self.sub_cause,
            detail=self.detail,
        )


Outcome = str | Reply | Fail | CallFailed
Item = Outcome | Callable[[ChatRequest], Outcome]
"""One entry of a script: a text that ends well, an answer, a failure, or a function of the request that returns one."""


# -- ways in which models let one down ------------------------------------------------------------------------


def empty_stop() -> Reply:
    """Nothing, and the provider calls it a clean end."""
    return Reply("", "stop")


def empty_content_filter() -> Reply:
    """Nothing, because a filter withheld it."""
    return Reply("", "content_filter")


def empty_length() -> Reply:
    """Nothing visible: the whole output limit went into thoughts that are not shown."""
    return Reply("", "length", usage=Usage(output_tokens=1024, reasoning_tokens=1024))


def cut_json(stop_reason: str = "length") -> Callable[[ChatRequest], Reply]:
    """JSON that breaks off at the output limit; with ``stop`` the provider denies it."""
    return lambda request: Reply(CUT_JSON, stop_reason, usage=Usage(output_tokens=request.max_tokens or 1024))


def draft_in_reasoning() -> Reply:
    """No answer, but a draft of one in the reasoning, which must not be taken for the answer."""
    return Reply("", "stop", reasoning=f"I could answer {DRAFT} but first")


def whitespace_loop() -> Reply:
    """Constrained decoding that found no way on and wrote white space until the limit."""
    return Reply("{" + "\n  " * 1000, "length", usage=Usage(output_tokens=2000))


def empty_error() -> Reply:
    """Nothing, and the provider says that its own generation failed."""
    return Reply("", "error", disposition=Disposition.RETRY)


def no_end() -> Reply:
    """A stream that just ends: half an answer, and no word of why."""
    return Reply(CUT_JSON, None)


def endless_thinking(piece_delay_s: float = 0.02) -> Reply:
    """A stream of thoughts that takes a minute and leads nowhere."""
    return Reply(reasoning="hm, " * 12_000, stop_reason="length", piece_delay_s=piece_delay_s)


def too_many_requests(retry_after_s: float = 1.0) -> Fail:
    """HTTP 429 with ``Retry-After``."""
    return Fail(FailureClass.RATE_LIMITED, status=429, retry_after_s=retry_after_s)


def error_in_200() -> CallFailed:
    """An error that came with HTTP 200."""
    return TransientUnknown(
        "the provider answered with an error",
        status=200,
        sub_cause="error_in_200",
        stop_reason=StopReason.UNKNOWN.value,
        detail="upstream error",
    )


# -- the provider ---------------------------------------------------------------------------------------------


class Scripted:
    """A provider that gives its replies in order and keeps the requests.

    :param replies: see ``Item``.
    :param name: what its errors call it.
    :param normalise: looks up the native words that are not in ``WORDS``.
    :ivar requests: what it was asked, in order.
    """

    def __init__(
        self,
        replies: Iterable[Item],
        name: str = "scripted",
        normalise: Callable[[str], StopReason] = lambda _: StopReason.UNKNOWN,
    ) -> None:
        self.requests: list[ChatRequest] = []
        self._replies = tuple(replies)
        self._name = name
        self._normalise = normalise
        # Several loops may ask one script, each in its thread.
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """How many replies have not been asked for."""
        return max(0, len(self._replies) - len(self.requests))

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Give the next reply.

        :raises CallFailed: the script says so.
        :raises RepliesExhausted: there is no reply left.
        """
        reply = self._reply(request)
        if delay_s := reply.delay_s + reply.piece_delay_s * sum(1 for _ in reply.pieces()):
            await asyncio.sleep(delay_s)
        return self._response(request, reply)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Give the next reply in pieces.

        :raises CallFailed: the script says so, or that the stream breaks.
        :raises RepliesExhausted: there is no reply left.
        """
        reply = self._reply(request)
        await asyncio.sleep(reply.delay_s)
        for number, piece in enumerate(reply.pieces()):
            if number == reply.breaks_after:
                raise ProviderUnavailable("the stream broke off", detail="the script says so")
            await asyncio.sleep(reply.piece_delay_s)
            yield piece
        yield self._response(request, reply)

    def _reply(self, request: ChatRequest) -> Reply:
        outcome = self._next(request)
        if isinstance(outcome, str):
            outcome = Reply(outcome)
        if isinstance(outcome, Fail):
            raise outcome.to_exception()
        if isinstance(outcome, CallFailed):
            # A copy: an exception that is raised twice would carry the traceback of the first time.
            raise attrs.evolve(outcome)
        if not isinstance(outcome, Reply):
            raise TypeError(f"a reply of the script is a {type(outcome).__name__}; replies are {Outcome}")
        return outcome

    async def aclose(self) -> None:
        """Nothing is open."""

    def _next(self, request: ChatRequest) -> Outcome:
        with self._lock:
            number = len(self.requests)
            if number < len(self._replies):
                self.requests.append(request)
                item = self._replies[number]
            else:
                detail = "the script has run out"
                raise RepliesExhausted(self._name, "complete", detail, replies=number, model=request.model)
        return item(request) if callable(item) else item

    def _response(self, request: ChatRequest, reply: Reply) -> ChatResponse:
        strict = self._stop_reason(reply.stop_reason)
        calls_tools = strict is StopReason.END_TURN and reply.tool_calls
        return ChatResponse(
            text=reply.text,
            stop_reason=StopReason.TOOL_CALL if calls_tools else strict,
            raw_stop_reason=reply.stop_reason,
            strict_stop_reason=strict,
            tool_calls=reply.tool_calls,
            usage=reply.usage,
            reasoning_content=reply.reasoning,
            served_model=reply.served_model or request.model.partition("/")[2],
            quota_metadata=reply.quota,
            downgrades=reply.downgrades,
            unread=reply.unread,
            disposition=reply.disposition,
            request_id=reply.request_id,
        )

    def _stop_reason(self, raw: str | None) -> StopReason:
        if raw is None:
            return StopReason.UNKNOWN
        return WORDS.get(raw.casefold()) or self._normalise(raw)


class ScriptedProvider:
    """A plugin that contributes one scripted provider; the requests of all loops and threads meet in it."""

    def __init__(self, replies: Sequence[Item], name: str) -> None:
        self.name = name
        self._context: ProviderContext | None = None
        self._script = Scripted(replies, name, self._look_up)

    @property
    def requests(self) -> list[ChatRequest]:
        """What it was asked, in order."""
        return self._script.requests

    @property
    def left(self) -> int:
        """How many replies have not been asked for."""
        return self._script.left

    @hookimpl
    def helmdeck_providers(self) -> Sequence[ProviderSpec]:
        """The scripted provider."""
        return [ProviderSpec(name=self.name, open=self._open, summary="answers from a script")]

    def _open(self, _: ProviderSettings, context: ProviderContext) -> Provider:
        self._context = context
        return self._script

    def _look_up(self, raw: str) -> StopReason:
        return self._context.normalise_stop(raw, "") if self._context else StopReason.UNKNOWN


def scripted_provider(replies: Iterable[Item], name: str = "scripted") -> ScriptedProvider:
    """Return a plugin whose provider ``name`` gives these replies, to any model name."""
    return ScriptedProvider(tuple(replies), name)
