"""Joins a truncated answer with its continuation.

A model continues at the truncation, or restarts the word, line, block or whole answer, or announces the continuation first.
The seam is found by content: repetitions of the end of the answer and announcements are removed; text that legitimately
repeats is kept. Without clear evidence nothing is removed, because a duplicated word is visible and a lost word is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import attrs

from helmdeck_core import ContinuationAnnouncement, Merged
from helmdeck_recovery.continuation.repetition import LINE_MARK, SURE, longest_repetition, repeated_length, squashed
from helmdeck_recovery.continuation.structure import Ending, last_word

HEAD = 400
"""Characters at the start of a continuation that are searched for an announcement, a fence or a repeated line."""
SAME_START = 6
"""A continuation with the same first characters as the answer may be the whole answer again."""

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]*)[^\n`]*$", re.MULTILINE)
_FENCE_BEGUN = re.compile(r"(?:`+|~+)[\w+#.-]*")
_FENCE_MARK = re.compile(r"`{3}|~{3}")
_OPENING = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]*)[ \t]*\n")
_CLOSING = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})\s*\Z")
_LINE_START = re.compile(
    r"\n(?!\n|(?:[-*+]|\d+[.)]) )|(?: {2,}|\t+)\S|\|[ \t]*\S|(?:[-*+]|(?P<number>\d+[.)])|#+|>) \S"
)
"""What begins a line: after a line break, a blank line."""
_SPACE = re.compile(r"\s*")
_BREAKS = re.compile(r"[ \t]*\n\s*(?=[^\W\d_])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(")?', re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


@attrs.frozen
class Seam:
    """The place where a continuation continues the answer.

    :ivar start: index of the first new character of the continuation.
    :ivar kinds: kinds of the removed text: ``announcement``, ``fence``, ``repetition``, ``white space``.
    :ivar has_foreign_fence: an opening fence was removed that does not belong to the answer; its closing fence is removed too.
    :ivar is_open: the continuation so far only repeats the answer, so that the seam is still unknown.
    """

    start: int = 0
    kinds: tuple[str, ...] = ()
    has_foreign_fence: bool = False
    is_open: bool = False


class Merger:
    """A ``ContinuationMerger`` that finds the seam by content.

    :param announcements: how models announce that they continue, by language.
    """

    def __init__(self, announcements: Sequence[ContinuationAnnouncement] = ()) -> None:
        self._announcements = tuple(announcements)

    @cached_property
    def _announcement(self) -> re.Pattern[str] | None:
        """Compiled on first use, because compiling would slow down start-up."""
        return announcement_pattern(self._announcements)

    def merge(self, answer: str, more: str, *, is_truncated: bool = False) -> Merged:
        """Join a truncated answer with its continuation: a stream of one chunk, so that streams cannot differ.

        :param answer: the text joined so far.
        :param more: the visible text of the continuation.
        :param is_truncated: whether the continuation is truncated too.
        """
        stream = self.stream(answer)
        added = stream.feed(more) + stream.finish(is_truncated=is_truncated)
        return Merged(answer + added, added, len(more) - len(added), stream.seam.kinds if stream.seam else ())

    def alternatives(self, answer: str, more: str) -> tuple[Merged, ...]:
        """The texts as they are, without the longest repetition, and the continuation as the whole answer."""
        rest = more[longest_repetition(answer, more) :]
        joins = [Merged(answer + more, more), Merged(answer + rest, rest, len(more) - len(rest))]
        if squashed(more).startswith(squashed(answer)[:SAME_START]):
            joins.append(Merged(more, more, is_restart=True))
        return tuple(joins)

    def stream(self, answer: str) -> SeamStream:
        """Join a continuation that arrives in chunks.

        :param answer: the text joined so far; none of it is released again.
        """
        return SeamStream(self, answer)

    def find_seam(self, ending: Ending, more: str, *, is_truncated: bool = False) -> Seam:
        """Find where a continuation continues the answer; linear in the length of both."""
        answer = ending.text
        if not answer or not more:
            return Seam()
        begun = _fence_again(answer, more)
        if begun and longest_repetition(answer, more) <= begun:
            return Seam(begun, ("repetition",))
        for start, blank, kinds in self._heads(answer, more):
            length = repeated_length(ending, more[start:], blank, is_truncated=is_truncated)
            if length:
                stop = start + length
                foreign = "fence" in kinds and not _open_fence(answer)
                return Seam(stop, (*kinds, "repetition"), foreign, is_open=stop == len(more))
        # Nothing is repeated: only announcements, fences and foreign line breaks can be dropped.
        start, kinds = self._introduction(answer, more)
        if start:
            start -= kinds == ("announcement",) and _owns_break(answer, more, start)
            return Seam(start, kinds, "fence" in kinds and not _open_fence(answer), is_open=start == len(more))
        broken = _foreign_break(answer, more)
        return Seam(broken, ("white space",)) if broken else Seam()

    def may_still_repeat(self, answer: str, more: str) -> bool:
        """Whether the continuation so far only repeats the answer, so that more may follow."""
        ours = squashed(answer)
        tails = (squashed(more[start:]) for start, _, _ in self._heads(answer, more))
        return any(len(tail) >= SURE and tail in ours for tail in tails)

    def _heads(self, answer: str, more: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """Yield the possible starts of a repetition, each with the whitespace before it and the kinds of removed text."""
        announced = self._announced(answer, more)
        introduced, kinds = self._introduction(answer, more)
        fence = _OPENING.match(more)
        seen: set[int] = set()
        for place, before in (
            (0, ()),
            (announced, ("announcement",)),
            (introduced, kinds),
            (fence.end() if fence else 0, ("fence",)),
        ):
            for start, dropped in ((place, before), (_blank_end(more, place), (*before, "white space"))):
                if start not in seen:
                    seen.add(start)
                    yield start, more[place:start], dropped

    def _introduction(self, answer: str, more: str) -> tuple[int, tuple[str, ...]]:
        """Return the end of an announcement and a reopened fence, and their kinds."""
        start = self._announced(answer, more)
        kinds: tuple[str, ...] = ("announcement",) if start else ()
        fence = _OPENING.match(more, start)
        if fence and _is_foreign_fence(answer, fence["language"]):
            start, kinds = fence.end(), (*kinds, "fence")
        return start, kinds

    def _announced(self, answer: str, more: str) -> int:
        """Return the end of an announcement; 0 without one, as for the ``continue`` of a loop."""
        announced = self._announcement.match(more[: HEAD + 1]) if self._announcement else None
        if announced is None or (more.lstrip()[:1].islower() and not answer.endswith((".", ":", "!", "?", "\n"))):
            return 0
        return announced.end()


class SeamStream:
    """Joins a continuation that arrives in chunks: releases new text as soon as the seam is certain."""

    def __init__(self, merger: Merger, answer: str) -> None:
        self._merger = merger
        self._ending = Ending(answer)
        self._held: list[str] = []
        self._size = 0
        self._next_look = HEAD
        self.seam: Seam | None = None
        self._tail = ""

    def feed(self, chunk: str) -> str:
        """Process the next chunk and return the released text."""
        if self.seam is not None:
            return self._pass(chunk)
        self._held.append(chunk)
        self._size += len(chunk)
        # The seam is looked for in the same text for every chunking. A repetition that has not ended gives no seam
        # yet; the interval between searches doubles.
        while self._size >= self._next_look:
            more = "".join(self._held)
            known = more[: self._next_look]
            if not self._merger.may_still_repeat(self._ending.text, known):
                seam = self._merger.find_seam(self._ending, known)
                if not seam.is_open:
                    return self._settle(seam, more)
            self._held = [more]
            self._next_look *= 2
        return ""

    def finish(self, *, is_truncated: bool = False) -> str:
        """End the stream and return the text that was held back."""
        if self.seam is None:
            more = "".join(self._held)
            released = self._settle(self._merger.find_seam(self._ending, more, is_truncated=is_truncated), more)
        else:
            released = ""
        rest, self._tail = self._tail, ""
        return released + (without_closing_fence(rest) if self.seam and self.seam.has_foreign_fence else rest)

    def _settle(self, seam: Seam, more: str) -> str:
        self.seam = seam
        self._held.clear()
        return self._pass(more[seam.start :])

    def _pass(self, text: str) -> str:
        if self.seam is None or not self.seam.has_foreign_fence:
            return text
        text = self._tail + text
        # A fence at the end may be the closing one, so it is held back until more text arrives.
        closing = re.search(r"\n?[ \t]*(?:`+|~+)?\s*\Z", text)
        end = closing.start() if closing else len(text)
        self._tail = text[end:]
        return text[:end]


# -- the start of a continuation ----------------------------------------------------------------------------------


def announcement_pattern(announcements: Iterable[ContinuationAnnouncement]) -> re.Pattern[str] | None:
    """Return one pattern for the announcements of all languages; ``None`` without announcements."""
    every = tuple(announcements)
    openers = _any_of(word for each in every for word in each.openers)
    phrases = _any_of(word for each in every for word in each.phrases)
    unspaced = _any_of(word for each in every for word in each.unspaced_phrases)
    patterns = []
    if phrases:
        opened = rf"{openers}\b(?=[^\n]{{0,200}}?\b{phrases}\b)|" if openers else ""
        patterns.append(rf"\s*[*_(\[<#>\- \t]*(?:{opened}{phrases}\b)[^\n]{{0,220}}?[:.!…\])*]+[ \t]*(?:\n{{1,2}}|\Z)")
    if unspaced:
        patterns.append(rf"\s*[^\n]{{0,40}}{unspaced}[^\n]{{0,40}}[:：。…][ \t]*(?:\n{{1,2}}|\Z)")
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _any_of(words: Iterable[str]) -> str:
    found = "|".join(f"(?:{word})" for word in dict.fromkeys(words))
    return f"(?:{found})" if found else ""


def without_closing_fence(text: str) -> str:
    """Return the text without a closing fence at its end."""
    closing = _CLOSING.search(text)
    return text[: closing.start()] if closing else text


def _blank_end(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _fence_again(answer: str, more: str) -> int:
    """Return the length of a repeated fence: one that was truncated, or was the end of the answer."""
    begun = _FENCE_BEGUN.fullmatch(answer, answer.rfind("\n") + 1)
    whole = _FENCE_MARK.match(more)
    return len(begun.group()) if begun and whole and more.startswith(begun.group()) else 0


def _is_foreign_fence(answer: str, language: str) -> bool:
    """Whether a fence at the seam does not belong to the answer."""
    if not answer.endswith("\n"):
        return True
    # After a complete line, a fence with a language opens a block, and one without closes the open block.
    return bool(language) if _open_fence(answer) else answer.lstrip()[:1] in ("{", "[")


def _open_fence(answer: str) -> bool:
    """Whether the answer ends inside a fence."""
    if "```" not in answer and "~~~" not in answer:
        return False
    mark = ""
    for fence in _FENCE.finditer(answer):
        if not mark:
            mark = fence["mark"]
        elif not fence["language"] and fence["mark"].startswith(mark):
            mark = ""
    return bool(mark)


def _owns_break(answer: str, more: str, start: int) -> bool:
    """Whether the second line break after an announcement is the answer's, since what follows begins a line."""
    if more[start - 2 : start] != "\n\n" or answer[-1:].isspace():
        return False
    begun = _LINE_START.match(more, start)
    return begun is not None and not (begun["number"] and answer[-1:].isdigit())


