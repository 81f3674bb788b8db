"""The languages of requests that come with the package, one file each, and which of some languages a request is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from helmdeck_language.languages.language import Language
from helmdeck_language.meanings.verb_classes import ACTIONS
from helmdeck_language.text.request_words import COMMAND_VERBS, VERBS
from helmdeck_language.text.word_files import WordFile

__all__ = ["ENGLISH", "LANGUAGES", "Language", "detect", "knows", "with_stems"]


def _english() -> Language:
    found = Language.of(WordFile.beside(__file__, "en.toml"))
    return attrs.evolve(found, verbs={word: word for word in {*VERBS, *COMMAND_VERBS, *ACTIONS}})


ENGLISH: Final = _english()
"""English, whose words the other languages are translated to."""
LANGUAGES: Final = (ENGLISH, *(Language.of(WordFile.beside(__file__, f"{code}.toml")) for code in ("de", "fr", "es")))
"""The languages of the package; the first one wins ties."""
STEMS: Final = {
    "ar": "ا", "de": "a", "es": "a", "fr": "a", "it": "a", "ja": "あ", "ko": "가", "nl": "a", "pl": "a", "pt": "a", "ru": "я",
    "tr": "a", "zh": "字",
    "cs": "a", "da": "a", "el": "α", "fi": "a", "hi": "क", "hu": "a", "id": "a", "nb": "a", "ro": "a", "sv": "a", "th": "ก",
    "uk": "я", "vi": "a",
}  # fmt: skip
"""The languages whose words the ranker translates, each with a letter of its script; of equal ones the first one counts."""


@cache
def with_stems(code: str) -> Language:
    """Return a language of the package with its stems, or one of which there are only stems.

    A file is read at the first use, since most requests over an English catalog are in English.
    """
    stems = Language.of(WordFile.read(Path(__file__).parent / "stems" / f"{code}.toml"))
    return next((each.with_more(stems) for each in LANGUAGES if each.code == code), stems)


# A request is long enough to be identified: tens of thousands of words say nothing more.
_READ_WORDS: Final = 400


def detect(words: Iterable[str], languages: Sequence[Language] = LANGUAGES) -> Language:
    """Return the language whose words a request contains most often.

    :param words: folded.

    >>> from helmdeck_language import detect, lexicon
    >>> detect(["allume", "la", "lampe"], lexicon().languages).name
    'French'
    """
    every = [word for word, _ in zip(words, range(_READ_WORDS), strict=False)]
    return max(languages, key=lambda language: knows(language, every))


def knows(language: Language, words: Iterable[str]) -> int:
    """Return the number of words that a language contains; words without a meaning of their own count twice.

    >>> from helmdeck_language import ENGLISH, knows
    >>> knows(ENGLISH, ["the", "lamp", "xyzzy"])
    2
    """
    return sum(
        2 * (word in language.function_words) + (word in language.verbs or word in language.words) for word in words
    )
