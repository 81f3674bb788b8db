"""Watches an answer that arrives in pieces: has anything been said yet, and does the model still come to something; says so.

It sends nothing and reads no clock. What a model thinks comes beside its text, or in its text between marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core.domain.chat import ChatDelta
from helmdeck_core.domain.decode import StreamStripper
from helmdeck_core.errors import CallFailed, LikelyTimeout
from helmdeck_core.reading.diagnosis import is_blank_loop

CHARS_PER_TOKEN = 4
"""Thoughts are prose, of which a token is about four characters; to cut too late costs less than to cut too early."""

LOOK_EVERY = 400
"""Characters of an answer with a form after which its end is looked at once more."""


class ReasoningWatchdog:
    """One answer.

    :param stripper: takes reasoning out of the text.
    :param most_tokens: tokens that may be thought before the first visible one; ``None`` is no limit.
    :param has_form: the answer is to have a form, such as JSON, so that blanks without end mean that it never gets one.
    :ivar has_spoken: whether something visible has come: text outside of reasoning, or a tool call.
    :ivar is_overrun: whether too much was thought, and nothing said.
    :ivar is_spinning: whether nothing but blanks has come for long, as constrained decoding does that finds no way out.
    """

    def __init__(self, stripper: StreamStripper, most_tokens: float | None = None, *, has_form: bool = False) -> None:
        self._stripper = stripper
        self._most_chars = None if most_tokens is None else most_tokens * CHARS_PER_TOKEN
        self._thought = 0
        self._pieces: list[str] | None = [] if has_form else None
        self._unseen = 0
        self.has_spoken = False
        self.is_overrun = False
        self.is_spinning = False

    def feed(self, deltas: Sequence[ChatDelta]) -> Sequence[ChatDelta]:
        """Take the next pieces; return what of them may be given on: all, unless one of them is a reason to stop."""
        if self.has_spoken and self._pieces is None:
            return deltas
        for number, delta in enumerate(deltas):
            if self._pieces is not None and delta.text:
                self._look(self._pieces, delta.text)
            if not self.has_spoken:
                self._listen(delta)
            if self.is_overrun:
                return deltas[:number]
            if self.is_spinning:
                return deltas[: number + 1]
        return deltas

    @property
    def text(self) -> str:
        """What has come of an answer with a form, reasoning included."""
        return "".join(self._pieces or ())

    @property
    def thought_tokens(self) -> int:
        """About how many tokens were thought before anything was said."""
        return self._thought // CHARS_PER_TOKEN

    def _listen(self, delta: ChatDelta) -> None:
        visible, reasoning = self._stripper.feed(delta.text) if delta.text else ("", "")
        self._thought += len(delta.reasoning_content) + len(reasoning)
        self.has_spoken = bool(visible.strip()) or delta.tool_call is not None
        self.is_overrun = not self.has_spoken and self._most_chars is not None and self._thought > self._most_chars

    def _look(self, pieces: list[str], text: str) -> None:
        pieces.append(text)
        self._unseen += len(text)
        if self._unseen >= LOOK_EVERY:
            self._unseen = 0
            self.is_spinning = is_blank_loop("".join(pieces[-LOOK_EVERY:]))  # each of them has a character at least


def overrun(
    kind: type[CallFailed], model: str, latency_s: float, watch: ReasoningWatchdog, think_share: float
) -> CallFailed:
    """The failure of a model that was stopped because it thought for too long, or too much.

    :param think_share: the part of time and tokens that it may think.
    """
    thought = f"about {watch.thought_tokens:,} tokens of thought and no word of an answer"
    return kind(
        "the model was stopped because it only thought",
        model=model,
        provider=model.partition("/")[0].strip(),
        sub_cause="reasoning_overrun",
        latency_s=latency_s,
        detail=f"{thought}; think_share is {think_share:g}",
    )


def too_slow(
    model: str, latency_s: float, total_s: float, deadline_s: float | None, share: float | None
) -> LikelyTimeout:
    """The failure of an attempt whose time was over.

    :param total_s: seconds since the call began.
    :param deadline_s: seconds that the call may take.
    :param share: the part of what was left of them that the attempt had; ``None`` where it had all of it.
    """
    limit = "" if deadline_s is None else f"; deadline_s is {deadline_s:g}"
    part = "" if share is None else f", of which this attempt had {share:g} of what was left"
    return LikelyTimeout(
        "the model did not answer in time",
        model=model,
        provider=model.partition("/")[0].strip(),
        sub_cause="deadline" if share is None else "deadline_share",
        latency_s=latency_s,
        detail=f"{total_s:.1f} s after the call began{limit}{part}",
    )
