"""What an entry says about itself, by field: the texts that can be matched and how much each of them counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from helmdeck_core import Entry
from helmdeck_plugins.lexical.text import split_identifier, words

# How much one occurrence counts by where it stands. A limitation says what an entry does not do, so it hardly speaks
# for it.
FIELD_WEIGHTS: Final[Mapping[str, float]] = {
    "name": 2.0,
    "keyword": 1.5,
    "description": 1.0,
    "use": 0.8,
    "accepts": 0.4,
    "produces": 0.5,
    "step": 0.5,
    "limitation": 0.05,
}


def field_words(entry: Entry) -> dict[str, list[str]]:
    """The folded words of an entry by field, repeated as often as they occur; fields without any are left out."""
    found = {field: [word for text in texts for word in _words(text)] for field, texts in _field_texts(entry).items()}
    found["name"] = [word for text in _names(entry) for word in words(split_identifier(text))]
    return {field: list_ for field, list_ in found.items() if list_}


def keyword_phrases(entry: Entry) -> list[str]:
    """The phrases with which people ask for an entry."""
    return _texts(entry.metadata.get("intent_keywords"))


def step_packs(entry: Entry) -> tuple[str, ...]:
    """The packs that a pipeline runs, in order."""
    # Steps stand in the metadata or beside it; the same is true of inputs.
    steps = entry.metadata.get("steps", entry.data.get("steps"))
    if not isinstance(steps, (list, tuple)):
        return ()
    packs = (step if isinstance(step, str) else _first_text(step, ("pack", "tool")) for step in steps)
    return tuple(pack for pack in packs if pack)


def input_properties(entry: Entry) -> Mapping[str, object]:
    """The inputs of an entry by name, with what is known about each."""
    schema = entry.input_schema
    for found in (schema.get("properties") if schema else None, entry.metadata.get("inputs"), entry.data.get("inputs")):
        if isinstance(found, Mapping):
            nested = found.get("properties") if found.get("type") == "object" else None
            return nested if isinstance(nested, Mapping) else found
        if isinstance(found, (list, tuple)):
            return dict.fromkeys(_texts(found))
    return {}


def required_inputs(entry: Entry) -> frozenset[str]:
    """The inputs that an entry cannot do without: those its schema says, or that have no default."""
    if entry.input_schema is not None:
        return frozenset(_texts(entry.input_schema.get("required")))
    inputs = input_properties(entry)
    return frozenset(name for name, what in inputs.items() if isinstance(what, Mapping) and "default" not in what)


def _field_texts(entry: Entry) -> dict[str, list[str]]:
    metadata = entry.metadata
    return {
        "keyword": keyword_phrases(entry),
        "description": [entry.description],
        "use": _texts(metadata.get("typical_use")),
        "accepts": [*_texts(metadata.get("accepts")), *input_properties(entry)],
        "produces": [*_texts(metadata.get("produces")), *_texts(metadata.get("outputs"))],
        "step": [*step_packs(entry)],
        "limitation": _texts(metadata.get("limitations")),
    }


def _texts(value: object) -> list[str]:
    """The texts in a metadata value, whatever shape a catalog gave it."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [key for key in value if isinstance(key, str)]
    if isinstance(value, (list, tuple)):
        found = (item if isinstance(item, str) else _first_text(item, ("name", "id")) for item in value)
        return [text for text in found if text]
    return []


def _first_text(item: object, keys: Iterable[str]) -> str:
    if not isinstance(item, Mapping):
        return ""
    return next((item[key] for key in keys if isinstance(item.get(key), str)), "")


def _names(entry: Entry) -> list[str]:
    name = entry.data.get("name")
    return [entry.id, name] if isinstance(name, str) and name != entry.id else [entry.id]


def _words(text: str) -> list[str]:
    """The words of prose, in which ``PowerPoint`` is a word as well as two."""
    split, whole = words(split_identifier(text)), words(text)
    return split if split == whole else [*split, *(word for word in whole if word not in split)]
