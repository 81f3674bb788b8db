"""Finds English words for the words of one other language, by stems.

A form is a stem with an ending. There is no grammar: the stems of what tools do are enough to find a tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final

import attrs

from helmdeck_language.languages.language import Language
from helmdeck_language.text.terms import stem, words

# An ending has at most so many letters, unless the language has longer ones; a stem of fewer letters is a whole word.
_ENDING: Final = 4
_SHORTEST_STEM: Final = 4
# The same where vowels are signs of their own: Devanagari and the other scripts of India.
_SHORTEST_SIGNED_STEM: Final = 3
_SIGNED: Final = re.compile("[\u0900-\u0dff]")
# Letters of a word without its prefix, of the last part of a compound, and of the unknown part before it.
_SHORTEST_REST: Final = 3
_SHORTEST_LAST_PART: Final = 5
_SHORTEST_FIRST_PART: Final = 3
# The weight of every English word of a stem behind the first one.
_FURTHER: Final = 0.6
# The weight of words of a catalog for what people say, and of words of one language for the same English word.
_RELATED: Final = 0.5
_SAME: Final = 0.2
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
_DENSE: Final = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HANGUL: Final = re.compile("[\uac00-\ud7af]")
_PARTICLES: Final = frozenset("을 를 이 가 은 는 도 의 에 로 좀 만 과 와".split())
# Letters that people replace by others on a keyboard without them, or write in several ways; folding keeps these.
_PLAIN: Final = str.maketrans("łıøđأإآٱىةؤئ", "liodاااايهوي", "ـًٌٍَُِّْٰ")


@attrs.frozen(eq=False)
class _Meaning:
    """English words, most important first, and the further parts of a phrase."""

    english: tuple[str, ...]
    further: tuple[str, ...]


class Vocabulary:
    """The stems of one language with their English words. The language is loaded at the first use.

    :param sample: a word or letter in the script of the language.
    """

    def __init__(self, code: str, sample: str, load: Callable[[], Language]) -> None:
        self.code: str = code
        self.sample: str = sample
        self._load = load
        self._stems: dict[str, Mapping[str, list[_Meaning]]] = {}
        self._of = lru_cache(4_096)(self._meanings)

    @classmethod
    def of(cls, language: Language) -> Vocabulary:
        """Return the vocabulary of a language that is loaded."""
        sample = next(chain(*language.stems.values(), language.words, language.verbs, language.function_words), "")
        return cls(language.code, sample, lambda: language)

    @cached_property
    def _language(self) -> Language:
        return self._load()

    @cached_property
    def function_words(self) -> frozenset[str]:
        """The words that identify the language."""
        return self._language.function_words | frozenset(map(_plain, self._language.function_words))

    @cached_property
    def _rows(self) -> Mapping[str, list[tuple[str, str]]]:
        """The stems by their first letter, each with its English words."""
        found: dict[str, list[tuple[str, str]]] = {}
        for english, stems in self._language.stems.items():
            for each in map(_plain, stems):
                found.setdefault(each[0], []).append((each, english))
        return found

    def _beginning(self, letter: str) -> Mapping[str, list[_Meaning]]:
        """The meanings of the stems with this first letter; computed at the first use, since a request has few of them."""
        found = self._stems.get(letter)
        if found is None:
            found = {}
            for each, english in self._rows.get(letter, ()):
                first, *further = each.split("+")
                found.setdefault(first, []).append(_Meaning(tuple(words(english)), tuple(further)))
            for meanings in found.values():
                meanings.sort(key=lambda meaning: -len(meaning.further))
            self._stems[letter] = found
        return found

    def _stem(self, plain: str) -> Sequence[_Meaning] | None:
        return self._beginning(plain[:1]).get(plain)

    @cached_property
    def _forms(self) -> Mapping[str, str]:
        """The forms of the planner's lists, which are whole words, with their English words."""
        return {**self._language.words, **self._language.verbs}

    @cached_property
    def _longest(self) -> int:
        return max((len(each.partition("+")[0]) for rows in self._rows.values() for each, _ in rows), default=0)

    @cached_property
    def _shortest(self) -> int:
        return _SHORTEST_SIGNED_STEM if _SIGNED.match(self.sample) else _SHORTEST_STEM

    @cached_property
    def _ending(self) -> int:
        return self._language.longest_ending or _ENDING

    def contains(self, word: str) -> bool:
        """Whether a word is a function word or a stem as it is."""
        return word in self.function_words or self._stem(_plain(word)) is not None or word in self._forms

    def is_own(self, word: str) -> bool:
        """Whether a word has a meaning and is no English word with the same meaning, such as "radio"."""
        found = self._of(word)
        if not found or not word.isascii():
            return bool(found)
        # The first word of a phrase says nothing alone: "past" is English, and begins "past niet" in Dutch.
        if all(each.further for meanings in found for each in meanings):
            return False
        same = stem(word)
        return not any(stem(one) == same for meanings in found for each in meanings for one in each.english)

    def knows(self, word: str) -> bool:
        """Whether a word is a function word or has a meaning."""
        return word in self.function_words or bool(self._of(word))

    def english(self, found: Sequence[str]) -> Iterator[tuple[str, Mapping[str, float]]]:
        """Yield every word with its English words, if it has any, and their weights."""
        plain = [*map(_plain, found)]
        for place, word in enumerate(found):
            english: dict[str, float] = {}
            rest = plain[place + 1 : place + 1 + _NEAR]
            for meanings in self._of(word) or self._last_part(word):
                own = [each for each in meanings if _follow(each.further, plain[place], rest)]
                if own and own[0].further:
                    own = own[:1]  # a phrase; its first part means nothing else
                for each in own:
                    for rank, one in enumerate(each.english):
                        english[one] = max(english.get(one, 0.0), _FURTHER if rank else 1.0)
            yield word, english

    @cached_property
    def _people(self) -> Vocabulary:
        """What people say, with the words of catalogs in this language."""
        return Vocabulary(
            self.code,
            self.sample,
            lambda: attrs.evolve(self._language, stems=self._language.related, words={}, verbs={}),
        )

    @cached_property
    def _same(self) -> Mapping[str, tuple[str, ...]]:
        """The stems of this language by the English word that they stand for first."""
        found: dict[str, list[str]] = {}
        for english, stems in self._language.stems.items():
            found.setdefault(words(english)[0], []).extend(each for each in stems if "+" not in each)
        return {english: tuple(stems) for english, stems in found.items()}

    def related(self, found: Sequence[str]) -> Mapping[str, float]:
        """Return words of this language that a catalog may use for these words, with their weights."""
        related: dict[str, float] = {}
        for _, others in self._people.english(found):
            for other, weight in others.items():
                related[other] = max(related.get(other, 0.0), _RELATED * weight)
        for word in found if self._language.related else ():
            for meaning in chain.from_iterable(self._of(word)):
                for other in self._same.get(meaning.english[0], ()):
                    related.setdefault(other, _SAME)
        return related

    def _meanings(self, word: str) -> tuple[Sequence[_Meaning], ...]:
        """Return what each part of a word may mean."""
        if word in self._forms and self._stem(word) is None:
            return ([_Meaning(tuple(words(self._forms[word])), ())],)
        if not self._rows:
            return ()
        if _DENSE.search(word):
            return tuple(self._in_run(word[:_LONGEST_RUN]))
        if len(word) > _LONGEST_WORD:
            return ()
        word = _plain(word)
        if word in self.function_words and self._stem(word) is None:
            return ()
        found = self._parts(word)
        for prefix in self._language.prefixes if not found else ():
            rest = word.removeprefix(prefix)
            if rest is not word and len(rest) >= _SHORTEST_REST and (found := self._parts(rest)):
                break
        return tuple(found)

    def _last_part(self, word: str) -> tuple[Sequence[_Meaning], ...]:
        """Return what the last part of a compound with an unknown part before it means."""
        if not self._language.compounds or len(word) > _LONGEST_WORD:
            return ()
        for start in range(_SHORTEST_FIRST_PART, len(word) - _SHORTEST_LAST_PART + 1):
            for size in range(min(len(word) - start, self._longest), _SHORTEST_LAST_PART - 1, -1):
                if start + size >= len(word) - _LINKING and (meanings := self._stem(word[start : start + size])):
                    return (meanings,)
        return ()

    def _parts(self, word: str, most: int = _MOST_PARTS) -> list[Sequence[_Meaning]]:
        """Return the meanings of a word, or of the parts of a compound.

        Where the longest stem only begins phrases, a shorter one says what the word means beside them.
        """
        phrases = list[_Meaning]()
        stems = self._beginning(word[:1])
        for size in range(min(len(word), self._longest) if stems else 0, 1, -1):
            meanings = stems.get(word[:size])
            if meanings is None or (size < len(word) and size < self._shortest):
                continue
            rest = word[size:]
            for start in range(_LINKING + 1) if most > 1 and len(rest) >= _SHORTEST_STEM else ():
                if others := self._parts(rest[start:], most - 1):
                    return [[*phrases, *meanings], *others]
            if len(rest) <= self._ending:
                phrases += meanings
                if not meanings[-1].further:
                    return [phrases]
        return [phrases] if phrases else []

    def _in_run(self, word: str) -> list[Sequence[_Meaning]]:
        """Return the meanings of all stems in a word with endings and particles, or in a text without spaces."""
        found, place = list[Sequence[_Meaning]](), 0
        is_hangul = _HANGUL.match(word) is not None
        while place < len(word):
            length = 0
            stems = self._beginning(word[place])
            for size in range(min(len(word) - place, self._longest) if stems else 0, 0, -1):
                meanings = stems.get(word[place : place + size])
                rest = word[place + size :]
                if meanings and (size > 1 or not is_hangul or (not place and (not rest or rest in _PARTICLES))):
                    found.append(meanings)
                    length = length or size
                    if not meanings[-1].further:
                        break
            place += length or 1
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
            if rest[at] == part or (rest[at].startswith(part) and (len(part) >= _SHORTEST_STEM or _DENSE.search(part))):
                place = at + 1
                break
        else:
            return False
    return True


def _plain(word: str) -> str:
    """Return a folded word as it is written on a keyboard without its special letters."""
    return word if word.isascii() else word.translate(_PLAIN)
