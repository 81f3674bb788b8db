"""The languages of requests that the planner knows, as data, and which of them a request is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from helmdeck_language.languages.english import ENGLISH
from helmdeck_language.languages.french import FRENCH
from helmdeck_language.languages.german import GERMAN
from helmdeck_language.languages.language import Language
from helmdeck_language.languages.spanish import SPANISH

LANGUAGES: Final[Sequence[Language]] = (ENGLISH, GERMAN, FRENCH, SPANISH)
"""The known languages; the first one wins ties."""

__all__ = ["ENGLISH", "LANGUAGES", "STATEMENT_WORDS", "Language", "detect", "knows"]

STATEMENT_WORDS: Final = frozenset(
    """
    is are was were am i'm have has had be been will i we they he she thanks thank hello hi hey sorry it's that's
    ist sind war waren bin habe hat hatte ich wir danke hallo
    est sont etait suis ai avons je nous merci bonjour
    es son esta estan soy tengo hay yo gracias hola
    """.split()
)
"""Words of sentences that state or greet rather than request."""

# A request is long enough to be identified: tens of thousands of words say nothing more.
_READ_WORDS: Final = 400


def detect(words: Iterable[str]) -> Language:
    """Return the language whose words a request contains most often.

    :param words: folded.
    """
    every = [word for word, _ in zip(words, range(_READ_WORDS), strict=False)]
    return max(LANGUAGES, key=lambda language: knows(language, every))


def knows(language: Language, words: Iterable[str]) -> int:
    """Return the number of words that a language contains; words without a meaning of their own count twice."""
    return sum(
        2 * (word in language.function_words) + (word in language.verbs or word in language.words) for word in words
    )
