"""Gives each word of a request its meaning in English: verb, noun, preposition. Corrects typing mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final

from helmdeck_language import ENGLISH, NOUNS_TOO, STOP_WORDS, Language, Lexicon, Speller, Token, detect, knows, stem
from helmdeck_selection import meaning_model

_MIN_WORDS: Final = 2
_MIN_STEM: Final = 4


class Vocabulary:
    """The words of a catalog, as they are written.

    :param starts: the first words of names.
    :param pairs: words that follow one another behind these: "pull request" of ``get_pull_request``.
    """

    def __init__(
        self,
        words: frozenset[str],
        starts: frozenset[str] = frozenset(),
        pairs: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self.words = words
        self.starts = starts
        self.pairs = pairs
        self.stems: frozenset[str] = frozenset(stem(word) for word in words)

    @cached_property
    def speller(self) -> Speller:
        """Corrects nouns."""
        return Speller(self.words)


@lru_cache(32)
def _verb_speller(language: Language) -> Speller:
    return Speller(language.verbs)


def language_of(words: Sequence[str], lexicon: Lexicon) -> Language:
    """Return the language of a request.

    A request of common English words is English, though another language has more of its nouns: "acknowledge ticket T-774".

    :param words: folded.
    """
    found = detect(words, lexicon.languages)
    if found is ENGLISH or any(word in found.function_words or word in found.verbs for word in words):
        return found
    common = meaning_model()
    return ENGLISH if all(common.knows(word) or knows(ENGLISH, [word]) for word in words) else found


@lru_cache(2_000)
def _translated(lexicon: Lexicon, code: str, word: str) -> Sequence[str]:
    for vocabulary in lexicon.vocabularies:
        if vocabulary.code == code:
            [(_, english)] = vocabulary.english([word])
            return sorted(english, key=lambda one: -english[one])
    return ()


class Wording:
    """The meaning of words in a request of one language over one catalog."""

    def __init__(
        self, language: Language, lexicon: Lexicon, vocabulary: Vocabulary, catalog_verbs: frozenset[str]
    ) -> None:
        self.language = language
        self.lexicon = lexicon
        self.vocabulary = vocabulary
        self._catalog_verbs = catalog_verbs

    def verb(self, word: str) -> str:
        """Return the English verb of a word; empty if it is none."""
        return self.language.verbs.get(word) or (word if self._is_catalog_verb(word) else self._stem_verb(word))

    def _translated(self, word: str) -> Sequence[str]:
        """Return the English words of a word of another language, by its stem, most important first."""
        if self.language is ENGLISH or len(word) < _MIN_STEM or word in self.language.function_words:
            return ()
        return _translated(self.lexicon, self.language.code, word)

    def _stem_verb(self, word: str) -> str:
        """Return the English verb of a stem that is no noun as well."""
        first = next(iter(self._translated(word)), "")
        return first if first in ENGLISH.verbs and first not in NOUNS_TOO else ""

    def corrected_verb(self, word: str) -> str:
        """Return the English verb of a word, or of the word with one typing mistake corrected."""
        found = self.verb(word)
        if found or self.is_word(word):
            return found
        corrected = _verb_speller(self.language).correct(word)
        return self.language.verbs[corrected] if corrected else ""

    def nouns(self, word: str) -> Sequence[str]:
        """Return the English words of a word that is not a verb, corrected if it is unknown; the word itself at least."""
        found = self.language.words.get(word)
        if found:
            return found.split()
        if self.is_word(word):
            return (word,)
        if english := self._translated(word):
            return english
        corrected = self.vocabulary.speller.correct(word)
        return (corrected,) if corrected else (word,)

    def is_known(self, word: str) -> bool:
        """Whether a word is spelt right, as far as the word lists and the catalog tell."""
        language = self.language
        return (
            word in STOP_WORDS
            or word in language.verbs
            or word in language.words
            or word in language.function_words
            or word in language.determiners
            or word in language.lead_ins
            or word in language.prepositions
            or word in self.lexicon.known_words
            or stem(word) in self.vocabulary.stems
        )

    def is_word(self, word: str) -> bool:
        """Whether a word is known, or one of the commonest English words: "reader" is no "render"."""
        return self.is_known(word) or (self.language is ENGLISH and meaning_model().knows(word))

    def starts_name(self, word: str) -> bool:
        """Whether the name of an entry starts with a word that no word list has: "cordon" of ``cordon_node``."""
        return (
            word in self.vocabulary.starts and word not in self.lexicon.known_words and word not in self.language.words
        )

    def is_of_catalog(self, word: str) -> bool:
        """Whether the catalog contains a word."""
        return stem(word) in self.vocabulary.stems

    def is_filler(self, word: str) -> bool:
        """Whether a word carries no meaning of its own."""
        language = self.language
        if language is not ENGLISH and (word in language.words or word in language.verbs):
            return False
        return word in STOP_WORDS or word in language.function_words or word in language.determiners

    def preposition(self, token: Token) -> str:
        """Return the English preposition of a token; empty if it is none."""
        return self.language.prepositions.get(token.word, "") if token.is_word else ""

    def _is_catalog_verb(self, word: str) -> bool:
        return self.language is ENGLISH and word in self._catalog_verbs


def is_foreign_text(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether hardly a word of a request belongs to a known language or to the catalog."""
    words = [token.word for token in tokens if token.is_word]
    if not words:
        return False
    if any(not _is_latin(word) for word in words):
        return sum(not _is_latin(word) for word in words) * 2 >= len(words)
    known = sum(
        any(knows(language, [word]) for language in wording.lexicon.languages) or wording.is_known(word)
        for word in words
    )
    return len(words) >= _MIN_WORDS and known * 3 < len(words)


def _is_latin(word: str) -> bool:
    return all(char < "\u0250" or "\u1e00" <= char <= "\u1eff" for char in word)
