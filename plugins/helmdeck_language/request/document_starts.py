"""Finds where a pasted document starts behind a request: a mail header, a salutation, "here is the mail:", a role label.

Such a document may be short, and full of commands. ``document_starts.toml`` holds the words.
"""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language.text.word_files import WordFile

_FILE: Final = WordFile.beside(__file__, "document_starts.toml")


def _any(key: str) -> str:
    """Return the words of a list as alternatives of a regular expression; a "|" separates phrases."""
    text = _FILE.text(key, "words")
    found = text.split("|") if "|" in text else text.split()
    return "|".join(re.escape(word) for word in sorted(found, key=len, reverse=True))


_ARTICLES: Final = r"(?:the|a|an|my|our|his|her|their|its|die|der|das|le|la|el)\s+"
_STARTS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # From: ann@example.org, and another line of a header before or behind it.
        rf"^(?:(?:{_any('headers')})[ ]?:[^\n]*\n)*(?:{_any('senders')})[ ]?:[^\n]*\n(?:{_any('headers')}|{_any('senders')})[ ]?:",
        rf"^(?:(?:{_any('headers')})[ ]?:[^\n]*\n)+(?:{_any('senders')})[ ]?:",
        r"^(?P<lead>[-_=*]{3,}[ \t]*\n)",
        rf"^(?:{_any('salutations')})\b[^\n.!?]{{0,50}},[ \t]*\n",
        rf"^[\[<]?(?:{_any('roles')})[\]>]?[ ]?:[ \n]",
        rf"\b(?P<lead>(?:{_any('introducing')})\s+{_ARTICLES}(?:[\w-]+\s+)?(?:{_any('texts')})\b[^.:\n]{{0,40}}:(?=\s))",
        rf"(?:^|(?<=[.!?]\s))(?P<lead>(?:the|{_any('possessives')})\s+(?:[\w-]+\s+)?(?:{_any('bodies')})\s+(?:{_any('saying')})\s*:(?=\s))",
        rf"(?:^|(?<=[.!?]\s))(?P<lead>(?:{_any('possessives')})\s+(?:{_any('bodies')})\s+is\s*:(?=\s))",
    )
)
# Requests are near the start of a text that has one before its document.
_MOST: Final = 4_000


def document_start(text: str) -> tuple[int, int]:
    """Return where a request ends, and where the document behind it starts; 0 and 0 without a document.

    >>> from helmdeck_language.request.document_starts import document_start
    >>> document_start("List the invoices. Its body says: pay all of them.")
    (19, 33)
    """
    found = [match for pattern in _STARTS if (match := _after_words(pattern, text))]
    first = min(found, key=re.Match.start, default=None)
    if first is None:
        return 0, 0
    # What only introduces the document is no part of it.
    return first.start(), first.end() if "lead" in first.re.groupindex else first.start()


def _after_words(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the first match with words before it."""
    return next((match for match in pattern.finditer(text, 0, _MOST) if re.search(r"\w", text[: match.start()])), None)
