"""Compiles marks, such as tags of reasoning and of tool calls, into one pattern that finds any of them.

A mark is a list of atoms: patterns that match in sequence, ignoring case. ``reasoning_marks`` and ``tool_calls.scanner`` use it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

MAX_ATTRIBUTES = 1000  # characters; limits the stream buffer after an incomplete opening mark

_ATTRIBUTES = rf"(?:\s[^<>]{{0,{MAX_ATTRIBUTES}}}|/)?"


def mark_atoms(mark: str, *, has_attributes: bool = False) -> list[str]:
    """The atoms of a mark, for ``compile_marks``: patterns that match in sequence, ignoring case.

    :param has_attributes: attributes may stand before a ``>`` that ends the mark.
    """
    atoms = _escaped(mark)
    return [*atoms[:-1], _ATTRIBUTES, ">"] if has_attributes and mark.endswith(">") else list(atoms)


@functools.lru_cache(maxsize=1_024)  # every deck of a process reads the same marks
def _escaped(mark: str) -> tuple[str, ...]:
    return tuple(re.escape(char) for char in mark.lower())


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
    lead = 0 if partial else common_lead(marks)
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


def common_lead(marks: Sequence[Sequence[str]]) -> int:
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