# -- line breaks at the seam ------------------------------------------------------------------------------------------


def _foreign_break(answer: str, more: str) -> int:
    """Return the length of a line break at the seam that splits a word or a JSON string."""
    broken = _BREAKS.match(more)
    if broken is None or _open_fence(answer):
        return 0
    if answer.lstrip()[:1] in ("{", "["):
        return broken.end() if _ends_in_string(answer) else 0
    begun, following = last_word(answer), _FIRST_WORD.match(more, broken.end())
    if not begun or following is None or not following.group()[0].islower():
        return 0
    line = answer[answer.rfind("\n") + 1 :]
    if len(line) < SURE or LINE_MARK.match(line) or not _flows(answer):
        return 0
    first, second = begun, following.group()
    known = {*_WORD.findall(answer[: -len(begun)]), *_WORD.findall(more[following.end() :])}
    return broken.end() if first + second in known or not (first in known or second in known) else 0


def _ends_in_string(answer: str) -> bool:
    """Whether JSON ends inside a string."""
    return any(match.group(1) is None for match in _STRING.finditer(answer))


def _flows(answer: str) -> bool:
    """Whether each paragraph is one line, so that a line break inside a sentence does not belong to the text."""
    lines = (line.rstrip() for line in answer.splitlines()[:-1] if len(line) >= SURE and not LINE_MARK.match(line))
    return all(not line[-1].isalpha() and line[-1] != "," for line in lines)
