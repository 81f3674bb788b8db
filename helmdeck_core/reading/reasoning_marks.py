"""Compiles reasoning tags into the patterns that find their marks.

The tags are data: no tag is named here. Letter case never matters, a mark may carry attributes, and a closing mark may
carry blanks. Everything is linear in the length of the text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import attrs

from helmdeck_core.domain.decode import ReasoningTag

MAX_ATTRIBUTES = 1000  # characters; bounds what a stream holds back behind an opening mark that is never finished

ATTRIBUTES = rf"(?:\s[^<>]{{0,{MAX_ATTRIBUTES}}}|/)?"
_BLANKS = r"[ \t\r\n]{0,8}"
_FREE_HOPS = 3
_HOP = 2_000
"""How far, in characters, a hop to the next character that may be part of a close has to lead on the average.

A hop is a ``memchr``, which takes next to nothing where the character is rare; thought that is full of it is quicker for
one regular expression.
"""


def literal(mark: str) -> list[str]:
    """The atoms of a mark that is compared letter for letter, but for their case."""
    return [re.escape(char) for char in mark.lower()]


def _opening(tag: ReasoningTag) -> list[str]:
    """The atoms of an opening mark: patterns that must match one after the other."""
    if tag.has_attributes and tag.open.endswith(">"):
        return [*literal(tag.open[:-1]), ATTRIBUTES, *literal(">")]
    return literal(tag.open)


def _closing(mark: str) -> list[str]:
    if mark.startswith("</") and mark.endswith(">"):
        return ["<", "/", _BLANKS, *literal(mark[2:-1]), _BLANKS, ">"]
    return literal(mark)


class _Trie:
    """Marks by their common beginnings, so that a position of the text is compared with each atom once.

    :ivar ends: the number of the mark that ends here; the longest mark that matches wins, then the first.
    """

    def __init__(self) -> None:
        self.children: dict[str, _Trie] = {}
        self.ends: int | None = None

    def add(self, atoms: Sequence[str], number: int) -> None:
        node = self
        for atom in atoms:
            node = node.children.setdefault(atom, _Trie())
        if node.ends is None:
            node.ends = number

    def pattern(self, *, begun: bool) -> str:
        """Match a whole mark and name it by a group; with ``begun``, also what the end of the text shows of one."""
        branches = [atom + child.pattern(begun=begun) for atom, child in self.children.items()]
        if self.ends is not None:
            branches.append("" if begun else f"(?P<m{self.ends}>)")
        elif begun:
            branches.append(r"\Z")
        return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def compile_marks(marks: Sequence[Sequence[str]], *, begun: bool = False) -> re.Pattern[str]:
    """One pattern for marks that are given as atoms; the group that matched has the number of the mark.

    What all marks begin with stands in front as a literal, which the engine skips to several times as fast as to a set.
    Otherwise the first characters stand in front as one set, outside of the case-folding group; words that may be written
    in either case would be tried at every position of the text.
    """
    lead = 0 if begun else _common_lead(marks)
    if lead:
        trie = _Trie()
        for number, atoms in enumerate(marks):
            trie.add(atoms[lead:], number)
        return re.compile(f"{''.join(marks[0][:lead])}(?ai:{trie.pattern(begun=False)})")
    tries: dict[str, _Trie] = {}
    for number, (first, *rest) in enumerate(marks):
        tries.setdefault(_either_case(first), _Trie()).add(rest, number)
    if not tries:
        return re.compile(r"(?!)")
    branches = [rf"(?<=[{first}])(?ai:{trie.pattern(begun=begun)})" for first, trie in tries.items()]
    return re.compile(rf"[{''.join(tries)}](?:{'|'.join(branches)})")


def _common_lead(marks: Sequence[Sequence[str]]) -> int:
    """How many atoms all marks begin with that are one character and have no letter case; one atom of each is left."""
    lead = 0
    for atoms in zip(*(mark[:-1] for mark in marks), strict=False):
        if len(set(atoms)) > 1 or len(atoms[0]) > 2 or atoms[0][-1].isalpha():
            break
        lead += 1
    return lead


def _either_case(first: str) -> str:
    """The first atom, an escaped character, for use in a set."""
    return first.lower() + first.upper() if first.isalpha() else first


def _follows(atoms: tuple[str, ...]) -> str:
    """The characters that these atoms may begin with."""
    blanks = " \t\r\n" if atoms[0] == _BLANKS else ""
    first = atoms[1 if blanks else 0][-1]
    return blanks + first.lower() + first.upper()


class Closer:
    """Finds the first mark that ends a block; where two match, the longer one does. Compiled when it is first needed.

    :ivar hop: a character that every mark has, ``before`` characters behind its first; empty where they have none.
    """

    def __init__(self, marks: Iterable[str]) -> None:
        self._atoms = [_closing(mark) for mark in sorted(set(marks))]
        lead = _common_lead(self._atoms)
        self.before = lead - 1
        self.hop = self._atoms[0][lead - 1][-1] if lead else ""
        self._follow = "".join(map(_follows, {atoms[lead:][:2] for atoms in map(tuple, self._atoms)}))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A whole closing mark."""
        return compile_marks(self._atoms)

    @cached_property
    def begun(self) -> re.Pattern[str]:
        """What the end of a text shows of a closing mark."""
        return compile_marks(self._atoms, begun=True)

    def search(self, text: str, start: int, end: int | None = None) -> re.Match[str] | None:
        """The first closing mark that stands between ``start`` and ``end``."""
        limit = len(text) if end is None else end
        if self.hop:
            at, owed = start + self.before - 1, start - _FREE_HOPS * _HOP
            while (at := text.find(self.hop, at + 1, limit)) >= max(owed, 0):
                if text[at + 1 : at + 2] in self._follow and (
                    match := self.pattern.match(text, at - self.before, limit)
                ):
                    return match
                owed += _HOP
            if at < 0:
                return None
            start = max(start, at - self.before)
        return self.pattern.search(text, start, limit)


