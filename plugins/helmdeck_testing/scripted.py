"""A provider with scripted replies and failures, for tests of code that calls models.

::

    script = scripted_provider(["{...}", Fail("rate_limited"), Reply("half an ans", stop_reason="length")])
    deck = make_deck(script, model="scripted/any")
    ...
    assert len(script.requests) == 3

It works without pytest, opens no socket, and serves every model name.
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

NATIVE_REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.SAFETY_BLOCKED,
    "tool_calls": StopReason.TOOL_CALL,
}
"""Native stop reasons that work with any plugins; others are looked up in the deck's tables."""

CUT_JSON = '{"steps": [{"order": 1, "tool": "blog.'
"""A truncated plan."""

DRAFT = '{"steps": [], "complexity": "single-action", "reasoning": "a draft"}'


@attrs.frozen
class RepliesExhausted(PluginError):
    """More requests than replies. Not a ``CallFailed``, so that no fallback hides it.

    :ivar replies: number of replies of the script.
    :ivar model: model of the unexpected request.
    """

    replies: int = 0
    model: str = ""

    def __str__(self) -> str:
        return (
            f"the script of provider {self.plugin!r} has {self.replies} replies, but request {self.replies + 1}, for "
            f"{self.model!r}, needs another one; add a reply, or remove the extra request"
        )


