"""Finds English words for the words of one other language, by stems.

A form is a stem with an ending. There is no grammar: a few hundred stems of what tools do are enough to find a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import attrs

from helmdeck_language.languages.language import Language
from helmdeck_language.text.terms import words

# An ending has at most so many letters; a stem of fewer letters is a whole word.
_ENDING: Final = 4
_SHORTEST_STEM: Final = 4
# Letters between the parts of a compound: "Küche-n-licht".
_LINKING: Final = 2
# A compound has at most so many parts, and a word that is looked at so many letters; longer ones are encoded data, or the first part
# of a text without spaces.
_MOST_PARTS: Final = 3
_LONGEST_WORD: Final = 40
_LONGEST_RUN: Final = 400
# Words between the parts of a phrase: "schalte das Licht in der Küche ein".
_NEAR: Final = 10
# Scripts whose words have endings and particles of any length, or no spaces around them.
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HANGUL: Final = re.compile("[\uac00-\ud7af]")
_PARTICLES: Final = frozenset("을 를 이 가 은 는 도 의 에 로 좀 만 과 와".split())


@attrs.frozen(eq=False)
class _Meaning:
    """English words, most important first, and the further parts of a phrase."""

    english: tuple[str, ...]
    further: tuple[str, ...]


class Vocabulary:
    """The stems of one language with their English words."""

    def __init__(self, language: Language) -> None:
        self.code: str = language.code
        self.function_words: frozenset[str] = language.function_words
        self._stems: dict[str, list[_Meaning]] = {}
        for english, stems in language.stems.items():
            for stem in stems:
                first, *further = stem.split("+")
                self._stems.setdefault(first, []).append(_Meaning(tuple(words(english)), tuple(further)))
        # The forms of the planner's lists are whole words.
        self._forms = {
            form: _Meaning(tuple(words(english)), ())
            for table in (language.words, language.verbs)
            for form, english in table.items()
            if form not in self._stems
        }
        for meanings in self._stems.values():
            meanings.sort(key=lambda meaning: -len(meaning.further))
        self._longest = max(map(len, self._stems), default=0)
        self._of = lru_cache(4_096)(self._meanings)

    @property
    def sample(self) -> str:
        """A word of the language."""
        return next(iter(self._stems), "")

    def __bool__(self) -> bool:
        return bool(self._stems or self._forms)

    def knows(self, word: str) -> bool:
        """Whether a word has a meaning of its own."""
        return bool(self._of(word))

    def english(self, found: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield every word with its English words, if it has any."""
        for place, word in enumerate(found):
            english: list[str] = []
            for meanings in self._of(word):
                rest = found[place + 1 : place + 1 + _NEAR]
                own = [each for each in meanings if _follow(each.further, word, rest)]
                if own and own[0].further:
                    own = own[:1]  # a phrase; its first part means nothing else
                english += [one for each in own for one in each.english]
            yield word, tuple(dict.fromkeys(english))

    def _meanings(self, word: str) -> tuple[Sequence[_Meaning], ...]:
        """Return what each part of a word may mean."""
        if word in self._forms:
            return ([self._forms[word]],)
        if not self._stems:
            return ()
        if _DENSE.search(word):
            return tuple(self._in_run(word[:_LONGEST_RUN]))
        return tuple(self._parts(word)) if len(word) <= _LONGEST_WORD else ()

    def _parts(self, word: str, most: int = _MOST_PARTS) -> list[Sequence[_Meaning]]:
        """Return the meanings of a word, or of the parts of a compound."""
        for size in range(min(len(word), self._longest), 1, -1):
            meanings = self._stems.get(word[:size])
            if meanings is None or (size < len(word) and size < _SHORTEST_STEM):
                continue
            rest = word[size:]
            for start in range(_LINKING + 1) if most > 1 and len(rest) >= _SHORTEST_STEM else ():
                if others := self._parts(rest[start:], most - 1):
                    return [meanings, *others]
            if len(rest) <= _ENDING:
                return [meanings]
        return []

    def _in_run(self, word: str) -> list[Sequence[_Meaning]]:
        """Return the meanings of all stems in a word with endings and particles, or in a text without spaces."""
        found, place = list[Sequence[_Meaning]](), 0
        is_hangul = _HANGUL.match(word) is not None
        while place < len(word):
            for size in range(min(len(word) - place, self._longest), 0, -1):
                meanings = self._stems.get(word[place : place + size])
                rest = word[place + size :]
                if meanings and (size > 1 or not is_hangul or (not place and (not rest or rest in _PARTICLES))):
                    found.append(meanings)
                    place += size
                    break
            else:
                place += 1
        return found


def _follow(further: Sequence[str], word: str, rest: Sequence[str]) -> bool:
    """Whether the further parts of a phrase follow, in order, as words or later in the same word."""
    if not further:
        return True
    place = 0
    for part in further:
        if part in word and len(part) > 1 and _DENSE.search(part):
            continue
        for at in range(place, len(rest)):
            if rest[at] == part or (len(part) >= _SHORTEST_STEM and rest[at].startswith(part)):
                place = at + 1
                break
        else:
            return False
    return True
