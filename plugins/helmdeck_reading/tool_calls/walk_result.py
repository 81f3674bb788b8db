"""Input and result of the walker: ``WalkContext``, ``WalkResult``."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from helmdeck_core import StopReason, ToolCallFormat
from helmdeck_reading.reasoning_marks import ReasoningMarks
from helmdeck_reading.tool_calls.payloads import RawCall
from helmdeck_reading.tool_calls.regions import RepairJson
from helmdeck_reading.tool_calls.scanner import Scanner

ENDED = frozenset((StopReason.END_TURN, StopReason.TOOL_CALL))


@attrs.frozen
class WrittenCall:
    """A call in the text and its format."""

    call: RawCall
    format: ToolCallFormat
    excerpt: str = ""


@attrs.define
class WalkResult:
    """Result of a walk.

    :ivar removed: spans removed from the visible text, with their replacements.
    :ivar complete: complete calls of truncated lists.
    :ivar is_unclosed: a reasoning block is unclosed; the text after its opening mark was not scanned.
    """

    calls: list[WrittenCall] = attrs.field(factory=list)
    complete: list[WrittenCall] = attrs.field(factory=list)
    removed: list[tuple[int, int, str]] = attrs.field(factory=list)
    reasoning: list[str] = attrs.field(factory=list)
    inert: int = 0
    is_truncated: bool = False
    is_unclosed: bool = False


@attrs.frozen(eq=False)
class WalkContext:
    """Input of a walk, apart from the text.

    :ivar stop: the stop reason; ``None`` if unknown.
    :ivar is_known: whether a name is the name of a tool; ``None`` if the caller passed no tools.
    """

    scanner: Scanner
    marks: ReasoningMarks
    repair: RepairJson
    stop: StopReason | None = None
    is_known: Callable[[str], bool] | None = None

    @property
    def is_ended(self) -> bool:
        """The model ended its turn, or the stop reason is unknown."""
        return self.stop is None or self.is_certain

    @property
    def is_certain(self) -> bool:
        """The stop reason states that the model ended its turn."""
        return self.stop in ENDED


def remaining_text(text: str, start: int, end: int, removed: list[tuple[int, int, str]]) -> str:
    """The text between ``start`` and ``end`` without the removed spans."""
    remaining: list[str] = []
    for first, last, _ in sorted(removed):
        remaining.append(text[start:first])
        start = max(start, last)
    return "".join([*remaining, text[start:end]])
