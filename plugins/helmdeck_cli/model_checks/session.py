"""The calls of an examination: each is bounded in time and tokens, and a failure is a result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import (
    CallFailed,
    CallLimits,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    FailureClass,
    HelmdeckError,
    Message,
    ResponseFormat,
    Role,
    TextPart,
    ToolDefinition,
)

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

LIMIT_S = 60.0
"""Seconds of a whole examination."""

CALL_S = 15.0
"""Seconds of one request. A server that needs longer for some tens of tokens is too slow for structured work."""


BROKEN = frozenset(("disconnected",))
"""Sub-causes of a broken connection: a server may close a connection that it kept at the moment of the next request."""


@attrs.frozen(kw_only=True)
class Reply:
    """How one request ended.

    :ivar response: ``None`` if it failed.
    :ivar failure: why it failed; ``None`` for a response.
    :ivar seconds: from the request to the end.
    :ivar first_s: seconds until the first token of a stream; ``None`` without one.
    """

    response: ChatResponse | None = None
    failure: HelmdeckError | None = None
    seconds: float = 0.0
    first_s: float | None = None

    @property
    def text(self) -> str:
        """The text without surrounding whitespace."""
        return self.response.text.strip() if self.response is not None else ""

    @property
    def is_late(self) -> bool:
        """Whether no answer came in time; an empty one is an answer."""
        failure = self.failure
        return (
            isinstance(failure, CallFailed)
            and failure.failure_class is FailureClass.LIKELY_TIMEOUT
            and not failure.is_empty
        )

    @property
    def cause(self) -> str:
        """The cause of the failure, such as ``auth_failed``; empty without one."""
        if isinstance(self.failure, CallFailed):
            return "/".join(filter(None, (self.failure.failure_class.value, self.failure.sub_cause)))
        return "" if self.failure is None else type(self.failure).__name__


@attrs.define
class Session:
    """The requests to one model within a time limit.

    :param deck: a deck whose calls are single attempts; see ``single_attempts``.
    :param limit_s: seconds of all requests together.
    :param headroom_tokens: added to every output limit, for models that reason first.
    :param clock: a monotonic clock in seconds.
    :param rank: returns the best tool of ``tools.json`` for a request by the ranker alone.
    :ivar facts: the facts of the probes so far.
    :ivar calls: requests so far.
    :ivar output_tokens: their output tokens, as reported.
    """

    deck: Helmdeck
    model: str
    rank: Callable[[str], str]
    limit_s: float = LIMIT_S
    headroom_tokens: int = 0
    clock: Callable[[], float] = time.monotonic
    facts: dict[str, Any] = attrs.field(factory=dict)
    calls: int = 0
    output_tokens: int = 0
    _start: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._start = self.clock()

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self.limit_s - (self.clock() - self._start)

    def request(
        self,
        text: str,
        *,
        max_tokens: int,
        system: str = "",
        response_format: ResponseFormat | None = None,
        tools: tuple[ToolDefinition, ...] = (),
        tool_choice: str | None = None,
    ) -> ChatRequest:
        """Return a request that every run sends alike."""
        messages = [Message(Role.SYSTEM, (TextPart(system),))] if system else []
        return ChatRequest(
            model=self.model,
            messages=(*messages, Message(Role.USER, (TextPart(text),))),
            max_tokens=max_tokens + self.headroom_tokens,
            temperature=0.0,
            response_format=response_format,
            tools=tools,
            tool_choice=tool_choice,
        )

    async def send(self, request: ChatRequest, bound_s: float = CALL_S) -> Reply:
        """Send a request, once more if the connection broke, which says nothing about the model. No failure is raised."""
        reply = await self._send(request, bound_s)
        is_broken = isinstance(reply.failure, CallFailed) and reply.failure.sub_cause in BROKEN
        return await self._send(request, bound_s) if is_broken else reply

    async def _send(self, request: ChatRequest, bound_s: float) -> Reply:
        start = self._begin()
        try:
            response = await self.deck.acomplete(request, limits=self._limits(bound_s))
        except HelmdeckError as exc:
            return Reply(failure=exc, seconds=self.clock() - start)
        return self._replied(response, start)

    async def stream(self, request: ChatRequest, bound_s: float = CALL_S) -> Reply:
        """Send a request whose answer is streamed. No failure is raised."""
        start = self._begin()
        first_s: float | None = None
        response: ChatResponse | None = None
        try:
            async for item in self.deck.astream(request, limits=self._limits(bound_s)):
                if isinstance(item, ChatDelta):
                    first_s = first_s if first_s is not None else self.clock() - start
                else:
                    response = item
        except HelmdeckError as exc:
            return Reply(failure=exc, seconds=self.clock() - start, first_s=first_s)
        assert response is not None
        return attrs.evolve(self._replied(response, start), first_s=first_s)

    def _begin(self) -> float:
        self.calls += 1
        return self.clock()

    def _replied(self, response: ChatResponse, start: float) -> Reply:
        self.output_tokens += response.usage.output_tokens
        return Reply(response=response, seconds=self.clock() - start)

    def _limits(self, bound_s: float) -> CallLimits:
        return CallLimits(max_attempts=1, deadline_s=max(0.1, min(bound_s, self.left_s)))
