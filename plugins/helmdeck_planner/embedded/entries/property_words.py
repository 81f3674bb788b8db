"""Words of input names and descriptions that say what kind of value an input takes, from ``property_words.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from helmdeck_language import WordFile

_FILE: Final = WordFile.beside(__file__, "property_words.toml")


def _sets(key: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in _FILE.rows(key).items()}


ROLE_WORDS: Final[Mapping[str, frozenset[str]]] = _sets("roles")
SOURCE_SIDE: Final = frozenset(_FILE.words("source_side"))
TARGET_SIDE: Final = frozenset(_FILE.words("target_side"))
GENERIC_WORDS: Final = frozenset(_FILE.words("generic"))
COUNT_WORDS: Final = frozenset(_FILE.words("counts"))
UNITS: Final[Mapping[str, frozenset[str]]] = {
    unit: inputs for units, inputs in _sets("units").items() for unit in units.split()
}
FILE_TYPES: Final[Mapping[str, str]] = {
    word: extension for words, extension in _FILE.rows("file_types").items() for word in words.split()
}
ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    word: tuple(nouns.split()) for words, nouns in _FILE.rows("attributes").items() for word in words.split()
}
"""What a question with "how" asks for."""
CHOICE_WORDS: Final[Mapping[str, frozenset[str]]] = _sets("choices")
