"""What a walk over an answer is given and what it finds."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.tool_calls import ToolCallFormat
from helmdeck_core.reading.reasoning_marks import Marks
from helmdeck_core.reading.tool_calls.payloads import RawCall
from helmdeck_core.reading.tool_calls.regions import Mend
from helmdeck_core.reading.tool_calls.scanner import Scanner

ENDED = frozenset((StopReason.END_TURN, StopReason.TOOL_CALL))


@attrs.frozen
class Written:
    """A call as it stands in the text, and the format that it is written in."""

    call: RawCall
    format: ToolCallFormat
    excerpt: str = ""


@attrs.define
class Walked:
    """What a walk found.

    :ivar removed: spans of the text that are not visible, with what stands there instead.
    :ivar complete: calls of lists that were cut, as far as they are complete.
    :ivar is_unclosed: reasoning was opened and never closed; nothing behind it was looked at.
    """

    calls: list[Written] = attrs.field(factory=list)
    complete: list[Written] = attrs.field(factory=list)
    removed: list[tuple[int, int, str]] = attrs.field(factory=list)
    reasoning: list[str] = attrs.field(factory=list)
    inert: int = 0
    is_cut: bool = False
    is_unclosed: bool = False


@attrs.frozen(eq=False)
class Setting:
    """What a walk goes by.

    :ivar knows: whether a name is one of a tool; ``None`` when the caller did not say which tools there are.
    :ivar stop: why the model stopped; ``None`` when nobody says.
    """

    scanner: Scanner
    marks: Marks
    mend: Mend
    stop: StopReason | None = None
    knows: Callable[[str], bool] | None = None

    @property
    def is_ended(self) -> bool:
        """The model ended by itself, or nobody says that it did not."""
        return self.stop is None or self.is_certain

    @property
    def is_certain(self) -> bool:
        """The model is known to have ended by itself."""
        return self.stop in ENDED
