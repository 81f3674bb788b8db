"""Compiles reasoning tags into patterns that find their marks.

The tags are data from plugins. ReasoningMarks are case-insensitive; opening marks may have attributes, closing marks whitespace.
All searches are linear in the length of the text.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import attrs

from helmdeck_core import ReasoningTag

MAX_ATTRIBUTES = 1000  # characters; limits the stream buffer after an incomplete opening mark

CODE_SPAN = 200  # characters of a line that show where a code span starts

_ATTRIBUTES = rf"(?:\s[^<>]{{0,{MAX_ATTRIBUTES}}}|/)?"
_SPACES = r"[ \t\r\n]{0,8}"
_FREE_HOPS = 3
_HOP = 2_000
"""Minimum average distance, in characters, between hops to a character of a closing mark.

A hop is a ``memchr``, which is fast where the character is rare; otherwise one regular expression is faster.
"""


def mark_atoms(mark: str, *, has_attributes: bool = False) -> list[str]:
    """The atoms of a mark, for ``compile_marks``: patterns that match in sequence, ignoring case.

    :param has_attributes: attributes may stand before a ``>`` that ends the mark.
    """
    atoms = [re.escape(char) for char in mark.lower()]
    return [*atoms[:-1], _ATTRIBUTES, ">"] if has_attributes and mark.endswith(">") else atoms


def _closing(mark: str) -> list[str]:
    if mark.startswith("</") and mark.endswith(">"):
        return ["<", "/", _SPACES, *mark_atoms(mark[2:-1]), _SPACES, ">"]
    return mark_atoms(mark)


class _Trie:
    """A prefix tree of marks, so that each position of the text is compared with each atom once.

    :ivar ends: the number of the mark that ends here; the longest match wins, then the first.
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

    def pattern(self, *, partial: bool, suffix: str = "") -> str:
        """Match a whole mark in a named group; with ``partial``, also a prefix of a mark at the end of the text.

        :param suffix: of the group names.
        """
        branches = [
            _either_case(atom) + child.pattern(partial=partial, suffix=suffix) for atom, child in self.children.items()
        ]
        if self.ends is not None:
            branches.append("" if partial else f"(?P<m{self.ends}{suffix}>)")
        elif partial:
            branches.append(r"\Z")
        return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"

    def following(self) -> str:
        """Match where one of the next characters, or the end of the text, follows; empty if any character may.

        One comparison with a set is faster than the attempt to match every branch.
        """
        if self.ends is not None or any(len(atom.lstrip("\\")) != 1 for atom in self.children):
            return ""
        return f"(?![^{''.join(_letter_cases(atom) for atom in self.children)}])"


def compile_marks(marks: Sequence[Sequence[str]], *, partial: bool = False) -> re.Pattern[str]:
    """Compile marks, as lists of atoms, into one pattern; the matching group has the number of the mark.

    A common prefix comes first as a literal, which the engine finds several times faster than a set. Otherwise there is a
    branch for each first character, in each case: the engine then skips to the next one of them.
    """
    return re.compile(_source(tuple(map(tuple, marks)), partial))


@functools.lru_cache(maxsize=64)  # most decks of a process have the same marks
def _source(marks: tuple[tuple[str, ...], ...], partial: bool) -> str:
    lead = 0 if partial else _common_lead(marks)
    if lead:
        trie = _Trie()
        for number, atoms in enumerate(marks):
            trie.add(atoms[lead:], number)
        return f"{''.join(marks[0][:lead])}(?a:{trie.following()}{trie.pattern(partial=False)})"
    tries: dict[tuple[str, str], _Trie] = {}
    for number, (first, *rest) in enumerate(marks):
        tries.setdefault((first, _WORD_START if first.isalpha() and _SPACE in rest else ""), _Trie()).add(rest, number)
    branches = [
        f"{char}{start}{trie.following()}{trie.pattern(partial=partial, suffix=suffix)}"
        for (first, start), trie in tries.items()
        for char, suffix in ((first, ""), (first.upper(), _UPPER))[
            : len(_letter_cases(first)) if len(first) == 1 else 1
        ]
    ]
    return f"(?a:{'|'.join(branches)})" if branches else r"(?!)"


_UPPER = "upper"
_SPACE = re.escape(" ")
_WORD_START = r"(?<!\w.)"
"""After the first letter of a phrase: it is the first one of a word. The end of ``The`` is not the start of ``Here is``."""


def mark_of_group(pattern: re.Pattern[str]) -> Mapping[int | None, int]:
    """The numbers of the marks by the indexes of their groups in a compiled pattern; see ``re.Match.lastindex``."""
    return {index: int(name.removesuffix(_UPPER)[1:]) for name, index in pattern.groupindex.items()}


def _common_lead(marks: Sequence[Sequence[str]]) -> int:
    """The length of the common prefix of single-character atoms without letter case; shorter than every mark."""
    lead = 0
    for atoms in zip(*(mark[:-1] for mark in marks), strict=False):
        if len(set(atoms)) > 1 or len(atoms[0]) > 2 or atoms[0][-1].isalpha():
            break
        lead += 1
    return lead


def _letter_cases(atom: str) -> str:
    """An ASCII letter in both cases; any other atom as it is."""
    return atom + atom.upper() if len(atom) == 1 and atom.isascii() and atom.isalpha() else atom


def _either_case(atom: str) -> str:
    """A pattern for an atom that ignores the case of a letter.

    The engine compares a set with the next character before it tries a branch, which it does not do for a letter that is
    to match in either case.
    """
    return f"[{cases}]" if (cases := _letter_cases(atom)) != atom else atom


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
        lead = _common_lead(self._atoms)
        self.before = lead - 1
        self.hop = self._atoms[0][lead - 1][-1] if lead else ""
        self.first = self._atoms[0][0][-1] if lead else ""
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
        self._pattern = compile_marks(self._all)
        self._kinds = {index: kinds[number] for index, number in mark_of_group(self._pattern).items()}
        self.longest = (
            MAX_ATTRIBUTES + max((len(mark) for tag in tags for mark in (tag.open, *tag.close)), default=0) + 16
        )
        self._last_block: _BlockMarks | None = None
        self._unambiguous = _without_prefixes(mark.lower() for tag in tags for mark in (tag.open, *tag.close))
        self.any_close = Closer([close for _, close in alone])

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
        return ReasoningMark(tag, start, end, closer, closer is not None and match.string.endswith("/>", start, end))
