"""A stream on its way through the guards of its request."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterator, Sequence

import attrs

from helmdeck_core import ChatDelta, ChatResponse, GuardFinding, ToolCallDelta
from helmdeck_guards.channel import Channel
from helmdeck_guards.errors import GuardBlocked
from helmdeck_guards.session import GuardSession, marker, refusal
from helmdeck_guards.settings import OpenGuard

Batch = Sequence[ChatDelta] | ChatResponse

_TEXT, _REASONING = -1, -2


def guarded_stream(session: GuardSession, chunks: AsyncGenerator[Batch, None]) -> AsyncGenerator[Batch, None]:
    """Return a stream of ``Helmdeck.astream_batches`` as the caller may see it; the last item is the response.

    :raises GuardBlocked: a guard blocks the answer, and the configuration does not ask for a refusal.
    """
    if not session.answer_guards and not session.placeholders:
        return chunks
    return GuardedStream(session).run(chunks)


class GuardedStream:
    """One stream.

    Guards that block or redact by ``find`` hold back what may become a finding; those with ``check`` the part that they have not
    checked; the findings of guards that only report are looked for at the end.
    """

    def __init__(self, session: GuardSession) -> None:
        self._session = session
        active = [each for each in session.answer_guards if each.settings.action != "flag"]
        self._finding = [each for each in active if each.guard.find is not None and each.guard.held_from is not None]
        self._checking = [each for each in active if each.guard.check is not None and each.guard.window_chars]
        self._window = min((each.guard.window_chars for each in self._checking), default=0)
        self._by_tool = [each for each in active if each.guard.find_tool is not None]
        self._limited = [each for each in active if each.guard.max_chars is not None]
        self._is_whole = any(
            (each.guard.check is not None and not each.guard.window_chars)
            or (each.guard.find is not None and each.guard.held_from is None)
            for each in active
        )
        self._channels: dict[int, Channel] = {}
        self._open = _TEXT
        self._chars = 0
        self._redacted: dict[str, list[GuardFinding]] = {}
        self._block: GuardBlocked | None = None
        self._held: list[ChatDelta] = []
        self._unchecked = self._checked_end = ""

    async def run(self, chunks: AsyncGenerator[Batch, None]) -> AsyncGenerator[Batch, None]:
        """Yield the guarded stream, and last the response."""
        async with contextlib.aclosing(chunks):
            try:
                async for chunk in chunks:
                    if isinstance(chunk, ChatResponse):
                        if deltas := await self._end():
                            yield deltas
                        yield await self._response(chunk)
                    elif not self._is_whole:
                        if deltas := await self._feed(chunk):
                            yield deltas
                        if self._block is not None:
                            raise self._block
            except GuardBlocked as exc:
                has_calls = any(channel >= 0 for channel in self._channels)
                if not exc.is_refusal or has_calls:  # a call that was shown in part must not look complete
                    raise
                yield refusal(exc, shown="".join(self._shown(_TEXT)))

    # -- deltas --------------------------------------------------------------------------------------------------

    async def _feed(self, deltas: Sequence[ChatDelta]) -> Sequence[ChatDelta]:
        shown = list[ChatDelta]()
        try:
            for delta in deltas:
                shown += self._guarded(delta)
        except GuardBlocked as exc:
            self._block = exc  # what arrived before it in the same batch is shown
        if self._checking:
            return () if self._block is not None else await self._released(shown)
        return shown

    def _guarded(self, delta: ChatDelta) -> Iterator[ChatDelta]:
        if self._limited:
            self._count(delta)
        if delta.reasoning_content:
            yield from self._fed(_REASONING, delta.reasoning_content)
        if delta.text:
            yield from self._fed(_TEXT, delta.text)
        if (call := delta.tool_call) is not None:
            if call.name:
                self._check_tool(call.name)
            yield from self._fed(call.index, call.arguments, call)

    def _fed(self, number: int, text: str, call: ToolCallDelta | None = None) -> Iterator[ChatDelta]:
        if number != self._open:
            yield from self._flushed()
            self._open = number
        channel = self._channels.get(number)
        if channel is None:
            channel = self._channels[number] = self._channel(number)
        shown = channel.feed(text)
        if shown or (call is not None and (call.id or call.name)):
            yield _delta(number, shown, call)

    def _flushed(self) -> Iterator[ChatDelta]:
        """What the current channel holds back: no more text follows at that place."""
        channel = self._channels.get(self._open)
        if channel is not None and (shown := channel.flush()):
            yield _delta(self._open, shown, None)

    def _channel(self, number: int) -> Channel:
        session = self._session
        is_json = number >= 0 or (number == _TEXT and session.has_json_text)
        return Channel(
            self._finding, session.placeholders, session.search, session.held_from, self._replace, is_json=is_json
        )

    def _replace(self, guard: OpenGuard, finding: GuardFinding) -> str:
        if not (guard.can_redact and finding.has_place):
            self._session.decide(guard, "stream", [finding], [finding])
        self._redacted.setdefault(guard.name, []).append(finding)
        return marker(finding.kind)

    def _count(self, delta: ChatDelta) -> None:
        arguments = delta.tool_call.arguments if delta.tool_call is not None else ""
        self._chars += len(delta.text) + len(delta.reasoning_content) + len(arguments)
        for guard in self._limited:
            found = self._session.too_long(guard, self._chars)
            self._session.decide(guard, "stream", found, found)

    def _check_tool(self, name: str) -> None:
        for guard in self._by_tool:
            found = list[GuardFinding]()
            try:
                self._session.is_refused(guard, name, found)
            except Exception as exc:
                self._session.failed(guard, "stream", exc)
            self._session.decide(guard, "stream", found, found)

    # -- checks of parts -----------------------------------------------------------------------------------------

    async def _released(self, shown: Sequence[ChatDelta], *, is_last: bool = False) -> Sequence[ChatDelta]:
        """Return the deltas that were checked; the others wait until the window is full."""
        self._held += shown
        self._unchecked += "".join(delta.text + delta.reasoning_content for delta in shown)
        if not is_last and len(self._unchecked) < self._window:
            return ()
        if self._unchecked:
            text = self._checked_end + self._unchecked
            for guard in self._checking:
                subject = self._session.subject("stream", (text,), None, self._chars)
                found = await self._session.checked(guard, subject)
                self._session.decide(guard, "stream", found, found)
            self._checked_end, self._unchecked = text[-self._window :], ""
        released, self._held = self._held, []
        return released

    # -- the end -------------------------------------------------------------------------------------------------

    async def _end(self) -> Sequence[ChatDelta]:
        """Return the deltas that are left before the response."""
        if self._is_whole:
            return ()
        shown = list(self._flushed())
        return await self._released(shown, is_last=True) if self._checking else shown

    async def _response(self, response: ChatResponse) -> ChatResponse:
        """Return the whole response, equal to what was streamed of it; the rest is searched now."""
        session = self._session
        if self._is_whole:
            return await session.check_answer(response)
        for guard in self._finding:
            if found := self._redacted.get(guard.name):
                session.decide(guard, "stream", found, [])
        calls = dict(zip(sorted(each for each in self._channels if each >= 0), response.tool_calls, strict=False))
        seen = {number: self._shown_of(number, call.arguments) for number, call in calls.items()}
        text, reasoning = self._shown_of(_TEXT, response.text), self._shown_of(_REASONING, response.reasoning_content)
        arguments = [*seen.values(), *[None] * len(response.tool_calls)]
        unseen = attrs.evolve(
            response,
            text=response.text if text is None else "",
            reasoning_content=response.reasoning_content if reasoning is None else "",
            tool_calls=tuple(
                call if shown is None else attrs.evolve(call, arguments="")
                for call, shown in zip(response.tool_calls, arguments, strict=False)
            ),
        )
        for guard in session.answer_guards:
            if guard in self._finding:
                unseen = await session.checked_answer(guard, unseen)
            else:
                await session.checked_answer(guard, response)
        rest = session.restored(unseen)
        return attrs.evolve(
            rest,
            text=rest.text if text is None else text,
            reasoning_content=rest.reasoning_content if reasoning is None else reasoning,
            tool_calls=tuple(
                call if shown is None else attrs.evolve(call, arguments=shown)
                for call, shown in zip(rest.tool_calls, arguments, strict=False)
            ),
        )

    def _shown_of(self, number: int, text: str) -> str | None:
        """Return what was shown of a text of the response; ``None`` if it was not streamed as it is."""
        channel = self._channels.get(number)
        return "".join(channel.shown) if channel is not None and "".join(channel.raw) == text else None

    def _shown(self, number: int) -> Sequence[str]:
        channel = self._channels.get(number)
        return channel.shown if channel is not None else ()


def _delta(number: int, text: str, call: ToolCallDelta | None) -> ChatDelta:
    if number == _TEXT:
        return ChatDelta(text)
    if number == _REASONING:
        return ChatDelta("", text)
    return ChatDelta("", "", ToolCallDelta(number, call.id if call else "", call.name if call else "", text))
