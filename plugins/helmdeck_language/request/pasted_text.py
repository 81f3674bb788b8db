"""Separates a request from a text that was pasted with it."""

from __future__ import annotations

import re
from typing import Final

import attrs

from helmdeck_language.request.document_starts import document_start
from helmdeck_language.request.reading import Reading
from helmdeck_language.values.scanner import Kind, scan

# "Translate this: ...", "Post the following to the channel: ..."
_POINTERS: Final = re.compile(
    r"\b(?:this|these|following|below|diesen?|dieses|folgenden?|folgendes|ce|cette|ces|suivante?s?|est[ea]|esto|estos"
    r"|siguientes?|text|texte|texto|document|article|note|message|paragraph)\b",
    re.IGNORECASE,
)
_COLON: Final = re.compile(r":(?=\s)")
# A text without a request is not looked through for a colon beyond this place.
_MAX_REQUEST: Final = 600
_VALUES: Final = ([Kind.SQL], [Kind.QUOTE])
_QUOTES: Final = '"\u201c\u201d'
# More tokens behind a quoted string make both a pasted text.
_MAX_FOLLOWING: Final = 16
_MIN_SENTENCES: Final = re.compile(r"[.!?\u3002]\s+\S")


@attrs.frozen
class Separated:
    """A request without the pasted text, and the pasted text."""

    request: str
    document: str


def separate(text: str, reading: Reading) -> Separated:
    """Separate a request from a pasted text, by a colon after "this text" or the start of a document, else by the reading.

    >>> from helmdeck_language import read, separate
    >>> text = "Translate this text into French: The harbour opens at nine."
    >>> separate(text, read(text))
    Separated(request='Translate this text into French', document='The harbour opens at nine.')
    """
    if reading.document.strip():
        inner = _within("\n".join(reading.asking))
        return Separated(inner.request, inner.document or reading.document.strip())
    return _within(text)


def _within(text: str) -> Separated:
    found = _at_colon(text)
    end, start = (0, 0) if found.document else document_start(text)
    return Separated(text[:end].rstrip(), text[start:].strip()) if end else found


def _at_colon(text: str) -> Separated:
    for colon in _COLON.finditer(text, 0, _MAX_REQUEST):
        before, after = text[: colon.start()], text[colon.end() :].strip()
        line = before[before.rfind("\n") + 1 :]
        is_block = text[colon.end() :].lstrip(" \t").startswith("\n") and not after.startswith(("`", "1", "-", "*"))
        is_pointed = _POINTERS.search(line) is not None
        if (
            after
            and is_pointed
            and not _is_value(after)
            and (is_block or _MIN_SENTENCES.search(after) or _is_short(line))
        ):
            is_quoted = after[0] in _QUOTES and after[-1] in _QUOTES and after.count('"') in (0, 2)
            return Separated(before, after.strip(_QUOTES) if is_quoted else after)
    return Separated(text, "")


def _is_value(text: str) -> bool:
    """Whether a text is a value of the request itself: code in back quotes, a quoted string, one SQL statement.

    A few words behind the quoted string belong to the request: "post this: 'We open at nine'. Thanks!"
    """
    tokens = scan(text)
    kinds = [token.kind for token in tokens]
    is_text = kinds[:1] == [Kind.QUOTE] and not tokens[0].value.rstrip().endswith(",")
    return (
        text.startswith("`")
        or [kind for kind in kinds if kind is not Kind.MARK] in _VALUES
        or (is_text and len(kinds) <= 1 + _MAX_FOLLOWING and Kind.BREAK not in kinds)
    )


def _is_short(line: str) -> bool:
    """Whether a line can only introduce the text after its colon: "run this code:"."""
    return re.search(r"\b(?:this|following)\b[^:]{0,30}$", line, re.IGNORECASE) is not None
