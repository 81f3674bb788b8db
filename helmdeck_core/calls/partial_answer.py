"""The text that interrupted attempts of one call delivered, and which model wrote which part of the answer."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core.calls.new_text import NewText
from helmdeck_core.calls.operation import copy_response
from helmdeck_core.calls.response_failures import TRUNCATED_TEXT
from helmdeck_core.domain.chat import ChatDelta, ChatResponse
from helmdeck_core.domain.continuation import Continuation, TerminalReason
from helmdeck_core.errors import CallFailed, LengthTruncated


class PartialAnswer:
    """The beginning of an answer, which further attempts continue.

    :ivar text: what the interrupted attempts delivered, without reasoning.
    :ivar is_begun: whether an attempt delivered anything that a caller may have seen: text, or a part of a tool call.
    """

    def __init__(self) -> None:
        self.text: str = ""
        self.is_begun: bool = False
        self._parts: list[tuple[str, int]] = []
        self._reasoning: list[str] = []

    def add(self, model: str, deltas: Sequence[ChatDelta]) -> None:
        """Add what an interrupted attempt delivered, its reasoning separated from the text."""
        text = "".join(delta.text for delta in deltas)
        self._reasoning.append("".join(delta.reasoning_content for delta in deltas))
        self.is_begun = True
        if text:
            self.text += text
            self._parts.append((model, len(text)))

    def clear(self) -> None:
        """Forget the text: the next attempt starts from the beginning."""
        self.text, self.is_begun = "", False
        self._parts.clear()
        self._reasoning.clear()

    def joined(self, response: ChatResponse, model: str) -> ChatResponse:
        """Return the response of the attempt that completed the answer, with the record of all parts."""
        if not self._parts:
            return response
        reason = TerminalReason.COMPLETED if response.is_complete else TerminalReason.NOT_CONTINUED
        record = response.continuation or Continuation(terminal_reason=reason, parts=(len(response.text),))
        first, *rest = record.parts
        record = attrs.evolve(
            record,
            attempts=record.attempts + len(self._parts),
            parts=(*(chars for _, chars in self._parts), first - len(self.text), *rest),
            models=(*(name for name, _ in self._parts), *[model] * len(record.parts)),
        )
        # A model that starts again may repeat its reasoning.
        reasoning = dict.fromkeys(filter(None, (*self._reasoning, response.reasoning_content)))
        return copy_response(response, continuation=record, reasoning_content="\n\n".join(reasoning))


class TruncatedText:
    """The longest text of the attempts of one call that stays truncated; the failure of the call has it.

    :ivar response: the response of the last such attempt that is the longest; ``None`` without any.
    """

    def __init__(self) -> None:
        self.response: ChatResponse | None = None
        self._model = ""

    def keep(self, model: str, response: ChatResponse | None, failure: CallFailed) -> None:
        """Keep the response of a failed attempt if it is a longer truncated text."""
        if response is None or not isinstance(failure, LengthTruncated) or failure.sub_cause != TRUNCATED_TEXT:
            return
        if self.response is None or len(response.text) >= len(self.response.text):
            self.response, self._model = response, model

    def after(self, so_far: str, response: ChatResponse | None) -> Sequence[ChatDelta]:
        """Return what the kept response adds to a text; nothing for any other response."""
        if response is None or response is not self.response:
            return ()
        return (ChatDelta(response.text[len(so_far) :], response.reasoning_content),)

    def attach(self, failure: CallFailed) -> CallFailed:
        """Return the failure of the call with the text."""
        if self.response is None:
            return failure
        partial = copy_response(self.response, attempts=failure.attempts)
        return attrs.evolve(failure, partial=partial, partial_model=self._model)


def without_repetition(deltas: Sequence[ChatDelta], reasoning: NewText) -> Sequence[ChatDelta]:
    """Leave out the reasoning of an attempt that a failed attempt delivered already."""
    thoughts = [delta.reasoning_content for delta in deltas if delta.reasoning_content]
    if thoughts and reasoning.is_first:
        reasoning.feed("".join(thoughts))
    elif thoughts:
        new = (reasoning.feed(each.reasoning_content) if each.reasoning_content else "" for each in deltas)
        deltas = [ChatDelta(each.text, thought, each.tool_call) for each, thought in zip(deltas, new, strict=True)]
    return [each for each in deltas if each.text or each.reasoning_content or each.tool_call]
