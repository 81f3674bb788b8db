"""Short lists of English words that decide how a part is read and which entry serves it. ``words.toml`` holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from helmdeck_language import WordFile, stem

_NAME: Final = "words.toml"
_FILE: Final = WordFile.beside(__file__, _NAME)


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words of a list.

    :raises LookupError: the file has no such list.
    """
    found = _FILE.words(name)
    if not found:
        raise LookupError(f"{_NAME} has no list {name}")
    return frozenset(found)


@cache
def phrase_list(name: str) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return the phrases of a list, longest first, by their first word; "_" is a space in the file."""
    return _phrases(word_list(name))


@cache
def phrase_table(name: str) -> Mapping[str, Mapping[str, tuple[tuple[str, ...], ...]]]:
    """Return the phrases in each row of a table, like ``phrase_list``."""
    return {key: _phrases(words.split()) for key, words in _FILE.rows(name).items()}


def _phrases(rows: Iterable[str]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    phrases = sorted((tuple(row.split("_")) for row in rows), key=lambda phrase: (-len(phrase), phrase))
    return {first: tuple(phrase for phrase in phrases if phrase[0] == first) for first, *_ in phrases}


@cache
def word_rows(name: str) -> Mapping[str, frozenset[str]]:
    """Return the stems of the words in each row of a table."""
    return {key: frozenset(map(stem, words.split())) for key, words in _FILE.rows(name).items()}


def stemmed(name: str) -> frozenset[str]:
    """Return the stems of the words of a list."""
    return frozenset(map(stem, word_list(name)))
