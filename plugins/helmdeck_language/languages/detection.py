"""Whether a request is in a language that a catalog does not use: then shared words are coincidences."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final

import attrs

from helmdeck_core import Entry
from helmdeck_language.languages import LANGUAGES, Language
from helmdeck_language.text.terms import fold
from helmdeck_language.text.word_files import WordFile

_SCRIPTS: Final = (
    ("Latin", 0x0041, 0x024F),
    ("Greek", 0x0370, 0x03FF),
    ("Cyrillic", 0x0400, 0x052F),
    ("Hebrew", 0x0590, 0x05FF),
    ("Arabic", 0x0600, 0x06FF),
    ("Devanagari", 0x0900, 0x097F),
    ("Thai", 0x0E00, 0x0E7F),
    ("Kana", 0x3040, 0x30FF),
    ("Han", 0x3400, 0x9FFF),
    ("Hangul", 0xAC00, 0xD7AF),
)
# Scripts whose letters are words or syllables: one says as much as three letters.
_DENSE: Final = frozenset(("Kana", "Han", "Hangul"))
_DENSITY: Final = 3

_AFTER_LATIN: Final = "\u0250"
_WORD: Final = re.compile(r"[^\W\d_]+")
_ASCII_WORD: Final = re.compile(r"[a-z]+")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“]*“|«[^»]*»")
_URL_MARK: Final = re.compile(r"[/\\@]|www\.")
_QUOTE: Final = re.compile('["“„«]')
# Entries that tell the languages of a catalog.
_SAMPLE: Final = 200
# The share of the letters of a request in a script, and of the letters of a catalog that uses it.
_MOST_LETTERS, _USED_LETTERS = 0.5, 0.01
# The share of the entries of a catalog that are in a language which it uses.
_USED_ENTRIES: Final = 0.1
# Everyday words that show the language of a request.
_MIN_WORDS: Final = 2
# Words of a request of which one is enough if none is of a language of the catalog.
_ENOUGH_WORDS: Final = 4
# Words of a request beyond which nothing changes.
_MAX_WORDS: Final = 400
# Counters of words of each language are packed into one number.
_COUNTER: Final = _MAX_WORDS.bit_length()


@attrs.frozen(eq=False, slots=False)
class EverydayWords:
    """Folded words by language, which tell languages of one script apart.

    :ivar english: the code of the first language; its words are in no other.
    """

    english: str
    by_language: Mapping[str, frozenset[str]]

    @cached_property
    def _counted(self) -> Mapping[str, int]:
        """The counters of the languages of each word, packed into one number."""
        every = enumerate(self.by_language.values())
        counted: dict[str, int] = defaultdict(int)
        for place, words in every:
            for word in words:
                counted[word] += 1 << _COUNTER * place
        return dict(counted)

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """Return how many of the words are everyday words of each language."""
        counted = self._counted
        total = sum([counted[word] for word in words if word in counted])
        mask = (1 << _COUNTER) - 1
        return {language: total >> _COUNTER * place & mask for place, language in enumerate(self.by_language)}

    def language(self, words: Sequence[str]) -> str:
        """Return the language with the most everyday words in a text; empty without any."""
        counts = self.counts(words)
        best = max(counts, key=lambda language: (counts[language], language == self.english))
        return best if counts[best] else ""


@lru_cache(8)
def everyday_words(languages: Sequence[Language] = LANGUAGES) -> EverydayWords:
    """Return the everyday words of languages, and of further ones whose function words are known."""
    every = {each.code: frozenset({*each.function_words, *each.verbs, *each.words}) for each in languages}
    for code, words in WordFile.beside(__file__, "function_words.toml").rows("function_words").items():
        every[code] = every.get(code, frozenset()).union(map(fold, words.split()))
    english = every.pop(languages[0].code)
    others = {code: words - english for code, words in every.items()}
    return EverydayWords(languages[0].code, {languages[0].code: english, **others})


@attrs.frozen(slots=False)
class CatalogLanguages:
    """The scripts and languages of the descriptions of a catalog."""

    scripts: frozenset[str]
    languages: frozenset[str]
    everyday: EverydayWords = attrs.field(factory=everyday_words)

    @cached_property
    def _others(self) -> frozenset[str]:
        """The everyday words of all other languages."""
        every = self.everyday.by_language.items()
        return frozenset().union(*(words for code, words in every if code not in self.languages))

    @cached_property
    def _some_own(self) -> frozenset[str]:
        """The everyday words of one language of the catalog."""
        return self.everyday.by_language[min(self.languages)]

    @classmethod
    def of(cls, entries: Sequence[Entry], languages: Sequence[Language] = LANGUAGES) -> CatalogLanguages:
        """Read a sample of the entries.

        :param languages: the known ones.
        """
        everyday = everyday_words(languages)
        sample = [entry.description for entry in entries[:: max(1, len(entries) // _SAMPLE)]]
        letters = letters_by_script(" ".join(sample))
        total = sum(letters.values())
        counts = Counter(language for text in sample if (language := everyday.language(_words(text))))
        known = sum(counts.values())
        return cls(
            frozenset(script for script, count in letters.items() if count >= _USED_LETTERS * total),
            frozenset(language for language, count in counts.items() if count >= _USED_ENTRIES * known),
            everyday,
        )

    def uses_script(self, word: str) -> bool:
        """Whether the catalog uses the script of a word, and the script shows the language."""
        return not {"Latin", "other"}.issuperset(letters_by_script(word)) and not self.scripts.isdisjoint(
            letters_by_script(word)
        )

    def lack(self, text: str) -> bool:
        """Whether a request is in none of these languages; no for a text that does not show its language."""
        text = without_values(text)
        if not self.scripts or not _WORD.search(text):
            return False
        if not (text.isascii() and "Latin" in self.scripts):
            letters = letters_by_script(text)
            foreign = sum(count for script, count in letters.items() if script not in self.scripts)
            if foreign > _MOST_LETTERS * sum(letters.values()):
                return True
        if "Latin" not in self.scripts or not self.languages:
            return False
        words = _words(text)
        if not self._others:
            return False
        if text.isascii() or "en" not in self.languages:
            # Bounds of what is counted below decide nearly always, and are much faster.
            foreign = sum(map(self._others.__contains__, words))
            if not foreign:
                return False
            known = sum(map(self._some_own.__contains__, words))
            if known and foreign <= known + 1:
                return False
        counts = self.everyday.counts(words)
        own = max(counts[language] for language in self.languages)
        most = max(count for language, count in counts.items() if language not in self.languages)
        # English has nearly no accents.
        if "en" in self.languages and not text.isascii():
            most += sum(not word.isascii() and word < _AFTER_LATIN for word in _WORD.findall(text)[:_MAX_WORDS])
        return (most >= _MIN_WORDS and most > own + 1) or (most > own == 0 and len(words) >= _ENOUGH_WORDS)


def without_values(text: str) -> str:
    """Return a text without URLs, e-mail addresses, paths and quotations, whose words do not show its language."""
    if "/" in text or "@" in text or "\\" in text or "www." in text:
        text = " ".join([word for word in text.split() if not _URL_MARK.search(word)])
    if '"' in text or (not text.isascii() and _QUOTE.search(text)):
        text = _QUOTED.sub(" ", text)
    return text


def letters_by_script(text: str) -> Counter[str]:
    """Return how many letters of a text are in each script; a letter that is a syllable or a word counts as three."""
    found: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if char.isalpha():
            code = ord(char)
            script = next((name for name, first, last in _SCRIPTS if first <= code <= last), "other")
            found[script] += count * (_DENSITY if script in _DENSE else 1)
    return found


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())[:_MAX_WORDS]
    return _WORD.findall(fold(text))[:_MAX_WORDS]
