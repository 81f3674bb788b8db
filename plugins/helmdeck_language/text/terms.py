"""Tokenises text into words and search terms.

A term is case-folded, stripped of accents, and stemmed if it looks English; scripts without spaces between words give
overlapping pairs of characters.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Final

from helmdeck_language.text.request_words import KOREAN_ENDINGS, STOP_WORDS

# Vowel signs of Indic and South-East Asian scripts are marks, which \w does not match; without these ranges words would
# be split at each of them.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u109f\u1780-\u17d3"
WORD: Final = re.compile(rf"(?:[^\W_]|[{_MARKS}])+(?:['\u2019][a-zA-Z]{{1,3}}(?![^\W_]))?")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+(?:'[a-z]{1,3}(?![a-z0-9]))?")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]+"
)

_LETTERS_OR_DIGITS: Final = re.compile(r"[a-z]+|[0-9]+")

# Bounded, and never starting inside a word, so that long runs of letters are scanned only once.
URL: Final = re.compile(r"(?<!\w)(?:\w{1,12}://|www\.)\S*[^\s.,;:!?)\]]")
EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
PATH: Final = re.compile(
    r"(?<![\w/:.@])(?:~?/|\./|\.\./)?(?:[\w.-]{1,100}/){0,40}[\w.-]{0,100}[\w-]\.(?:[A-Za-z][A-Za-z0-9]{1,4})(?![\w/@])"
)

# Longer runs are encoded data, not words; they are not stemmed and not cached.
_MAX_WORD: Final = 64
# Size limit of the cache of terms of words.
_MAX_CACHED_WORDS: Final = 1 << 16

# Suffix, replacement, and minimum length of the rest. Longest first, so the first match is the right one. Derived forms
# are included (calculator, calculation, calculate): tools are named with nouns and requested with verbs.
_ENDINGS: Final = (
    ("izations", "iz", 3), ("isations", "iz", 3), ("ization", "iz", 3), ("isation", "iz", 3), ("ational", "", 4),
    ("fulness", "", 4), ("iveness", "", 4), ("ations", "", 4), ("ators", "", 4), ("ation", "", 4), ("ating", "", 4),
    ("ities", "", 4), ("ator", "", 4), ("ated", "", 4), ("ates", "", 4), ("izer", "iz", 3), ("iser", "iz", 4),
    ("izing", "iz", 3), ("ising", "iz", 4), ("ments", "", 4), ("tions", "t", 3), ("ized", "iz", 3), ("ised", "iz", 4),
    ("izes", "iz", 3), ("ises", "iz", 4), ("sions", "s", 4), ("ment", "", 4), ("tion", "t", 3), ("sion", "s", 4), ("ical", "", 4), ("ness", "", 4),
    ("ings", "", 3), ("able", "", 4), ("ible", "", 4), ("ize", "iz", 3), ("ise", "iz", 4), ("ate", "", 4),
    ("ing", "", 3), ("ity", "", 4), ("ive", "", 4), ("ers", "", 4), ("ors", "", 4), ("ies", "i", 3), ("ied", "i", 3),
    ("ed", "", 3), ("er", "", 4), ("or", "", 4), ("es", "", 3), ("ly", "", 4), ("ic", "", 4), ("al", "", 5),
    ("y", "i", 3), ("e", "", 3), ("s", "", 3),
)  # fmt: skip
_ENDINGS_BY_LAST: Final = {
    last: tuple(row for row in _ENDINGS if row[0][-1] == last) for last in {ending[-1] for ending, _, _ in _ENDINGS}
}
# "ads" and "ids", but neither "gas" nor "its" nor "dns".
_SHORT_PLURALS: Final = frozenset("bd")
_DOUBLED: Final = frozenset(letter * 2 for letter in "bdfgmnprt")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Remove one suffix of a lower-case English word, so that its inflected and derived forms match.

    >>> from helmdeck_language import stem
    >>> stem("translating"), stem("translation")
    ('transl', 'transl')
    """
    if len(word) == 3 and word[2] == "s" and word[1] in _SHORT_PLURALS:
        return word[:2]
    if len(word) < 4 or word[-1] not in _ENDINGS_BY_LAST or not word.isascii() or word.endswith(("ss", "us", "is")):
        return word
    for ending, replacement, least in _ENDINGS_BY_LAST[word[-1]]:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            rest = word[: -len(ending)] + replacement
            break
    else:
        return word
    if ending == "y" and rest[-2] in "aeiou":
        return word  # "play" and "player"; only "city" becomes "citi", to match "cities"
    # "planned" and "plan" must have the same stem, and so must "agreed" and "agree".
    if rest[-2:] in _DOUBLED:
        return rest[:-1]
    return rest[:-1] if rest[-1] == "e" and len(rest) > 3 else rest