@attrs.frozen
class Reply:
    """A scripted response.

    :ivar stop_reason: native stop reason, such as ``length``; ``None`` for a missing one.
    :ivar delay_s: delay of the response in seconds.
    :ivar piece_chars: size of a stream chunk in characters; reasoning comes first, then text, then tool calls.
    :ivar piece_delay_s: delay of each chunk in seconds; a whole response has the sum of all delays.
    :ivar breaks_after: number of chunks before a stream fails with ``ProviderUnavailable``; ``None`` for never.
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
        """Yield the response in stream chunks."""
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
        raise ValueError(f"unknown cause {value!r}; causes: {', '.join(FailureClass)}") from None


@attrs.frozen
class Fail:
    """A failed call, by the name of its cause: any value of ``FailureClass``.

    :raises ValueError: unknown cause.
    """

    cause: FailureClass = attrs.field(converter=_cause)
    retry_after_s: float | None = None
    status: int | None = None
    detail: str = ""
    sub_cause: str = ""

    def to_exception(self) -> CallFailed:
        """Return the exception to raise."""
        return FAILURES[self.cause](
            "scripted failure",
            status=self.status,
            retry_after_s=self.retry_after_s,
            sub_cause=self.sub_cause,
            detail=self.detail,
        )


Outcome = str | Reply | Fail | CallFailed
Item = Outcome | Callable[[ChatRequest], Outcome]
"""An entry of a script: a complete text, a reply, a failure, or a function of the request that returns one of them."""


# -- failure modes of models ----------------------------------------------------------------------------------


def empty_stop() -> Reply:
    """An empty response with a clean stop reason."""
    return Reply("", "stop")


def empty_content_filter() -> Reply:
    """An empty response from a content filter.

    >>> from helmdeck_testing import empty_content_filter
    >>> reply = empty_content_filter()
    >>> reply.text, reply.stop_reason
    ('', 'content_filter')
    """
    return Reply("", "content_filter")


def empty_length() -> Reply:
    """No visible text: all output tokens were hidden reasoning."""
    return Reply("", "length", usage=Usage(output_tokens=1024, reasoning_tokens=1024))


def cut_json(stop_reason: str = "length") -> Callable[[ChatRequest], Reply]:
    """JSON that is truncated at the output limit; ``stop`` imitates a provider that does not report it."""
    return lambda request: Reply(CUT_JSON, stop_reason, usage=Usage(output_tokens=request.max_tokens or 1024))


def draft_in_reasoning() -> Reply:
    """No answer, only a draft in the reasoning, which must not be used as the answer.

    >>> from helmdeck_testing import draft_in_reasoning
    >>> reply = draft_in_reasoning()
    >>> reply.text, "draft" in reply.reasoning
    ('', True)
    """
    return Reply("", "stop", reasoning=f"I could answer {DRAFT} but first")


def whitespace_loop() -> Reply:
    r"""Constrained decoding that generated whitespace up to the output limit.

    >>> from helmdeck_testing import whitespace_loop
    >>> reply = whitespace_loop()
    >>> reply.text[-4:], reply.stop_reason
    (' \n  ', 'length')
    """
    return Reply("{" + "\n  " * 1000, "length", usage=Usage(output_tokens=2000))


def empty_error() -> Reply:
    """An empty response with a stop reason for a failed generation.

    >>> from helmdeck_testing import empty_error
    >>> reply = empty_error()
    >>> reply.text, reply.stop_reason
    ('', 'error')
    """
    return Reply("", "error", disposition=Disposition.RETRY)


def no_end() -> Reply:
    """A truncated answer without a stop reason.

    >>> from helmdeck_testing import no_end
    >>> reply = no_end()
    >>> reply.text[-9:], reply.stop_reason
    ('": "blog.', None)
    """
    return Reply(CUT_JSON, None)


def endless_thinking(piece_delay_s: float = 0.02) -> Reply:
    """A minute of streamed reasoning without an answer.

    >>> from helmdeck_testing import endless_thinking
    >>> reply = endless_thinking()
    >>> reply.text, len(reply.reasoning) > 1_000
    ('', True)
    """
    return Reply(reasoning="hm, " * 12_000, stop_reason="length", piece_delay_s=piece_delay_s)


def too_many_requests(retry_after_s: float = 1.0) -> Fail:
    """HTTP 429 with ``Retry-After``.

    >>> from helmdeck_testing import too_many_requests
    >>> too_many_requests(2.0)
    Fail(cause=<FailureClass.RATE_LIMITED: 'rate_limited'>, retry_after_s=2.0, status=429, detail='', sub_cause='')
    """
    return Fail(FailureClass.RATE_LIMITED, status=429, retry_after_s=retry_after_s)


def error_in_200() -> CallFailed:
    """An error with HTTP 200.

    >>> from helmdeck_testing import error_in_200
    >>> error_in_200().status
    200
    """
    return TransientUnknown(
        "the provider answered with an error",
        status=200,
        sub_cause="error_in_200",
        stop_reason=StopReason.UNKNOWN.value,
        detail="upstream error",
    )


# -- the provider ---------------------------------------------------------------------------------------------


class Scripted:
    """A provider that returns replies in order and records requests.

    :param replies: see ``Item``.
    :param name: provider name in errors.
    :param normalise: looks up native stop reasons that are not in ``NATIVE_REASONS``.
    :ivar requests: received requests, in order.
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
        # Several event loops may share one script, each in its own thread.
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """Number of unused replies."""
        return max(0, len(self._replies) - len(self.requests))

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the next reply.

        :raises CallFailed: scripted failure.
        :raises RepliesExhausted: there is no reply left.
        """
        reply = self._reply(request)
        if delay_s := reply.delay_s + reply.piece_delay_s * sum(1 for _ in reply.pieces()):
            await asyncio.sleep(delay_s)
        return self._response(request, reply)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Yield the next reply in chunks.

        :raises CallFailed: scripted failure, also within the stream.
        :raises RepliesExhausted: there is no reply left.
        """
        reply = self._reply(request)
        await asyncio.sleep(reply.delay_s)
        for number, piece in enumerate(reply.pieces()):
            if number == reply.breaks_after:
                raise ProviderUnavailable("the stream was interrupted", detail="scripted failure")
            await asyncio.sleep(reply.piece_delay_s)
            yield piece
        yield attrs.evolve(self._response(request, reply), is_interrupted=reply.stop_reason is None)

    def _reply(self, request: ChatRequest) -> Reply:
        outcome = self._next(request)
        if isinstance(outcome, str):
            outcome = Reply(outcome)
        if isinstance(outcome, Fail):
            raise outcome.to_exception()
        if isinstance(outcome, CallFailed):
            # A copy: the original would keep the traceback of its first use.
            raise attrs.evolve(outcome)
        if not isinstance(outcome, Reply):
            raise TypeError(f"unexpected reply of type {type(outcome).__name__}; expected {Outcome}")
        return outcome

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _next(self, request: ChatRequest) -> Outcome:
        with self._lock:
            number = len(self.requests)
            if number < len(self._replies):
                self.requests.append(request)
                item = self._replies[number]
            else:
                detail = "no replies left"
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
        return NATIVE_REASONS.get(raw.casefold()) or self._normalise(raw)


class ScriptedProvider:
    """A plugin that contributes one scripted provider, shared by all event loops and threads."""

    def __init__(self, replies: Sequence[Item], name: str) -> None:
        self.name = name
        self._context: ProviderContext | None = None
        self._script = Scripted(replies, name, self._look_up)

    @property
    def requests(self) -> list[ChatRequest]:
        """Received requests, in order."""
        return self._script.requests

    @property
    def left(self) -> int:
        """Number of unused replies."""
        return self._script.left

    @hookimpl
    def helmdeck_providers(self) -> Sequence[ProviderSpec]:
        """The scripted provider."""
        return [ProviderSpec(name=self.name, open=self._open, summary="scripted replies")]

    def _open(self, _: ProviderSettings, context: ProviderContext) -> Provider:
        self._context = context
        return self._script

    def _look_up(self, raw: str) -> StopReason:
        return self._context.normalise_stop(raw, "") if self._context else StopReason.UNKNOWN


def scripted_provider(replies: Iterable[Item], name: str = "scripted") -> ScriptedProvider:
    """Return a plugin with a provider ``name`` that returns these replies for any model."""
    return ScriptedProvider(tuple(replies), name)
