"""Finds the marks of reasoning tags in a text; the tags themselves are data in ``reasoning_tags``.

Marks are case-insensitive; opening marks may have attributes, closing marks whitespace. All searches are linear in the length
of the text.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import attrs

from helmdeck_core import ReasoningTag
from helmdeck_reading.mark_patterns import MAX_ATTRIBUTES, common_lead, compile_marks, mark_atoms, mark_of_group

CODE_SPAN = 200  # characters of a line that show where a code span starts

_SPACES = r"[ \t\r\n]{0,8}"
_FREE_HOPS = 3
_HOP = 2_000
"""Minimum average distance, in characters, between hops to a character of a closing mark.

A hop is a ``memchr``, which is fast where the character is rare; otherwise one regular expression is faster.
"""


def _closing(mark: str) -> list[str]:
    if mark.startswith("</") and mark.endswith(">"):
        return ["<", "/", _SPACES, *mark_atoms(mark[2:-1]), _SPACES, ">"]
    return mark_atoms(mark)


def _follows(atoms: tuple[str, ...]) -> str:
    """The possible first characters of these atoms."""
    spaces = " \t\r\n" if atoms[0] == _SPACES else ""
    first = atoms[1 if spaces else 0][-1]
    return spaces + first.lower() + first.upper()


class Closer:
    """Finds the first closing mark of a block; the longest match wins. Compiled lazily.

    :ivar hop: a character that every mark has at index ``before``; empty if there is none.
    :ivar first: the first character of every mark; empty if they differ.
    """

    def __init__(self, marks: Iterable[str]) -> None:
        self._atoms = [_closing(mark) for mark in sorted(set(marks))]
        lead = common_lead(self._atoms)
        self.before: int = lead - 1
        self.hop: str = self._atoms[0][lead - 1][-1] if lead else ""
        self.first: str = self._atoms[0][0][-1] if lead else ""
        self._follow = "".join(map(_follows, {atoms[lead:][:2] for atoms in map(tuple, self._atoms)}))

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """A whole closing mark."""
        return compile_marks(self._atoms)

    @functools.cached_property
    def partial(self) -> re.Pattern[str]:
        """A prefix of a closing mark at the end of a text."""
        return compile_marks(self._atoms, partial=True)

    def search(self, text: str, start: int, end: int | None = None) -> re.Match[str] | None:
        """The first closing mark between ``start`` and ``end``."""
        limit = len(text) if end is None else end
        if self.hop:
            at, min_position = start + self.before - 1, start - _FREE_HOPS * _HOP
            while (at := text.find(self.hop, at + 1, limit)) >= max(min_position, 0):
                if text[at + 1 : at + 2] in self._follow and (
                    match := self.pattern.match(text, at - self.before, limit)
                ):
                    return match
                min_position += _HOP
            if at < 0:
                return None
            start = max(start, at - self.before)
        return self.pattern.search(text, start, limit)


def _without_prefixes(marks: Iterable[str]) -> frozenset[str]:
    """The marks that are not a prefix of another mark."""
    ordered = sorted(set(marks))
    return frozenset(mark for mark, following in itertools.pairwise([*ordered, ""]) if not following.startswith(mark))


@attrs.define(eq=False)
class ReasoningMark:
    """A mark in the text: an opening mark with its ``closer``, or a closing mark without an opening mark."""

    tag: str
    start: int
    end: int
    closer: Closer | None
    is_empty: bool = False


def is_mention(text: str, start: int, end: int, floor: int = 0, before: str = "") -> bool:
    """Whether a mark is all of a code span that starts on its line, as in prose about marks.

    A mark between two code spans or fences is a mark.

    :param floor: the end of the last block; ``before`` is the end of the visible text that precedes it.
    """
    if text[end : end + 1] != "`":
        return False
    visible = (before + text[max(floor, start - CODE_SPAN) : start])[-CODE_SPAN:]
    return visible.endswith("`") and not visible.endswith("``") and visible.rpartition("\n")[2].count("`") % 2 == 1


class _BlockMarks(NamedTuple):
    """The exact marks of the last block; the next response of a model mostly uses the same ones."""

    opened: str
    closed: str
    closer: Closer


class ReasoningMarks:
    """One pattern for all opening marks and for closing marks that need no opening mark."""

    def __init__(self, tags: Sequence[ReasoningTag]) -> None:
        opening = [tag for tag in tags if tag.open]
        alone = [(tag.name, close) for tag in tags if tag.closes_alone for close in tag.close]
        kinds: list[tuple[str, Closer | None]] = [(tag.name, Closer(tag.close)) for tag in opening]
        kinds += [(name, None) for name, _ in alone]
        opens = [mark_atoms(tag.open, has_attributes=tag.has_attributes) for tag in opening]
        self._all = [*opens, *(_closing(close) for _, close in alone)]
        self._tokens = frozenset(tag.name for tag in opening if not tag.close)
        self._pattern = compile_marks(self._all)
        self._kinds = {index: kinds[number] for index, number in mark_of_group(self._pattern).items()}
        self.longest: int = (
            MAX_ATTRIBUTES + max((len(mark) for tag in tags for mark in (tag.open, *tag.close)), default=0) + 16
        )
        self._last_block: _BlockMarks | None = None
        self._unambiguous = _without_prefixes(mark.lower() for tag in tags for mark in (tag.open, *tag.close))
        self.any_close: Closer = Closer([close for _, close in alone])

    @functools.cached_property
    def partial(self) -> re.Pattern[str]:
        """A prefix of a mark outside any block, at the end of a text."""
        return compile_marks(self._all, partial=True)

    def search(self, text: str, start: int = 0, floor: int = 0, before: str = "") -> ReasoningMark | None:
        """The first mark at or after ``start``, outside any block; a mark in inline code is only mentioned.

        :param floor: the end of the last block; ``before`` is the end of the visible text before it.
        """
        match = self._pattern.search(text, start)
        while match and text.startswith("`", match.end()) and is_mention(text, *match.span(), floor, before):
            match = self._pattern.search(text, match.end())
        return self._mark(match) if match else None

    @functools.cached_property
    def _leading(self) -> re.Pattern[str]:
        return re.compile(rf"\s*+{self._pattern.pattern}")

    def leading_block(self, text: str, start: int = 0) -> tuple[int, int, int] | None:
        """The closed block at ``start``, after optional whitespace: start and end of its content, and its own end."""
        if (last := self._last_block) and text.startswith(last.opened, start):
            inside = start + len(last.opened)
            at = text.find(last.closer.hop, inside) - last.closer.before
            if at >= inside and text.startswith(last.closed, at):
                return inside, at, at + len(last.closed)
        match = self._leading.match(text, start)
        if match is None:
            return None
        inside, closer = match.end(), self._kinds[match.lastindex][1]
        if closer is None or text[inside - 2] == "/":
            return None
        close = closer.search(text, inside)
        if close is None:
            return None
        opened, closed = match[0].lstrip(), close[0]
        if closer.hop and opened.lower() in self._unambiguous and closed.lower() in self._unambiguous:
            self._last_block = _BlockMarks(opened, closed, closer)
        return inside, *close.span()

    def _mark(self, match: re.Match[str]) -> ReasoningMark:
        tag, closer = self._kinds[match.lastindex]
        start, end = match.span()
        is_empty = closer is not None and (tag in self._tokens or match.string.endswith("/>", start, end))
        return ReasoningMark(tag, start, end, closer, is_empty)


@functools.lru_cache(maxsize=8)
def reasoning_marks(tags: tuple[ReasoningTag, ...]) -> ReasoningMarks:
    """The marks of these tags, compiled once: most decks have the same tags."""
    return ReasoningMarks(tags)
