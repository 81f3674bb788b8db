"""Classifies the inputs of a catalog entry by the kind of value that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import split_identifier, stem, words
from helmdeck_planner.embedded.entries.property_words import GENERIC_WORDS, ROLE_WORDS, SOURCE_SIDE, TARGET_SIDE
from helmdeck_selection import input_properties, required_inputs


class Role(StrEnum):
    """The kind of value that an input takes."""

    URL = "url"
    EMAIL = "email"
    PATH = "path"
    DATE = "date"
    TIME = "time"
    ZONE = "zone"
    ID = "id"
    LANGUAGE = "language"
    CURRENCY = "currency"
    SQL = "sql"
    CODE = "code"
    EXPRESSION = "expression"
    OWNER = "owner"
    REPO = "repo"
    PATTERN = "pattern"
    PLACE = "place"
    QUERY = "query"
    NAME = "name"
    CONTENT = "content"
    TEXT = "text"
    CHOICE = "choice"
    BOOLEAN = "boolean"
    NUMBER = "number"
    OTHER = "other"


@attrs.frozen
class Property:
    """One input of an entry.

    :ivar words: the words of its name.
    :ivar labels: stems that label a value in a request: "branch" for ``branch_name``.
    :ivar hints: stems of its description.
    :ivar side: ``source`` takes the value after "from", ``target`` the one after "to".
    :ivar choices: the allowed values.
    """

    name: str
    role: Role
    words: tuple[str, ...]
    labels: frozenset[str]
    hints: frozenset[str]
    side: str
    is_required: bool
    is_list: bool
    choices: tuple[Any, ...] = ()


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
_DATES: Final = re.compile(r"\bdates?\b|\byyyy-mm|iso.?8601", re.IGNORECASE)
_LISTS_CHOICES: Final = re.compile(
    r"\bwhether\b|\bone of\b|\beither\b|\b(?:allowed|valid|possible|supported) (?:values|options)\b|\boptions?:",
    re.IGNORECASE,
)
_GIVES_EXAMPLES: Final = re.compile(r"\be\.?g\b|\bexample\b|\bsuch as\b", re.IGNORECASE)
_QUOTED_CHOICE: Final = re.compile(r"['\"`]([A-Za-z][\w-]{0,30})['\"`]")
_ID_SHAPED: Final = re.compile(r"\b(?:id|identifier|ticker|number|sha)\b", re.IGNORECASE)


def properties_of(entry: Entry) -> tuple[Property, ...]:
    """Return the inputs of an entry, required ones first."""
    required = required_inputs(entry)
    found = [_property(entry, name, schema, name in required) for name, schema in input_properties(entry).items()]
    roles = {each.role for each in found}
    if not {Role.OWNER, Role.REPO} <= roles:
        found = [attrs.evolve(each, role=Role.NAME) if each.role in (Role.OWNER, Role.REPO) else each for each in found]
    return tuple(sorted(found, key=lambda each: not each.is_required))


def _property(entry: Entry, name: str, schema: Any, is_required: bool) -> Property:
    own = _resolved(schema)
    items = _resolved(own.get("items")) if own.get("type") == "array" else None
    inner = own if items is None else items
    name_words = tuple(words(split_identifier(name)))
    description = own.get("description")
    text = description if isinstance(description, str) else ""
    choices = inner.get("enum") or _described_choices(inner, text)
    labels = frozenset(stem(word) for word in name_words if word not in GENERIC_WORDS)
    return Property(
        name=name,
        role=Role.CHOICE
        if choices and not isinstance(choices, str)
        else _role(entry, name_words, own if items is None else {**items, "description": text}, text),
        words=name_words,
        labels=labels,
        hints=frozenset(stem(word) for word in words(text)[:60]),
        side=_side(name_words),
        is_required=is_required,
        is_list=items is not None,
        choices=tuple(choices) if isinstance(choices, (list, tuple)) else (),
    )


def _described_choices(schema: Mapping[str, Any], text: str) -> list[str]:
    """Return the words in single quotes of a description that lists the allowed values."""
    if _type(schema) != "string" or not _LISTS_CHOICES.search(text) or _GIVES_EXAMPLES.search(text):
        return []
    found = _QUOTED_CHOICE.findall(text)
    return list(dict.fromkeys(found)) if len(found) > 1 else []


def _resolved(schema: Any) -> Mapping[str, Any]:
    """Return a schema without alternatives: ``anyOf`` a type and null is the type."""
    if not isinstance(schema, Mapping):
        return {}
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, Sequence) and not isinstance(options, str):
            real = [each for each in options if isinstance(each, Mapping) and each.get("type") != "null"]
            if real:
                return {**schema, **real[0], "description": schema.get("description", real[0].get("description", ""))}
    return schema


def _type(schema: Mapping[str, Any]) -> str:
    found = schema.get("type")
    if isinstance(found, (list, tuple)):
        found = next((each for each in found if each != "null"), None)
    return found if isinstance(found, str) else ("" if schema else "string")


def _role(entry: Entry, name_words: tuple[str, ...], schema: Mapping[str, Any], text: str) -> Role:
    kind = _type(schema)
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
    forms = {last, last.removesuffix("s")}
    known = {role for role, its_words in ROLE_WORDS.items() if forms & its_words}
    every = set(name_words)
    if "currency" in every or (_CODES.search(text) and every & {"from", "to", "base", "target", "source"}):
        return Role.CURRENCY
    if every & {"date", "checkin", "checkout", "deadline"} or {"check", "in"} <= every or {"check", "out"} <= every:
        return Role.DATE
    if "timezone" in every or every & {"tz"}:
        return Role.ZONE
    if every & {"start", "end", "when", "since", "until", "timestamp"} and _DATES.search(text):
        return Role.DATE
    if last in ("query", "statement", "q", "sql") and (_SQL.search(text) or _SQL.search(entry.description)):
        return Role.SQL
    if last == "code":
        return Role.CODE if len(name_words) == 1 or every & {"source", "python", "program"} else Role.ID
    if last == "to" and len(name_words) == 1 and "mail" not in f"{entry.id} {entry.description}".lower():
        return Role.TEXT
    if last == "target" and ("language" in text.lower() or "translat" in f"{entry.id}{entry.description}".lower()):
        return Role.LANGUAGE
    for role in ROLE_WORDS:
        if role in known:
            return Role(role)
    if every & ROLE_WORDS["url"]:
        return Role.URL
    if every & {"path", "file", "directory", "folder"}:
        return Role.PATH
    if every & {"city", "location", "place", "address"}:
        return Role.PLACE
    return Role.ID if _ID_SHAPED.search(text[:60]) else Role.TEXT


def _side(name_words: tuple[str, ...]) -> str:
    ends = {
        word for each in (name_words[:1], name_words[-1:]) for word in (*each, *(w.removesuffix("s") for w in each))
    }
    if "timestamp" in ends and len(name_words) == 1:
        return ""
    if ends & SOURCE_SIDE:
        return "source"
    return "target" if ends & TARGET_SIDE else ""
