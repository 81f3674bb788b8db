"""Translates the words of a request into the language of a catalog: English.

No grammar and no sentences: a few hundred verbs and nouns of what tools do, by their stems. A request keeps its other words, such as
names. What a language file contains is described in ``docs/how-to/add-words-or-a-language.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import attrs

from helmdeck_language.languages.detection import CatalogLanguages, everyday_words, without_values
from helmdeck_language.languages.language import Language
from helmdeck_language.request.reading import Clause, Reading
from helmdeck_language.text.terms import word_terms, words

# A form is a stem and at most so many letters; a stem of fewer letters is a whole word.
_ENDING: Final = 4
_SHORTEST_STEM: Final = 4
# Letters between the parts of a compound: "Küche-n-licht".
_LINKING: Final = 2
# The weight of every English word of a stem behind the first one.
_FURTHER: Final = 0.6
# Words of a request that are looked at.
_MOST_WORDS: Final = 120
# Size limit of the cache of words.
_MOST_CACHED: Final = 20_000
# The share of the words of a request that its language knows; fewer are names and paths.
_MIN_SHARE: Final = 0.25
# Words between the parts of a phrase: "schalte das Licht in der Küche ein".
_NEAR: Final = 10
# Scripts whose words have endings and particles of any length, or no spaces around them.
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Chinese and Japanese share characters; only Japanese has these.
_KANA: Final = re.compile("[\u3040-\u30ff]")
_HANGUL: Final = re.compile("[\uac00-\ud7af]")
_PARTICLES: Final = frozenset("을 를 이 가 은 는 도 의 에 로 좀 만 과 와".split())


@attrs.frozen
class Translation:
    """A request with English words.

    :ivar language: the code of the language of the request.
    :ivar share: how many of the words that are no function words were translated, 0 to 1.
    """

    reading: Reading
    language: str
    share: float


@attrs.frozen(eq=False)
class _Meaning:
    """English words, most important first, and the further parts of a phrase."""

    english: tuple[str, ...]
    further: tuple[str, ...]


class Vocabulary:
    """The stems of one language with their English words."""

    def __init__(self, language: Language) -> None:
        self.code = language.code
        self.function_words = language.function_words
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
                own = next((each for each in meanings if _follow(each.further, word, rest)), None)
                english += own.english if own else ()
            yield word, tuple(dict.fromkeys(english))

    def _meanings(self, word: str) -> tuple[Sequence[_Meaning], ...]:
        """Return what each part of a word may mean."""
        if word in self._forms:
            return ([self._forms[word]],)
        if not self._stems:
            return ()
        return tuple(self._in_run(word) if _DENSE.search(word) else self._parts(word, _ENDING))

    def _parts(self, word: str, ending: int) -> list[Sequence[_Meaning]]:
        """Return the meanings of a word, or of the parts of a compound."""
        for size in range(min(len(word), self._longest), 1, -1):
            meanings = self._stems.get(word[:size])
            if meanings is None or (size < len(word) and size < _SHORTEST_STEM):
                continue
            rest = word[size:]
            for start in range(min(_LINKING, len(rest)) + 1) if len(rest) >= _SHORTEST_STEM else ():
                if others := self._parts(rest[start:], _ENDING):
                    return [meanings, *others]
            if len(rest) <= ending:
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


class Translator:
    """Translates requests that are not in a language of a catalog.

    :param languages: the known ones, English first.
    :param catalog: the languages of the catalog; nothing is translated unless English is one of them.
    :param contains: whether a term is in the catalog.
    """

    def __init__(
        self, languages: Sequence[Language], catalog: CatalogLanguages, contains: Callable[[str], bool]
    ) -> None:
        self._contains = contains
        self._english = everyday_words().by_language["en"]
        is_english = "en" in catalog.languages
        self._vocabularies = [
            vocabulary
            for each in languages
            if is_english
            and each.code not in ("en", *catalog.languages)
            and (vocabulary := Vocabulary(each))
            and not catalog.uses_script(vocabulary.sample)
        ]
        self._votes = _Votes(self._vocabularies)

    def translate(self, reading: Reading) -> Translation | None:
        """Return a request with English words; ``None`` if it is not in one of the languages."""
        asking = "\n".join(reading.asking)
        plain = without_values(asking)
        shown = reading.asking_words if plain is asking else words(plain)
        vocabulary = self._detect(shown[:_MOST_WORDS])
        if vocabulary is None:
            return None
        clauses = [(clause, list(vocabulary.english(words(clause.text)))) for clause in reading.clauses]
        own: dict[str, float] = {}
        dropped, kept = set[str](), dict[str, None]()
        translated = content = 0
        changed: list[Clause] = []
        for clause, rows in clauses:
            found: dict[str, float] = {}
            for word, english in rows:
                terms = word_terms(word)
                if english:
                    translated += 1
                    dropped.update(terms)
                    for rank, term in enumerate(term for each in english for term in word_terms(each)):
                        found.setdefault(term, _FURTHER if rank else 1.0)
                elif word in vocabulary.function_words:
                    dropped.update(terms)
                    continue
                else:
                    kept.update(dict.fromkeys(terms))
                    found |= dict.fromkeys(terms, 1.0)
                content += 1
            own |= {term: max(weight, own.get(term, 0.0)) for term, weight in found.items()}
            changed.append(attrs.evolve(clause, terms=tuple(found)))
        weights = {term: weight for term, weight in reading.weights.items() if term not in dropped or term in kept}
        for term, weight in own.items():
            weights[term] = max(weight, weights.get(term, 0.0)) if term in kept else weight
        changed_reading = attrs.evolve(reading, weights=weights, clauses=tuple(changed))
        return Translation(changed_reading, vocabulary.code, translated / content if content else 0.0)

    def _detect(self, asking: Sequence[str]) -> Vocabulary | None:
        """Return the language with the most known words, if it has more than English and the catalog."""
        own = sum(map(self._english.__contains__, asking))
        if not self._vocabularies or 2 * own >= len(asking):
            return None
        unknown = [word for word in asking if word not in self._english]
        votes = list(filter(None, map(self._votes.__getitem__, unknown)))
        if not votes:
            return None
        count = Counter(chain.from_iterable(votes))
        most = max(count.values())
        if most <= own or most < _MIN_SHARE * len(asking):
            return None
        leading = [self._vocabularies[place] for place in sorted(count) if count[place] == most]
        best = max(leading, key=lambda each: len(each.function_words.intersection(unknown)))
        shared = [word for word in unknown if all(map(self._contains, word_terms(word)))]
        own += sum([word not in best.function_words for word in shared])
        return best if most > own else None


class _Votes(dict[str, tuple[int, ...]]):
    """The places of the vocabularies that know a word, computed at the first use."""

    def __init__(self, vocabularies: Sequence[Vocabulary]) -> None:
        self._vocabularies = vocabularies

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MOST_CACHED:
            self.clear()
        wrong = "zh" if _KANA.search(word) else "ja"
        self[word] = found = tuple([
            place
            for place, each in enumerate(self._vocabularies)
            if each.code != wrong and (word in each.function_words or each.knows(word))
        ])  # fmt: skip
        return found
