"""The texts of catalog entries that get vectors, and which words of a request a catalog contains."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from helmdeck_core import Entry

_CASE_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)")
_SEPARATORS: Final = re.compile(r"[\W_]+")
_WORD: Final = re.compile(r"[^\W\d_]+")
# The meaning of a description is at its start; the model averages over all of it.
_MAX_CHARS: Final = 400
# Letters that two forms of a word share: "forecast" and "forecasts", "summary" and "summarize".
_STEM: Final = 5
# Shorter words are mostly articles and prepositions, which say nothing about the language of the catalog.
_MIN_LETTERS: Final = 4


def entry_texts(entry: Entry) -> tuple[str, ...]:
    """Return the name in words, the description and the names of the parameters; empty ones are left out."""
    description = " ".join(entry.description.split())[:_MAX_CHARS]
    parameters = ", ".join(map(split_name, dict.fromkeys(_parameters(entry))))
    return tuple(text for text in (split_name(entry.id), description, parameters) if text)


def split_name(name: str) -> str:
    """Return an identifier as words in lower case: ``getWeather_v2`` is ``get weather v 2``."""
    return " ".join(filter(None, _SEPARATORS.split(_CASE_BORDER.sub(" ", name)))).lower()


def _parameters(entry: Entry) -> Iterator[str]:
    schema = entry.input_schema
    properties = schema.get("properties") if schema is not None else None
    for found in (properties, entry.metadata.get("accepts"), entry.metadata.get("inputs"), entry.data.get("inputs")):
        if isinstance(found, Mapping):
            yield from (name for name in found if isinstance(name, str))
        elif isinstance(found, (list, tuple)):
            for item in found:
                name = item.get("name") if isinstance(item, Mapping) else item
                if isinstance(name, str):
                    yield name


def stems(text: str) -> Iterator[str]:
    """Yield the prefixes of the words that can be compared between a request and a catalog."""
    for word in _WORD.findall(unicodedata.normalize("NFC", text).casefold()):
        # One character of a script without spaces is as telling as a word.
        if len(word) >= _MIN_LETTERS or ord(word[0]) >= 0x0E00:
            yield word[:_STEM]


def vocabulary(texts: Iterable[Iterable[str]]) -> frozenset[str]:
    """Return the words of the texts of a catalog, for ``known_share``."""
    return frozenset(stem for each in texts for text in each for stem in stems(text))


def known_share(text: str, known: frozenset[str]) -> float:
    """Return the share of the words of a text that a catalog contains, 0 to 1; 1 for a text without words."""
    words = dict.fromkeys(stems(text))
    return sum(word in known for word in words) / len(words) if words else 1.0
