"""Watches a streamed response for output limits: reasoning without visible output, and endless whitespace.

It performs no I/O and reads no clock. Reasoning arrives beside the text, or inside it between reasoning tags.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core.calls.model_text import CHARS_PER_TOKEN, is_blank_loop
from helmdeck_core.calls.visible_text import VisibleText
from helmdeck_core.domain.chat import ChatDelta
from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import CallFailed, LikelyTimeout

CHECK_EVERY_CHARS = 400
"""New characters of a structured response after which its end is checked again."""


class ReasoningWatchdog:
    """Watches one response.

    :param visible: separates reasoning from the text.
    :param max_tokens: reasoning tokens allowed before the first visible one; ``None`` is no limit.
    :param is_structured: the response must have a format such as JSON, so endless whitespace means that it never gets one.
    :ivar has_output: whether anything visible arrived: text outside of reasoning, or a tool call.
    :ivar exceeds_reasoning_limit: whether the reasoning limit was exceeded without visible output.
    :ivar is_blank_loop: whether only whitespace arrived for long, as from constrained decoding that is stuck.
    """

    def __init__(self, visible: VisibleText, max_tokens: float | None = None, *, is_structured: bool) -> None:
        self._visible = visible
        self._max_chars = None if max_tokens is None else max_tokens * CHARS_PER_TOKEN
        self._reasoning_chars = 0
        self._texts: list[str] | None = [] if is_structured else None
        self._unchecked = 0
        self.has_output: bool = False
        self.exceeds_reasoning_limit: bool = False
        self.is_blank_loop: bool = False

    def feed(self, deltas: Sequence[ChatDelta]) -> Sequence[ChatDelta]:
        """Take the next chunks; return those to pass on: all, unless one of them exceeds a limit."""
        if self.has_output and self._texts is None:
            return deltas
        if not [each for each in deltas if each.text or each.tool_call]:
            chars = self._reasoning_chars + sum([len(each.reasoning_content) for each in deltas])
            if self.has_output or self._max_chars is None or chars <= self._max_chars:
                self._visible.feed(deltas)
                self._reasoning_chars = self._reasoning_chars if self.has_output else chars
                return deltas
        for number, delta in enumerate(deltas):
            if self._texts is not None and delta.text:
                self._check_whitespace(self._texts, delta.text)
            if not self.has_output:
                self._check_reasoning(delta)
            if self.exceeds_reasoning_limit:
                return deltas[:number]
            if self.is_blank_loop:
                return deltas[: number + 1]
        return deltas

    @property
    def text(self) -> str:
        """The text of a structured response so far, reasoning included."""
        return "".join(self._texts or ())

    @property
    def reasoning_tokens(self) -> int:
        """Estimated reasoning tokens before the first visible output."""
        return self._reasoning_chars // CHARS_PER_TOKEN

    def _check_reasoning(self, delta: ChatDelta) -> None:
        for each in self._visible.feed((delta,)):
            self._reasoning_chars += len(each.reasoning_content)
            self.has_output |= bool(each.text.strip()) or each.tool_call is not None
        if not self.has_output and self._max_chars is not None:
            self.exceeds_reasoning_limit = self._reasoning_chars > self._max_chars

    def _check_whitespace(self, texts: list[str], text: str) -> None:
        texts.append(text)
        self._unchecked += len(text)
        if self._unchecked >= CHECK_EVERY_CHARS:
            self._unchecked = 0
            self.is_blank_loop = is_blank_loop("".join(texts[-CHECK_EVERY_CHARS:]))  # each has at least one character


def reasoning_failure(
    kind: type[CallFailed], model: str, latency_s: float, watchdog: ReasoningWatchdog, think_share: float
) -> CallFailed:
    """Return the failure of a model that reasoned for too long, or too much.

    :param think_share: the share of time and tokens that reasoning may take.
    """
    thought = f"about {watchdog.reasoning_tokens:,} tokens of reasoning and no answer text"
    return kind(
        "the model was stopped because it only thought",
        model=model,
        provider=ModelId.provider_of(model),
        sub_cause="reasoning_overrun",
        latency_s=latency_s,
        detail=f"{thought}; think_share is {think_share:g}",
    )


def silence_failure(model: str, latency_s: float, silence_s: float, *, is_first: bool) -> LikelyTimeout:
    """Return the failure of a model that sent no token for too long.

    :param is_first: it sent none at all.
    """
    return LikelyTimeout(
        "the model did not start to answer in time" if is_first else "the model stopped in the middle of its answer",
        model=model,
        provider=ModelId.provider_of(model),
        sub_cause="first_token" if is_first else "idle",
        latency_s=latency_s,
        detail=f"no token within {silence_s:g} s; see first_token_timeout_s",
    )


def timeout_failure(
    model: str, latency_s: float, total_s: float, deadline_s: float | None, share: float | None
) -> LikelyTimeout:
    """Return the failure of an attempt that exceeded its time.

    :param total_s: seconds since the start of the call.
    :param deadline_s: seconds that the call may take.
    :param share: the share of the remaining time that the attempt had; ``None`` where it had all of it.
    """
    limit = "" if deadline_s is None else f"; deadline_s is {deadline_s:g}"
    part = "" if share is None else f", of which this attempt had {share:g} of what was left"
    return LikelyTimeout(
        "the model did not answer in time",
        model=model,
        provider=ModelId.provider_of(model),
        sub_cause="deadline" if share is None else "deadline_share",
        latency_s=latency_s,
        detail=f"{total_s:.1f} s after the call began{limit}{part}",
    )
