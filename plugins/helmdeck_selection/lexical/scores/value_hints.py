"""Words that the values of a request stand for: a file name speaks of a file, a host name of a web page.

Requests rarely name the kind of a value, and the descriptions of tools name nothing else: "put it into notes.md" needs the
tool that writes a file, "tell #ops" the one that posts to a channel.
"""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import WordFile, word_terms

_LISTS: Final = WordFile.beside(__file__, "value_hints.toml")
_WORDS_OF: Final = {
    extension: words.split()
    for extensions, words in _LISTS.rows("contents").items()
    for extension in extensions.split()
}
_EXTENSIONS: Final = "|".join(_WORDS_OF)
_DOMAINS: Final = "|".join(_LISTS.words("domains"))
_STANDS_FOR: Final = {value: words.split() for value, words in _LISTS.rows("values").items()}
_FILE: Final = re.compile(rf"\.(?<=[\w-]\.)({_EXTENSIONS})(?!\.*\w)", re.IGNORECASE)
# "save it as notes.md", "write a file": the tool that writes a file is needed, not one of those that read it.
_FILE_NAME: Final = rf"[\w-]\.(?:{_EXTENSIONS})\b"
_WRITTEN: Final = re.compile(
    rf"\b(?:saved?|stored?|write|written|export(?:ed)?)\b[^.!?;\n]{{0,80}}?(?:\bfile\b|{_FILE_NAME})"
    rf"|\b(?:to|into|as|called|named)\s(?:an?\s|the\s)?(?:new\s)?(?:file\s)?[\"'`]?[\w./-]{{0,80}}{_FILE_NAME}",
    re.IGNORECASE,
)
_FILE_NAMED: Final = re.compile(rf"\.(?<=[\w-]\.)(?:{_EXTENSIONS})\b", re.IGNORECASE)
_DIRECTORY: Final = re.compile(r"(?:^|\s)(?:~|\.{1,2})?/\w[\w.-]*(?:/|\s|$)")
_PAGE: Final = re.compile(rf"https?://|(?<![@\w.])(?:[\w-]+\.)+(?:{_DOMAINS})(?![\w@])", re.IGNORECASE)
_CHANNEL: Final = re.compile(r"(?<![\w&/])#[a-z][\w-]+")
# "notes/todo.md" is a file.
_REPOSITORY: Final = re.compile(
    rf"(?<![\w/.])[a-z][\w.-]*[a-z0-9]/(?![\w.-]*\.(?:{_EXTENSIONS})\b)[a-z][\w.-]*[a-z0-9](?![\w/])"
)
_TIME: Final = re.compile(r"\b\d{1,2}(?::[0-5]\d)?\s?[ap]m\b|\b(?:[01]?\d|2[0-3]):[0-5]\d\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\b\d+(?:\.\d+)?\s*(?:and|plus|minus|times|[+*×÷])\s*\d")
_MONEY: Final = re.compile(r"[£€$¥₹]\s?\d|\b\d+(?:[.,]\d+)?\s?(?:USD|EUR|GBP|CHF|JPY|CNY|INR)\b")
# A turn by 90 degrees is no temperature.
_TEMPERATURE: Final = re.compile(
    r"(?<![\d.])(?!(?:45|90|180|270|360)\b)\d{1,3}(?:[.,]\d)?\s?(?:degrees\b|°\s?[CF]\b)", re.IGNORECASE
)
_POINT: Final = re.compile(r"-?\b\d{1,3}\.\d{2,}\s*,\s*-?\d{1,3}\.\d{2,}")
_COMMIT: Final = re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_MARKS: Final = ("/", "#")
_DOT: Final = re.compile(r"\.\w")
_DIGIT: Final = re.compile(r"\d")
# Marks of which every match contains a digit.
_DIGIT_MARKS: Final = (
    ("0", re.compile(r"\d(?:[a-f:]|\s*[aApPmt+*×÷]|(?<=[a-f]\d))")),
    ("$", re.compile(r"[£€$¥₹\d](?:(?<=\d)\s?[A-Z]{3}\b|(?<!\d)\s?\d)")),  # a set at the start is searched for fast
    ("°", re.compile(r"(?i)\d\s?(?:°|degrees)")),
    (",", re.compile(r"\.\d\d+\s*,")),
)
# Each pattern with the marks of which every match contains one, and with a faster pattern that every match contains.
_HINTS: Final = tuple(
    (frozenset(marks), re.compile(needed), pattern, _STANDS_FOR[value])
    for value, marks, needed, pattern in (
        ("directory", "/", "", _DIRECTORY),
        ("page", "./", rf"(?i)[.:](?://|(?:{_DOMAINS})(?![\w@]))", _PAGE),
        ("channel", "#", "", _CHANNEL),
        ("repository", "/", "", _REPOSITORY),
        ("time", "0", r"\d(?::|\s?[aApP][mM])", _TIME),
        ("number", "0", r"\d\s*[apmt+*×÷]", _NUMBER),
        ("commit", "0", r"\d(?:(?<=[a-f]\d)|[a-f])", _COMMIT),
        ("money", "$", "", _MONEY),
        ("temperature", "°", "", _TEMPERATURE),
        ("point", ",", "", _POINT),
    )
)
# "and/or" is no repository.
_ALTERNATIVES: Final = re.compile(
    r"\b(?:and/or|he/she|she/he|his/her|him/her|yes/no|on/off|true/false|input/output|in/out)\b", re.IGNORECASE
)
WEIGHT: Final = 0.8
"""The weight of a word that only a value stands for; a word of the request has 1."""


def value_terms(text: str) -> dict[str, float]:
    """Return the terms that the values of a request stand for, with their weight."""
    marks = [mark for mark in _MARKS if mark in text]
    if _DOT.search(text):
        marks.append(".")
    if _DIGIT.search(text):
        marks += [mark for mark, pattern in _DIGIT_MARKS if pattern.search(text)]
    may_be_file = "file" in text or ("." in marks and (_FILE_NAMED.search(text) or "file" in text.lower()))
    words = ["write", "file"] if may_be_file and _WRITTEN.search(text) else []
    if not marks and not words:
        return {}
    if "/" in text:
        text = _ALTERNATIVES.sub(" ", text)
    if "." in marks and (extensions := dict.fromkeys(map(str.lower, _FILE.findall(text)))):
        words += ["file", *(word for extension in extensions for word in _WORDS_OF[extension])]
    words += [
        word
        for possible, needed, pattern, words in _HINTS
        if not possible.isdisjoint(marks) and needed.search(text) and pattern.search(text)
        for word in words
    ]
    return {term: WEIGHT for word in words for term in word_terms(word)}
