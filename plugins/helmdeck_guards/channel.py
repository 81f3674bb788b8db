"""One text of a stream on its way through the guards: what may become a finding is held back, everything else passes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from helmdeck_core import GuardFinding
from helmdeck_guards.placeholders import Placeholders
from helmdeck_guards.plain_text import PlainText, half_escape
from helmdeck_guards.settings import OpenGuard

CONTEXT_CHARS: Final = 96
"""Characters before the held text that detectors see, such as ``Tel.`` before a number."""

_MASK: Final = "#"
"""Stands for the characters of a match for the following guards, and in the context of the following text."""

Search = Callable[[OpenGuard, PlainText], Sequence[GuardFinding]]
"""Returns the findings of a guard; none where it failed and failures pass."""
HeldFrom = Callable[[OpenGuard, PlainText], int]
"""Returns from where a guard holds a text back; its length where the guard failed and failures pass."""
Replace = Callable[[OpenGuard, GuardFinding], str]
"""Returns the replacement of a finding.

:raises GuardBlocked: the guard blocks the answer.
"""


class Channel:
    """The text, the reasoning or the arguments of one tool call of a stream.

    :param guards: those that block or redact.
    :param is_json: the text is JSON.
    :ivar raw: the text so far as the model wrote it, without what is held back.
    :ivar shown: the same as the caller gets it.
    """

    def __init__(
        self,
        guards: Sequence[OpenGuard],
        placeholders: Placeholders,
        search: Search,
        held_from: HeldFrom,
        replace: Replace,
        *,
        is_json: bool,
    ) -> None:
        self._guards = guards
        self._placeholders = placeholders
        self._search = search
        self._held_from = held_from
        self._replace = replace
        self._is_json = is_json
        self._context = ""
        self._pending = ""
        self.raw: list[str] = []
        self.shown: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held back."""
        return not self._pending

    def feed(self, text: str) -> str:
        """Return what can be shown after more text.

        :raises GuardBlocked: a guard blocks the answer.
        """
        if not self._guards and not self._placeholders:
            if text:
                self.raw.append(text)
                self.shown.append(text)
            return text
        self._pending += text
        return self._advance(is_last=False)

    def flush(self) -> str:
        """Return the rest, after the last text.

        :raises GuardBlocked: as for ``feed``.
        """
        return self._advance(is_last=True) if self._pending else ""

    def _advance(self, *, is_last: bool) -> str:
        base, window = len(self._context), self._context + self._pending
        # The rest of an interrupted escape follows in the next chunk.
        size = half_escape(window) if self._is_json and not is_last else len(window)
        text = PlainText(window[:size] if size < len(window) else window, is_json=self._is_json)
        cut = size if is_last else min(size, self._cut(text, window))
        masked = window
        found = list[tuple[int, int, OpenGuard, GuardFinding]]()
        for guard in self._guards:
            for each in self._search(guard, text):
                if not each.has_place:  # it cannot be redacted
                    self._replace(guard, each)
                start = max(each.start, base)  # the part before was shown already
                if each.stop > base and all(each.stop <= other[0] or start >= other[1] for other in found):
                    found.append((start, each.stop, guard, each))
                    if each.stop > cut or (each.stop == size and not is_last):
                        cut = min(cut, start)
                    masked = f"{masked[:start]}{_MASK * (each.stop - start)}{masked[each.stop :]}"
            if masked != window and guard is not self._guards[-1]:  # the next guard sees what this one leaves
                text = PlainText(masked[:size], is_json=self._is_json)
        if not is_last:  # a guard may hold back the number of a placeholder
            cut = min(cut, self._placeholders.held_from(window[:cut]))
        cut = max(cut, base)
        shown, end = list[str](), base
        for start, stop, guard, finding in sorted(found, key=lambda each: each[0]):
            if stop <= cut:
                shown += [self._restored(window[end:start]), self._replace(guard, finding)]
                end = stop
        shown.append(self._restored(window[end:cut]))
        if raw := window[base:cut]:
            self.raw.append(raw)
        self._context, self._pending = masked[max(0, cut - CONTEXT_CHARS) : cut], window[cut:]
        result = "".join(shown)
        if result:
            self.shown.append(result)
        return result

    def _cut(self, text: PlainText, window: str) -> int:
        """Return up to where the window can be shown, if it has no finding."""
        cut = self._placeholders.held_from(window)
        for guard in self._guards:
            held = self._held_from(guard, text)
            if held < len(text.plain):
                cut = min(cut, text.place(held))
        return cut

    def _restored(self, text: str) -> str:
        return self._placeholders.restore(text, is_json=self._is_json) if text else text
