"""Whether a request is in a language that a catalog does not use: then shared words are coincidences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import attrs

from helmdeck_core import Entry
from helmdeck_language.languages import LANGUAGES
from helmdeck_language.text import fold

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
# Function words of languages that the planner does not know; words that English has too are left out.
_MORE: Final[Mapping[str, frozenset[str]]] = {
    "it": frozenset("il lo gli della del delle dei che una uno con nel nella di e mi ho sono quale quali quanto tempo".split()),
    "pt": frozenset("os as uma um com que da do das dos na nos nas qual quais quanto meu minha para isto esta este".split()),
    "nl": frozenset("het een van en ik je mijn deze dit naar voor op met niet welke hoeveel alle uit zijn mij".split()),
    "pl": frozenset("jest nie na do z w i co jak jaki jaka dla moje mój tego te ten oraz czy mi ile".split()),
    "sv": frozenset("och ett en det som på med för att jag min mitt vad hur vilka är inte till av den".split()),
    "tr": frozenset("bir ve bu için ile ne nasıl bana benim var mı kaç daha en olan şu".split()),
}  # fmt: skip


def _everyday_words() -> dict[str, frozenset[str]]:
    every = {each.code: frozenset({*each.function_words, *each.verbs, *each.words}) for each in LANGUAGES}
    every |= {code: frozenset(map(fold, words)) for code, words in _MORE.items()}
    english = every.pop(LANGUAGES[0].code)
    return {LANGUAGES[0].code: english, **{code: words - english for code, words in every.items()}}


EVERYDAY_WORDS: Final[Mapping[str, frozenset[str]]] = _everyday_words()
"""Folded words by language, which tell languages of one script apart; those of English are in no other."""

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


@attrs.frozen(slots=False)
class CatalogLanguages:
    """The scripts and languages of the descriptions of a catalog."""

    scripts: frozenset[str]
    languages: frozenset[str]

    @cached_property
    def _others(self) -> frozenset[str]:
        """The everyday words of all other languages."""
        return frozenset().union(*(words for code, words in EVERYDAY_WORDS.items() if code not in self.languages))

    @cached_property
    def _some_own(self) -> frozenset[str]:
        """The everyday words of one language of the catalog."""
        return EVERYDAY_WORDS[min(self.languages)]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> CatalogLanguages:
        """Read a sample of the entries."""
        sample = [entry.description for entry in entries[:: max(1, len(entries) // _SAMPLE)]]
        letters = _letters(" ".join(sample))
        total = sum(letters.values())
        counts = Counter(language for text in sample if (language := _language(_words(text))))
        known = sum(counts.values())
        return cls(
            frozenset(script for script, count in letters.items() if count >= _USED_LETTERS * total),
            frozenset(language for language, count in counts.items() if count >= _USED_ENTRIES * known),
        )

    def lack(self, text: str) -> bool:
        """Whether a request is in none of these languages; no for a text that does not show its language."""
        if "/" in text or "@" in text or "\\" in text or "www." in text:
            text = " ".join([word for word in text.split() if not _URL_MARK.search(word)])
        if '"' in text or (not text.isascii() and _QUOTE.search(text)):
            text = _QUOTED.sub(" ", text)
        if not self.scripts or not _WORD.search(text):
            return False
        if not (text.isascii() and "Latin" in self.scripts):
            letters = _letters(text)
            foreign = sum(count for script, count in letters.items() if script not in self.scripts)
            if foreign > _MOST_LETTERS * sum(letters.values()):
                return True
        if "Latin" not in self.scripts or not self.languages:
            return False
        words = _words(text)
        if not self._others:
            return False
        if text.isascii() or "en" not in self.languages:
            if self._others.isdisjoint(words):
                return False
            # Bounds of what is counted below decide nearly always, and are much faster.
            foreign = sum(map(self._others.__contains__, words))
            known = sum(map(self._some_own.__contains__, words))
            if known and foreign <= known + 1:
                return False
        counts = _counts(words)
        own = max(counts[language] for language in self.languages)
        most = max(count for language, count in counts.items() if language not in self.languages)
        # English has nearly no accents.
        if "en" in self.languages and not text.isascii():
            most += sum(not word.isascii() for word in _WORD.findall(text)[:_MAX_WORDS])
        return (most >= _MIN_WORDS and most > own + 1) or (most > own == 0 and len(words) >= _ENOUGH_WORDS)


def _letters(text: str) -> Counter[str]:
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


# Counters of words of each language are packed into one number.
_COUNTER: Final = _MAX_WORDS.bit_length()
_COUNTED: Final[Mapping[str, int]] = {
    word: sum(1 << _COUNTER * place for place, words in enumerate(EVERYDAY_WORDS.values()) if word in words)
    for word in frozenset().union(*EVERYDAY_WORDS.values())
}


def _counts(words: Iterable[str]) -> dict[str, int]:
    """Return how many of the words are everyday words of each language."""
    total = sum([_COUNTED[word] for word in words if word in _COUNTED])
    mask = (1 << _COUNTER) - 1
    return {language: total >> _COUNTER * place & mask for place, language in enumerate(EVERYDAY_WORDS)}


def _language(words: Sequence[str]) -> str:
    """The language with the most everyday words in a text; empty without any."""
    counts = _counts(words)
    best = max(counts, key=lambda language: (counts[language], language == LANGUAGES[0].code))
    return best if counts[best] else ""
