"""The kind of value that an input takes, and its side of "from" and "to", by its name, schema and description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from helmdeck_core import Entry
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import (
    FOLDER_WORDS,
    ROLE_WORDS,
    SOURCE_SIDE,
    TARGET_SIDE,
)
from helmdeck_selection import input_properties, required_inputs

_FORMATS: Final = {
    "uri": Role.URL,
    "url": Role.URL,
    "iri": Role.URL,
    "email": Role.EMAIL,
    "date": Role.DATE,
    "date-time": Role.DATE,
    "time": Role.TIME,
}
_SQL: Final = re.compile(r"\bsql\b|\bselect\b.*\bquery\b", re.IGNORECASE)
_CODES: Final = re.compile(r"\b(?:three-letter|3-letter|iso 4217|currency) code\b|\bcurrency\b", re.IGNORECASE)
DATES: Final = re.compile(r"\bdates?\b|\byyyy-mm|iso.?8601", re.IGNORECASE)
TWENTY_FOUR_HOURS: Final = re.compile(r"\b24[- ]hour|\bhh:mm\b|\b(?:0\d|1[3-9]|2[0-3]):[0-5]\d\b", re.IGNORECASE)
NAME_OF: Final = re.compile(r"(?:the )?name of\b", re.IGNORECASE)
"""The start of the description of an input that takes a name."""
_CLOCK: Final = re.compile(r"time|clock|\bIANA\b|\bUTC\b", re.IGNORECASE)
_GEOGRAPHIC: Final = re.compile(
    r"(?:\b|_)(?:city|country|address|province|zip|weather|location)(?:\b|_)", re.IGNORECASE
)
_TARGETS: Final = re.compile(
    r"\bselector\b|\belement\b.*\b(?:ref|reference|uid)\b|\b(?:ref|reference|uid)\b.*\belement\b", re.IGNORECASE
)
_KEYS: Final = re.compile(r"\bkeys? to press\b|\bkeyboard\b|\bkey name\b|\bname of the key\b", re.IGNORECASE)
_TARGET_WORDS: Final = frozenset("selector target ref uid element locator".split())
# Topics to which messages are sent; they are no search terms.
_BROKER: Final = re.compile(r"\b(?:mqtt|kafka|broker|publish|subscribe)\b", re.IGNORECASE)
_NAMES_URLS: Final = re.compile(r"^(?:the |(?:list|array) of )?URLs?\b", re.IGNORECASE)
# Mail addresses, and folders of mail and the like, which have names and no paths.
_MAILS: Final = re.compile(r"(?:\b|_)(?:e-?)?mails?(?:\b|_)|\bsender\b|\brecipient\b", re.IGNORECASE)
# Descriptions of a code that is a program: "Execute Python code"; a discount has one as well.
_RUNS_CODE: Final = re.compile(
    r"\b(?:run|runs|execut\w+|evaluat\w+|compil\w+|lint\w*|format\w*|analy[sz]\w+|javascript|typescript|python|source|program|script|snippet|function|language)\b",
    re.IGNORECASE,
)
# What a "destination" is that is no place.
_STORED: Final = re.compile(r"\b(?:bucket|key|object)s?\b", re.IGNORECASE)
_NAMES_FOLDERS: Final = re.compile(r"\bname of (?:the |a )?(?:\w+ )?folder\b|\bfolder name\b", re.IGNORECASE)
_ID_SHAPED: Final = re.compile(r"\b(?:id|identifier|ticker|number|digits|sha)\b", re.IGNORECASE)


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema other than null; empty if it states none, and "string" for an empty schema."""
    found = schema.get("type")
    if isinstance(found, (list, tuple)):
        found = next((each for each in found if each != "null"), None)
    return found if isinstance(found, str) else ("" if schema else "string")


def role_of(entry: Entry, name_words: tuple[str, ...], schema: Mapping[str, Any], text: str) -> Role:
    """Return the kind of value that an input takes."""
    kind = type_of(schema)
    if isinstance(schema.get("enum"), (list, tuple)):
        return Role.CHOICE
    if kind == "boolean":
        return Role.BOOLEAN
    if kind in ("integer", "number"):
        return Role.NUMBER
    if kind in ("object", "array", "null") or (schema.get("properties") and kind != "string"):
        return Role.OTHER
    if found := _FORMATS.get(str(schema.get("format"))):
        return found
    return _role_of_words(entry, name_words, text)


