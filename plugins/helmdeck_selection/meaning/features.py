"""What the two-tower model reads of a request and of an entry: stems, kinds of values, and pairs of adjacent ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from helmdeck_core import Entry
from helmdeck_language import Kind, Token, fold, scan, split_identifier, stem, words
from helmdeck_selection.lexical.index.fields import input_properties, name_words

English = Callable[[str], Sequence[str]]
"""Returns the English words of the words of a text."""
VALUE: Final = "+"
"""The start of a feature that is no word."""
QUESTION: Final = "+?"
NAME: Final = "+name"
_MONEY: Final = "+money"
_PERCENT: Final = "+percent"
_CURRENCIES: Final = frozenset("$€£¥")
_NEGATED: Final = "n't"
_WORD: Final = re.compile(r"[^\W\d_]+")
_EXTENSION: Final = re.compile(r"\.([A-Za-z][A-Za-z0-9]{1,4})$")
# The start of a description says what an entry does.
_MAX_DESCRIPTION: Final = 40
_MAX_INPUTS: Final = 30
# Texts without values, except for those of one word and those that the words below may be part of.
_PLAIN: Final = re.compile(r"(?:[A-Za-z\s,;?!-]|(?<=[A-Za-z])'(?=[A-Za-z])|[.:](?!\w))*")
_PLAIN_TOKEN: Final = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|\?")
_IN_VALUES: Final = frozenset("select insert update delete create drop alter truncate week month year".split())
_MAX_CACHED_WORDS: Final = 20_000


def request_features(tokens: Iterable[Token]) -> list[str]:
    """Return the stems of the words of a request, and ``+`` with the kind of each value, in order.

    A capitalised word after the first one is followed by ``+name``.

    >>> from helmdeck_language import scan
    >>> request_features(scan("give Ada 12.50 back, please"))
    ['giv', 'ada', '+name', '+number', 'back', 'pleas']
    """
    found: list[str] = []
    for token in tokens:
        if token.is_word:
            is_name = bool(found) and token.value[:1].isupper()
            found.append(_request_word(token.word))
            if is_name:
                found.append(NAME)
        elif token.kind is Kind.MARK:
            if token.value == "?":
                found.append(QUESTION)
        elif token.kind is not Kind.BREAK:
            found.extend(_value(token))
    return found


def text_features(text: str) -> list[str]:
    """Return the features of a request that is not scanned yet: ``request_features(scan(text))``, faster for most texts.

    >>> text_features("show Ada's orders")
    ['show', 'ada', '+name', 'order']
    """
    if _PLAIN.fullmatch(text) is None:
        return request_features(scan(text))
    found: list[str] = []
    for word in _PLAIN_TOKEN.findall(text):
        feature = _plain_word(word)
        if not feature:
            return request_features(scan(text))
        is_name = bool(found) and word[0].isupper()
        found.append(feature)
        if is_name:
            found.append(NAME)
    return found


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _plain_word(word: str) -> str:
    """The feature of a word or of a question mark; empty if it is a value, such as "tomorrow", or may be part of one."""
    tokens = scan(word)
    if len(tokens) != 1 or tokens[0].is_value or not _IN_VALUES.isdisjoint(_WORD.findall(word.lower())):
        return ""
    return request_features(tokens)[0]


def _request_word(word: str) -> str:
    # "isn't" stays: it differs from "is".
    return word if word.endswith(_NEGATED) else stem(word.partition("'")[0])


def _value(token: Token) -> Iterator[str]:
    text = token.value
    if token.kind is Kind.NUMBER and text[:1] in _CURRENCIES:
        yield _MONEY
    elif token.kind is Kind.NUMBER and text.endswith("%"):
        yield _PERCENT
    else:
        yield f"+{token.kind.value}"
        if token.kind in (Kind.PATH, Kind.GLOB) and (extension := _EXTENSION.search(text)):
            yield stem(extension[1].lower())


def entry_features(entry: Entry, english: English | None = None) -> tuple[list[str], list[str], list[str]]:
    """Return the stems of the name, of the start of the description, and of the names of the inputs.

    :param english: returns the English words of a text in another language; ``None`` for an English catalog.
    """
    names = name_words(entry)
    name = [stem(word) for word in names if not word.isdigit()]
    description = [stem(fold(word)) for word in _WORD.findall(entry.description)[:_MAX_DESCRIPTION]]
    properties = input_properties(entry)
    inputs = [stem(word) for each in properties for word in words(split_identifier(each)) if not word.isdigit()]
    if english is not None:
        name = [*filter(str.isascii, name), *map(stem, english(" ".join(names)))]
        translated = english(entry.description)[:_MAX_DESCRIPTION]
        description = [*map(stem, translated), *filter(str.isascii, description)]
        inputs = [*inputs, *map(stem, english(" ".join(properties)))]
    return name, description, inputs[:_MAX_INPUTS]


def with_pairs(found: Sequence[str]) -> list[str]:
    """Return features, and after them the pairs of adjacent ones."""
    return [*found, *(f"{first} {second}" for first, second in pairwise(found))]
