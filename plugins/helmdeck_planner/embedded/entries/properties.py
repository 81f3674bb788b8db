"""Classifies the inputs of a catalog entry by the kind of value that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import split_identifier, stem, words
from helmdeck_planner.embedded.entries.property_words import (
    FOLDER_WORDS,
    GENERIC_WORDS,
    NEW_TEXT,
    OLD_TEXT,
    ROLE_WORDS,
    SOURCE_SIDE,
    TARGET_SIDE,
)
from helmdeck_planner.embedded.entries.units import Unit, unit_of_input
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
    TARGET = "target"
    KEY = "key"
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


QUOTED_ROLES: Final = (
    Role.CONTENT,
    Role.QUERY,
    Role.NAME,
    Role.TEXT,
    Role.PATTERN,
    Role.PLACE,
    Role.CODE,
    Role.EXPRESSION,
)
"""The roles that take a quoted string, in the order in which strings without a label go to them."""


MAX_INPUTS: Final = 250
"""Inputs of an entry that are filled: the rules compare them with each other, which for 2,000 would take minutes."""


class Clock(StrEnum):
    """The form in which an input takes a time of day."""

    HOURS = "HH:MM"
    SECONDS = "HH:MM:SS"
    TWELVE_HOURS = "h:MM AM"


@attrs.frozen
class Property:
    """One input of an entry.

    :ivar words: the words of its name.
    :ivar labels: stems that label a value in a request: "branch" for ``branch_name``.
    :ivar hints: stems of its description.
    :ivar side: ``source`` takes the value after "from", ``target`` the one after "to".
    :ivar choices: the allowed values.
    :ivar unit: the unit of the number that it takes.
    :ivar clock: the form of the times that it takes; ``None`` if the schema states none.
    :ivar is_object: it takes an object whose fields the schema does not name, or a list of them.
    :ivar cell: the type of the values of a list of lists: "string", or "any"; empty if it takes none.
    :ivar wants_iso_date: its schema gives dates as ``YYYY-MM-DD``.
    :ivar wants_iana: its description gives IANA names of time zones.
    :ivar wants_subfolders: its description, or that of the entry, gives patterns such as ``**/*.txt``.
    :ivar fields: the fields of its items, if they are objects.
    :ivar least: the smallest number that it takes; ``most`` is the largest one.
    :ivar replacement: the names of the two fields of its items that take an old and a new text.
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
    text: str = ""
    unit: Unit | None = None
    is_object: bool = False
    cell: str = ""
    wants_iso_date: bool = False
    wants_iana: bool = False
    wants_subfolders: bool = False
    replacement: tuple[str, str] | None = None
    fields: tuple[Property, ...] = ()
    clock: Clock | None = None
    least: float | None = None
    most: float | None = None

    @property
    def takes_objects(self) -> bool:
        """Whether it takes an object, a list of them, or a list of lists."""
        return bool(self.fields or self.is_object or self.cell)

    @property
    def is_old_text(self) -> bool:
        """Whether it takes a text that is replaced."""
        return bool(OLD_TEXT & set(self.words))

    @property
    def is_new_text(self) -> bool:
        """Whether it takes a text that replaces another."""
        return bool(NEW_TEXT & set(self.words))


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
_ISO_DATES: Final = re.compile(r"\byyyy-mm-dd\b(?![ t]*(?:hh|\d))|\biso.?8601 date\b(?!.?time)", re.IGNORECASE)
_TWELVE_HOURS: Final = re.compile(r"\b12[- ]hour|\bhh?:mm [ap]m\b|\b\d{1,2}:\d{2} ?[ap]m\b", re.IGNORECASE)
_SECONDS: Final = re.compile(r"\bhh:mm:ss\b", re.IGNORECASE)
_NAME_OF: Final = re.compile(r"(?:the )?name of\b", re.IGNORECASE)
_OLDER: Final = re.compile(r"\b(?:older|earlier|first)\b", re.IGNORECASE)
_CLOCK: Final = re.compile(r"time|clock|\bIANA\b|\bUTC\b", re.IGNORECASE)
_TWENTY_FOUR_HOURS: Final = re.compile(r"\b24[- ]hour|\bhh:mm\b|\b(?:0\d|1[3-9]|2[0-3]):[0-5]\d\b", re.IGNORECASE)
# Patterns of hours and minutes with two digits, such as "^([01]\\d|2[0-3]):[0-5]\\d$".
_CLOCK_PATTERN: Final = re.compile(r":\(?(?:\[0-5\]|\\d\{2\})")
_INTO: Final = re.compile(r"\b(?:pulled|merged?|moved?|copied) into\b", re.IGNORECASE)
_LISTS_CHOICES: Final = re.compile(
    r"\bwhether\b|\bone of\b|\beither\b|\b(?:allowed|valid|possible|supported) (?:values|options)\b|\boptions?:",
    re.IGNORECASE,
)
_GIVES_EXAMPLES: Final = re.compile(r"\be\.?g\b|\bexample\b|\bsuch as\b", re.IGNORECASE)
_QUOTED_CHOICE: Final = re.compile(r"['\"`]([A-Za-z][\w-]{0,30})['\"`]")
_IANA: Final = re.compile(r"\biana\b|\b[A-Z][a-z]+/[A-Z][a-z]+")
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


def properties_of(entry: Entry) -> tuple[Property, ...]:
    """Return the inputs of an entry, required ones first: at most ``MAX_INPUTS``."""
    required = required_inputs(entry)
    # A value that the schema names in its place need not be stated.
    stated = {
        name: name in required and "default" not in _resolved(schema)
        for name, schema in input_properties(entry).items()
    }
    first = sorted(stated.items(), key=lambda item: not item[1])[:MAX_INPUTS]
    found = [_property(entry, name, input_properties(entry)[name], is_required) for name, is_required in first]
    roles = {each.role for each in found}
    if not {Role.OWNER, Role.REPO} <= roles:
        found = [attrs.evolve(each, role=Role.NAME) if each.role in (Role.OWNER, Role.REPO) else each for each in found]
    if any("head" in each.words for each in found):
        # "base" is the source of a new branch, and the target of a pull request.
        found = [
            attrs.evolve(each, side="source" if _OLDER.search(each.text) else "target")
            if "base" in each.words
            else each
            for each in found
        ]
    return tuple(found)


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
        side="target" if _INTO.search(text) else _side(name_words) or _described_side(text),
        is_required=is_required,
        is_list=items is not None,
        choices=tuple(choices) if isinstance(choices, (list, tuple)) else (),
        text=text,
        unit=unit_of_input(name_words, text) if _type(inner) in ("integer", "number") else None,
        is_object=_type(inner) == "object" and not inner.get("properties"),
        cell=_cell(inner) if items is not None else "",
        wants_iso_date=inner.get("format") == "date" or bool(_ISO_DATES.search(text)),
        wants_iana=bool(_IANA.search(text)),
        wants_subfolders="**/" in text or "**/" in entry.description,
        replacement=_replacement(inner),
        fields=_fields(entry, inner) if items is not None else (),
        clock=_clock(inner, text) if _type(inner) == "string" else None,
        least=_bound(inner, "minimum"),
        most=_bound(inner, "maximum"),
    )