def _role_of_words(entry: Entry, name_words: tuple[str, ...], text: str) -> Role:
    last = name_words[-1] if name_words else ""
    if last in _TARGET_WORDS and _TARGETS.search(text) and "human" not in text.lower():
        return Role.TARGET
    if last in ("key", "keys") and (_KEYS.search(text) or _KEYS.search(entry.description)):
        return Role.KEY
    forms = {last, last.removesuffix("s")}
    known = {role for role, its_words in ROLE_WORDS.items() if forms & its_words}
    every = set(name_words)
    if "currency" in every or (_CODES.search(text) and every & {"from", "to", "base", "target", "source"}):
        return Role.CURRENCY
    if every & {"date", "checkin", "checkout", "deadline"} or {"check", "in"} <= every or {"check", "out"} <= every:
        return Role.DATE
    if "timezone" in every or every & {"tz"} or ("zone" in every and "time" in every):
        return Role.ZONE
    if every & {"start", "end", "when", "since", "until", "timestamp"} and DATES.search(text):
        return Role.DATE
    if every & {"start", "end", "when", "since", "until", "begin"} and TWENTY_FOUR_HOURS.search(text):
        return Role.TIME
    if last in ("query", "statement", "q", "sql") and (_SQL.search(text) or _SQL.search(entry.description)):
        return Role.SQL
    if last == "code":
        if len(name_words) == 1:
            # The code of a discount identifies it, that of a gate is one of several inputs.
            is_program = len(required_inputs(entry)) > 1 or _RUNS_CODE.search(f"{entry.description} {text}")
            return Role.CODE if is_program else Role.ID
        return Role.CODE if every & {"source", "python", "program"} else Role.ID
    if last == "to" and len(name_words) == 1 and "mail" not in f"{entry.id} {entry.description}".lower():
        return Role.TEXT
    if last == "target" and ("language" in text.lower() or "translat" in f"{entry.id}{entry.description}".lower()):
        return Role.LANGUAGE
    if last == "zone" and not _CLOCK.search(f"{text} {entry.description}"):
        return Role.NAME  # of a DNS server, or of a heating
    if last == "state" and not _GEOGRAPHIC.search(" ".join((text, entry.description, *input_properties(entry)))):
        return Role.TEXT
    if last == "topic" and _BROKER.search(f"{text} {entry.description}"):
        return Role.NAME
    if "address" in every and _MAILS.search(f"{entry.id} {entry.description} {text}"):
        return Role.EMAIL
    if forms & FOLDER_WORDS and _NAMES_FOLDERS.search(text):
        return Role.NAME
    if Role.PLACE in known and _STORED.search(text):
        return Role.TEXT
    if Role.QUERY in known and NAME_OF.match(text):
        return Role.NAME  # the topic of a queue
    for role in ROLE_WORDS:
        if role in known:
            return Role.URL if role == Role.PATH and _NAMES_URLS.search(text) else Role(role)
    if every & ROLE_WORDS["url"]:
        return Role.URL
    if every & {"path", "file", "directory", "folder"}:
        return Role.PATH
    if every & {"city", "location", "place", "address"}:
        return Role.PLACE
    if _ID_SHAPED.search(text[:60]):
        return Role.ID
    return Role.DATE if DATES.search(text[:60]) else Role.TEXT


def described_side(text: str) -> str:
    """Return the side of an input whose description starts with it: "Start date of the range"."""
    first = text.lower().split(maxsplit=1)[:1]
    return (
        {"start": "source", "starting": "source", "end": "target", "ending": "target"}.get(first[0], "")
        if first
        else ""
    )


def side_of(name_words: tuple[str, ...]) -> str:
    """Return the side that the first or the last word of a name states: "from", "target"."""
    ends = {
        word for each in (name_words[:1], name_words[-1:]) for word in (*each, *(w.removesuffix("s") for w in each))
    }
    if "timestamp" in ends and len(name_words) == 1:
        return ""
    if ends & SOURCE_SIDE:
        return "source"
    return "target" if ends & TARGET_SIDE else ""