def _without_beginnings(marks: Iterable[str]) -> frozenset[str]:
    """The marks that no longer one begins with."""
    ordered = sorted(set(marks))
    return frozenset(mark for mark, behind in itertools.pairwise([*ordered, ""]) if not behind.startswith(mark))


@attrs.define(eq=False)
class Mark:
    """A mark that was found: it opens a block that ``closer`` ends, or it closes alone."""

    tag: str
    start: int
    end: int
    closer: Closer | None
    is_empty: bool = False


class _Usual(NamedTuple):
    """How the marks of a block were spelt, which is how the next answer of a model spells them."""

    opened: str
    closed: str
    closer: Closer


class Marks:
    """The marks of all tags, as one pattern for those that open and those that may close alone."""

    def __init__(self, tags: Sequence[ReasoningTag]) -> None:
        opening = [tag for tag in tags if tag.open]
        alone = [(tag.name, close) for tag in tags if tag.closes_alone for close in tag.close]
        kinds: list[tuple[str, Closer | None]] = [(tag.name, Closer(tag.close)) for tag in opening]
        kinds += [(name, None) for name, _ in alone]
        self._kinds = {f"m{number}": kind for number, kind in enumerate(kinds)}
        self._opens = [_opening(tag) for tag in opening]
        self._pattern = compile_marks([*self._opens, *(_closing(close) for _, close in alone)])
        self.longest = (
            MAX_ATTRIBUTES + max((len(mark) for tag in tags for mark in (tag.open, *tag.close)), default=0) + 16
        )
        self._usual: _Usual | None = None
        self._sure = _without_beginnings(mark.lower() for tag in tags for mark in (tag.open, *tag.close))
        self.any_close = Closer([close for _, close in alone])

    @cached_property
    def begun(self) -> re.Pattern[str]:
        """What the end of a text shows of an opening mark."""
        return compile_marks(self._opens, begun=True)

    def search(self, text: str, start: int = 0) -> Mark | None:
        """The first mark at or after ``start``, outside of any block."""
        match = self._pattern.search(text, start)
        return self._mark(match) if match else None

    @cached_property
    def _leading(self) -> re.Pattern[str]:
        return re.compile(rf"\s*+{self._pattern.pattern}")

    def leading_block(self, text: str, start: int = 0) -> tuple[int, int, int] | None:
        """The closed block that is next but for blanks: where its inside starts and ends, and where it ends itself."""
        if (usual := self._usual) and text.startswith(usual.opened, start):
            inside = start + len(usual.opened)
            at = text.find(usual.closer.hop, inside) - usual.closer.before
            if at >= inside and text.startswith(usual.closed, at):
                return inside, at, at + len(usual.closed)
        match = self._leading.match(text, start)
        if match is None:
            return None
        inside, closer = match.end(), self._kinds[match.lastgroup or ""][1]
        if closer is None or text[inside - 2] == "/":
            return None
        close = closer.search(text, inside)
        if close is None:
            return None
        opened, closed = match[0].lstrip(), close[0]
        if closer.hop and opened.lower() in self._sure and closed.lower() in self._sure:
            self._usual = _Usual(opened, closed, closer)
        return inside, *close.span()

    def search_open(self, text: str, start: int) -> Mark | None:
        """The first opening mark at or after ``start``."""
        mark = self.search(text, start)
        while mark and mark.closer is None:
            mark = self.search(text, mark.end)
        return mark

    def _mark(self, match: re.Match[str]) -> Mark:
        tag, closer = self._kinds[match.lastgroup or ""]
        start, end = match.span()
        return Mark(tag, start, end, closer, closer is not None and match.string.endswith("/>", start, end))
