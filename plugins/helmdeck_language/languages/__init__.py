"""The languages of requests that come with the package, one file each, and which of some languages a request is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from helmdeck_language.languages.language import Language
from helmdeck_language.meanings.verb_classes import ACTIONS
from helmdeck_language.text.request_words import COMMAND_VERBS, VERBS
from helmdeck_language.text.word_files import WordFile

__all__ = ["ENGLISH", "LANGUAGES", "TRANSLATED", "Language", "detect", "knows"]


def _english() -> Language:
    found = Language.of(WordFile.beside(__file__, "en.toml"))
    return attrs.evolve(found, verbs={word: word for word in {*VERBS, *COMMAND_VERBS, *ACTIONS}})


ENGLISH: Final = _english()
"""English, whose words the other languages are translated to."""
LANGUAGES: Final = (ENGLISH, *(Language.of(WordFile.beside(__file__, f"{code}.toml")) for code in ("de", "fr", "es")))
"""The languages of the package; the first one wins ties."""
TRANSLATED: Final = (
    *LANGUAGES,
    *(Language.of(WordFile.beside(__file__, f"{code}.toml")) for code in ("it", "ja", "ko", "pl", "pt", "ru", "zh")),
)
"""The same, and those that only the ranker reads: it translates words of requests."""

# A request is long enough to be identified: tens of thousands of words say nothing more.
_READ_WORDS: Final = 400


def detect(words: Iterable[str], languages: Sequence[Language] = LANGUAGES) -> Language:
    """Return the language whose words a request contains most often.

    :param words: folded.
    """
    every = [word for word, _ in zip(words, range(_READ_WORDS), strict=False)]
    return max(languages, key=lambda language: knows(language, every))


def knows(language: Language, words: Iterable[str]) -> int:
    """Return the number of words that a language contains; words without a meaning of their own count twice."""
    return sum(
        2 * (word in language.function_words) + (word in language.verbs or word in language.words) for word in words
    )
