"""Reads the inputs of an entry from its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import split_identifier, stem, words
from helmdeck_planner.embedded.entries.properties import Clock, Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    GENERIC_WORDS,
    NEW_TEXT,
    OLD_TEXT,
)
from helmdeck_planner.embedded.entries.roles import DATES, TWENTY_FOUR_HOURS, described_side, role_of, side_of, type_of
from helmdeck_planner.embedded.entries.units import unit_of_input
from helmdeck_selection import input_properties, required_inputs

MAX_INPUTS: Final = 250
"""Inputs of an entry that are filled: the rules compare them with each other, which for 2,000 would take minutes."""
_ISO_DATES: Final = re.compile(r"\byyyy-mm-dd\b(?![ t]*(?:hh|\d))|\biso.?8601 date\b(?!.?time)", re.IGNORECASE)
_TWELVE_HOURS: Final = re.compile(r"\b12[- ]hour|\bhh?:mm [ap]m\b|\b\d{1,2}:\d{2} ?[ap]m\b", re.IGNORECASE)
_SECONDS: Final = re.compile(r"\bhh:mm:ss\b", re.IGNORECASE)
# Patterns of hours and minutes with two digits, such as "^([01]\\d|2[0-3]):[0-5]\\d$".
_CLOCK_PATTERN: Final = re.compile(r":\(?(?:\[0-5\]|\\d\{2\})")
_OLDER: Final = re.compile(r"\b(?:older|earlier|first)\b", re.IGNORECASE)
_INTO: Final = re.compile(r"\b(?:pulled|merged?|moved?|copied) into\b", re.IGNORECASE)
_LISTS_CHOICES: Final = re.compile(
    r"\bwhether\b|\bone of\b|\beither\b|\b(?:allowed|valid|possible|supported) (?:values|options)\b|\boptions?:",
    re.IGNORECASE,
)
_GIVES_EXAMPLES: Final = re.compile(r"\be\.?g\b|\bexample\b|\bsuch as\b", re.IGNORECASE)
_QUOTED_CHOICE: Final = re.compile(r"['\"`]([A-Za-z][\w-]{0,30})['\"`]")
_IANA: Final = re.compile(r"\biana\b|\b[A-Z][a-z]+/[A-Z][a-z]+")


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
        else role_of(entry, name_words, own if items is None else {**items, "description": text}, text),
        words=name_words,
        labels=labels,
        hints=frozenset(stem(word) for word in words(text)[:60]),
        side="target" if _INTO.search(text) else side_of(name_words) or described_side(text),
        is_required=is_required,
        is_list=items is not None,
        choices=tuple(choices) if isinstance(choices, (list, tuple)) else (),
        text=text,
        unit=unit_of_input(name_words, text) if type_of(inner) in ("integer", "number") else None,
        is_object=type_of(inner) == "object" and not inner.get("properties"),
        cell=_cell(inner) if items is not None else "",
        wants_iso_date=inner.get("format") == "date" or bool(_ISO_DATES.search(text)),
        wants_iana=bool(_IANA.search(text)),
        wants_subfolders="**/" in text or "**/" in entry.description,
        replacement=_replacement(inner),
        fields=_fields(entry, inner) if items is not None else (),
        clock=_clock(inner, text) if type_of(inner) == "string" else None,
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
    if DATES.search(words_of_form):
        return None
    if _TWELVE_HOURS.search(words_of_form):
        return Clock.TWELVE_HOURS
    if _SECONDS.search(words_of_form):
        return Clock.SECONDS
    is_form = schema.get("format") == "time" or TWENTY_FOUR_HOURS.search(words_of_form)
    return Clock.HOURS if is_form or (isinstance(pattern, str) and _CLOCK_PATTERN.search(pattern)) else None


def _cell(row: Mapping[str, Any]) -> str:
    """Return the type of the cells of a row; empty if a list has no lists."""
    if type_of(row) != "array":
        return ""
    return "string" if type_of(_resolved(row.get("items"))) == "string" else "any"


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
    if type_of(schema) != "string" or not _LISTS_CHOICES.search(text) or _GIVES_EXAMPLES.search(text):
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