def fold(word: str) -> str:
    """Case-fold a word and remove its accents.

    >>> from helmdeck_language import fold
    >>> fold("Überblick")
    'uberblick'
    """
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold().replace("\u2019", "'"))
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))


def words(text: str) -> list[str]:
    """Return the folded words of a text in order, including stop words.

    >>> from helmdeck_language import words
    >>> words("Draft the post")
    ['draft', 'the', 'post']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower()) if "'" in text else text.encode().translate(_TO_WORDS).decode().split()
    return [fold(word) for word in WORD.findall(text)]


_LETTERS: Final = f"{ascii_uppercase}{ascii_lowercase}{digits}".encode()
_FOLDED: Final = f"{ascii_lowercase}{ascii_lowercase}{digits}".encode()
_FOLD: Final = dict(zip(_LETTERS, _FOLDED, strict=True))
# For an ASCII text without apostrophes, translating it is several times as fast as a pattern.
_TO_WORDS: Final = bytes(_FOLD.get(code, 32) for code in range(256))
_TO_TOKENS: Final = bytes(code if code in b",;:" else _FOLD.get(code, 32) for code in range(256))

SEPARATORS: Final = frozenset(",;:")
_ASCII_TOKEN: Final = re.compile(rf"{_ASCII_WORD.pattern}|[,;:]")
_TOKEN: Final = re.compile(rf"{WORD.pattern}|[,;:]")
_ANY_TOKEN: Final = re.compile(rf"(?P<url>{URL.pattern})|(?P<email>{EMAIL.pattern})|{_TOKEN.pattern}")


def tokens(text: str) -> list[str]:
    """Return the folded words and separators of a text; URLs and e-mail addresses become one token each."""
    if _has_url_or_email(text):
        return [match.lastgroup or fold(match.group()) for match in _ANY_TOKEN.finditer(text)]
    if text.isascii():
        if "'" in text:
            return _ASCII_TOKEN.findall(text.lower())
        found = text.encode().translate(_TO_TOKENS)
        return found.replace(b",", b" , ").replace(b";", b" ; ").replace(b":", b" : ").decode().split()
    return [fold(token) for token in _TOKEN.findall(text)]


def token_words(text: str) -> list[str]:
    """Return the ``tokens`` without separators."""
    return [token for token in tokens(text) if token not in SEPARATORS] if _has_url_or_email(text) else words(text)


class SentenceWords:
    """The ``token_words`` of parts of a text; folding all of it at once is faster than folding each sentence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.encode().translate(_TO_WORDS).decode() if text.isascii() else None
        self._is_simple = not _has_special_words(text)

    def between(self, start: int, end: int) -> list[str]:
        """Return the words between two places that are no places inside of words."""
        if self._folded is not None and (self._is_simple or not _has_special_words(self._text[start:end])):
            return self._folded[start:end].split()
        return token_words(self._text[start:end])


def _has_special_words(text: str) -> bool:
    return "'" in text or _has_url_or_email(text)


def token_starts(text: str, found: Sequence[str]) -> list[int]:
    """Return the start positions of the first ``tokens`` of a text.

    :param found: these tokens.
    """
    if not text.isascii() or _has_url_or_email(text):
        pattern = _ANY_TOKEN if _has_url_or_email(text) else _TOKEN
        return [match.start() for match in islice(pattern.finditer(text), len(found))]
    # No token begins between two tokens, so each is where it is found first.
    folded, starts, end = text.lower(), list[int](), 0
    for token in found:
        start = folded.find(token, end)
        starts.append(start)
        end = start + len(token)
    return starts


def _has_url_or_email(text: str) -> bool:
    return "@" in text or "://" in text or "www." in text