def _bound(schema: Mapping[str, Any], key: str) -> float | None:
    found = schema.get(key)
    return float(found) if isinstance(found, (int, float)) else None


def _clock(schema: Mapping[str, Any], text: str) -> Clock | None:
    """Return the form of times that a description, pattern, format or example states; a time with a date is none."""
    examples = schema.get("examples")
    shown = [schema.get("example"), schema.get("default"), *(examples if isinstance(examples, Sequence) else ())]
    words_of_form = " ".join([text, *(each for each in shown if isinstance(each, str))])
    pattern = schema.get("pattern")
    if _DATES.search(words_of_form):
        return None
    if _TWELVE_HOURS.search(words_of_form):
        return Clock.TWELVE_HOURS
    if _SECONDS.search(words_of_form):
        return Clock.SECONDS
    is_form = schema.get("format") == "time" or _TWENTY_FOUR_HOURS.search(words_of_form)
    return Clock.HOURS if is_form or (isinstance(pattern, str) and _CLOCK_PATTERN.search(pattern)) else None


def _cell(row: Mapping[str, Any]) -> str:
    """Return the type of the cells of a row; empty if a list has no lists."""
    if _type(row) != "array":
        return ""
    return "string" if _type(_resolved(row.get("items"))) == "string" else "any"


def _fields(entry: Entry, items: Mapping[str, Any]) -> tuple[Property, ...]:
    """Return the fields of the objects of a list, required ones first."""
    fields, required = items.get("properties"), items.get("required")
    if not isinstance(fields, Mapping) or not isinstance(required, Sequence):
        return ()
    found = [_property(entry, str(name), schema, name in required) for name, schema in fields.items()]
    return tuple(sorted(found, key=lambda each: not each.is_required))


def _replacement(items: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the two fields of ``{"oldText": ..., "newText": ...}``, if items require nothing else."""
    fields, required = items.get("properties"), items.get("required")
    if not isinstance(fields, Mapping) or not isinstance(required, Sequence) or len(required) != 2:
        return None
    if any(not isinstance(fields.get(name), Mapping) or fields[name].get("type") != "string" for name in required):
        return None
    by_words = {name: set(words(split_identifier(str(name)))) for name in required}
    old = [name for name, its_words in by_words.items() if its_words & OLD_TEXT]
    new = [name for name, its_words in by_words.items() if its_words & NEW_TEXT]
    return (old[0], new[0]) if len(old) == 1 and len(new) == 1 and old != new else None


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
    if every & {"start", "end", "when", "since", "until", "timestamp"} and _DATES.search(text):
        return Role.DATE
    if every & {"start", "end", "when", "since", "until", "begin"} and _TWENTY_FOUR_HOURS.search(text):
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
    if Role.QUERY in known and _NAME_OF.match(text):
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
    return Role.DATE if _DATES.search(text[:60]) else Role.TEXT


def _described_side(text: str) -> str:
    """Return the side of an input whose description starts with it: "Start date of the range"."""
    first = text.lower().split(maxsplit=1)[:1]
    return (
        {"start": "source", "starting": "source", "end": "target", "ending": "target"}.get(first[0], "")
        if first
        else ""
    )


def _side(name_words: tuple[str, ...]) -> str:
    ends = {
        word for each in (name_words[:1], name_words[-1:]) for word in (*each, *(w.removesuffix("s") for w in each))
    }
    if "timestamp" in ends and len(name_words) == 1:
        return ""
    if ends & SOURCE_SIDE:
        return "source"
    return "target" if ends & TARGET_SIDE else ""
