"""Words that the values of a request stand for: a file name speaks of a file, a host name of a web page.

Requests rarely name the kind of a value, and the descriptions of tools name nothing else: "put it into notes.md" needs the
tool that writes a file, "tell #ops" the one that posts to a channel.
"""

from __future__ import annotations

import re
from typing import Final

from helmdeck_plugins.lexical.text import word_terms

_EXTENSIONS: Final = (
    "txt md csv tsv json xml yaml yml toml ini cfg log html css js ts py go rs java sql pdf docx xlsx pptx zip"
)
_DOMAINS: Final = "com org net io dev app edu gov info de fr es it nl uk eu jp cn"
_HINTS: Final = (
    (re.compile(rf"[\w-]\.(?:{'|'.join(_EXTENSIONS.split())})(?![\w.]*\w)", re.IGNORECASE), ("file",)),
    (re.compile(r"(?:^|\s)(?:~|\.{1,2})?/\w[\w.-]*(?:/|\s|$)"), ("file", "directory")),
    (
        re.compile(rf"https?://|(?<![@\w.])(?:[\w-]+\.)+(?:{'|'.join(_DOMAINS.split())})(?![\w@])", re.IGNORECASE),
        ("page", "url", "browser", "navigate"),
    ),
    (re.compile(r"(?<![\w&/])#[a-z][\w-]+"), ("channel", "message")),
    # "notes/todo.md" is a file.
    (
        re.compile(
            rf"(?<![\w/.])[a-z][\w.-]*[a-z0-9]/(?![\w.-]*\.(?:{'|'.join(_EXTENSIONS.split())})\b)[a-z][\w.-]*[a-z0-9](?![\w/])"
        ),
        ("repository",),
    ),
    (re.compile(r"\b\d{1,2}(?::[0-5]\d)?\s?[ap]m\b|\b(?:[01]?\d|2[0-3]):[0-5]\d\b", re.IGNORECASE), ("time",)),
    (re.compile(r"\b\d+(?:\.\d+)?\s*(?:and|plus|minus|times|[+*×÷])\s*\d"), ("number",)),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b"), ("commit",)),
)
# "and/or" is no repository.
_ALTERNATIVES: Final = re.compile(
    r"\b(?:and/or|he/she|she/he|his/her|him/her|yes/no|on/off|true/false|input/output|in/out)\b", re.IGNORECASE
)
# Every value has one of these.
_MARK: Final = re.compile(r"[/#\d]|\.\w")
WEIGHT: Final = 0.8
"""The weight of a word that only a value stands for; a word of the request has 1."""


def value_terms(text: str) -> dict[str, float]:
    """Return the terms that the values of a request stand for, with their weight."""
    if not _MARK.search(text):
        return {}
    text = _ALTERNATIVES.sub(" ", text)
    words = [word for pattern, words in _HINTS if pattern.search(text) for word in words]
    return {term: WEIGHT for word in words for term in word_terms(word)}