class _WordTerms(dict[str, tuple[str, ...]]):
    """The terms of words, computed on first use."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > _MAX_WORD:
            return ()
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        self[word] = found = _short_word_terms(word)
        return found


WORD_TERMS: Final = _WordTerms()
"""The terms of every word; none for a stop word."""


def _short_word_terms(word: str) -> tuple[str, ...]:
    folded = fold(word)
    if folded in STOP_WORDS:
        return ()
    folded = folded.partition("'")[0]
    if folded in STOP_WORDS:
        return ()
    if folded.isascii():
        return _ascii_terms(folded)
    found: list[str] = []
    position = 0
    for run in _UNSPACED.finditer(folded):
        found += [folded[position : run.start()], *_pairs(_without_korean_ending(run.group()))]
        position = run.end()
    found.append(folded[position:])
    return tuple(stem(term) for term in found if term)


def word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of a word; none for a stop word.

    >>> from helmdeck_language import word_terms
    >>> word_terms("posts"), word_terms("the")
    (('post',), ())
    """
    return WORD_TERMS[word]


def _ascii_terms(folded: str) -> tuple[str, ...]:
    if folded.isalpha():
        return (stem(folded),)
    parts = [part for part in _LETTERS_OR_DIGITS.findall(folded) if part not in STOP_WORDS]
    return tuple(stem(part) for part in parts)


_LONGEST_ENDING: Final = max(map(len, KOREAN_ENDINGS))


def _without_korean_ending(run: str) -> str:
    """Remove the longest particle or form of a helping verb that leaves two syllables.

    A noun that ends like a particle loses its last syllable in requests and in entries alike.
    """
    for length in range(_LONGEST_ENDING, 0, -1):
        rest = run[:-length]
        if run[-length:] in KOREAN_ENDINGS and len(rest) > 1 and all("\uac00" <= c <= "\ud7af" for c in rest[-2:]):
            return rest
    return run


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def is_han_pair(term: str) -> bool:
    """Whether a term is a pair of Chinese characters, each of which has a meaning of its own.

    >>> from helmdeck_language import is_han_pair
    >>> is_han_pair("天气"), is_han_pair("weather")
    (True, False)
    """
    return len(term) == 2 and all("\u3400" <= character <= "\u9fff" for character in term)


class _SingleTerms(dict[str, str | None]):
    """The term of each word that has one; empty for a stop word, ``None`` for a word of several terms."""

    def __missing__(self, word: str) -> str | None:
        found = WORD_TERMS[word]
        single = None if len(found) > 1 else "".join(found)
        if len(word) <= _MAX_WORD:
            if len(self) >= _MAX_CACHED_WORDS:
                self.clear()
            self[word] = single
        return single


_SINGLE_TERMS: Final = _SingleTerms()


def unique_terms(found: Sequence[str]) -> tuple[str, ...]:
    """Return the terms of words in order, without repetitions."""
    # Most words have one term or none, and a string is faster to read than a tuple.
    unique = dict.fromkeys(map(_SINGLE_TERMS.__getitem__, found))
    if None in unique:
        return tuple(dict.fromkeys(chain.from_iterable(map(WORD_TERMS.__getitem__, found))))
    unique.pop("", None)
    return tuple(unique)  # type: ignore[arg-type]


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions.

    >>> from helmdeck_language import terms
    >>> terms("Draft two posts about the launch")
    ['draft', 'two', 'post', 'launch']
    """
    return [term for word in words(text) for term in word_terms(word)]


_HUMP: Final = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")


def split_identifier(text: str) -> str:
    """Insert spaces between the words of an identifier: ``parseHTTPHeader2`` has four.

    >>> from helmdeck_language import split_identifier
    >>> split_identifier("parseHTTPHeader2")
    'parse HTTP Header2'
    """
    if text.isascii():
        return _HUMP.sub(_with_space, text)
    pieces: list[str] = []
    for i, char in enumerate(text):
        if i and char.isupper():
            before, after = text[i - 1], text[i + 1 : i + 2]
            if before.islower() or before.isdigit() or (before.isupper() and after.islower()):
                pieces.append(" ")
        pieces.append(char)
    return "".join(pieces)


def _with_space(hump: re.Match[str]) -> str:
    return " " + hump.group()


@cache
def terms_version() -> str:
    """Return a hash of the code and the word lists that decide the terms of a text; stored terms are valid for it.

    >>> from helmdeck_language import terms_version
    >>> terms_version() == terms_version()
    True
    """
    paths = (Path(__file__).with_name(name) for name in ("terms.py", "request_words.py", "request_words.toml"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
