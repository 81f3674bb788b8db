"""The searchable text of catalog entries, by field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from helmdeck_core import Entry
from helmdeck_language import split_identifier, words

_METADATA_FIELDS: Final = (
    ("keyword", "intent_keywords"),
    ("use", "typical_use"),
    ("produces", "produces"),
    ("produces", "outputs"),
    ("limitation", "limitations"),
)
# The first sentence of a description; abbreviations and version numbers at its start do not end it.
_FIRST_SENTENCE: Final = re.compile(r".{20,}?(?:[.!?](?=\s)|[\n\u3002\uff01\uff1f])", re.DOTALL)


def field_words(entry: Entry) -> dict[str, list[str]]:
    """Return the folded words of an entry by field, with repetitions; empty fields are left out."""
    found = {"name": name_words(entry)}
    for field, texts in _field_texts(entry):
        if texts:
            found.setdefault(field, []).extend(_words("\n".join(texts)))
    return {field: words for field, words in found.items() if words}


def name_words(entry: Entry) -> list[str]:
    """Return the folded words of an entry's id and name.

    >>> from helmdeck_core import Catalog
    >>> from helmdeck_selection import name_words
    >>> name_words(Catalog.from_data({"packs": [{"name": "blog.rewritePost", "description": ""}]}, "example").entries[0])
    ['blog', 'rewrite', 'post']
    """
    name = entry.data.get("name")
    texts = (entry.id, name) if isinstance(name, str) and name != entry.id else (entry.id,)
    return [word for text in texts for word in words(split_identifier(text))]


def keyword_phrases(entry: Entry) -> list[str]:
    """Return the intent keywords of an entry.

    >>> from helmdeck_core import Catalog
    >>> from helmdeck_selection import keyword_phrases
    >>> pack = {"name": "blog.draft", "description": "Draft a post", "metadata": {"intent_keywords": ["blog about this"]}}
    >>> keyword_phrases(Catalog.from_data({"packs": [pack]}, "example").entries[0])
    ['blog about this']
    """
    return _texts(entry.metadata.get("intent_keywords"))


def step_packs(entry: Entry) -> tuple[str, ...]:
    """Return the packs of a pipeline's steps, in order.

    >>> from helmdeck_core import Helmdeck
    >>> from helmdeck_selection import step_packs
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     print(step_packs(deck.catalog.pipelines[0]))
    ('web.search', 'web.scrape', 'blog.draft')
    """
    # Steps are in the metadata or at the top level; the same holds for inputs.
    steps = entry.metadata.get("steps", entry.data.get("steps"))
    if not isinstance(steps, (list, tuple)):
        return ()
    packs = (step if isinstance(step, str) else _first_text(step, ("pack", "tool")) for step in steps)
    return tuple(pack for pack in packs if pack)


def input_properties(entry: Entry) -> Mapping[str, object]:
    """Return the inputs of an entry by name, with their schemas where known.

    >>> from helmdeck_selection import input_properties, read_catalog
    >>> schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    >>> catalog = read_catalog([{"name": "read_file", "description": "Read a file", "inputSchema": schema}], "example")
    >>> input_properties(catalog.entries[0])
    {'path': {'type': 'string'}}
    """
    schema = entry.input_schema
    for found in (schema.get("properties") if schema else None, entry.metadata.get("inputs"), entry.data.get("inputs")):
        if found is None:
            continue
        if isinstance(found, Mapping):
            nested = found.get("properties") if found.get("type") == "object" else None
            return nested if isinstance(nested, Mapping) else found
        if isinstance(found, (list, tuple)):
            return dict.fromkeys(_texts(found))
    return {}


def required_inputs(entry: Entry) -> frozenset[str]:
    """Return the required inputs of an entry: by its schema, else the inputs without a default.

    >>> from helmdeck_selection import read_catalog, required_inputs
    >>> schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    >>> catalog = read_catalog([{"name": "read_file", "description": "Read a file", "inputSchema": schema}], "example")
    >>> sorted(required_inputs(catalog.entries[0]))
    ['path']
    """
    if entry.input_schema is not None:
        return frozenset(_texts(entry.input_schema.get("required")))
    inputs = input_properties(entry)
    return frozenset(name for name, schema in inputs.items() if isinstance(schema, Mapping) and "default" not in schema)


def _field_texts(entry: Entry) -> Iterator[tuple[str, list[str]]]:
    metadata = entry.metadata
    # The first sentence describes an entry; the others explain arguments, results and alternatives.
    first = _FIRST_SENTENCE.match(entry.description)
    end = first.end() if first else len(entry.description)
    yield "description", [entry.description[:end]]
    if end < len(entry.description):
        yield "details", [entry.description[end:]]
    yield "accepts", [*_texts(metadata.get("accepts")), *input_properties(entry)]
    yield "step", [*step_packs(entry)]
    for field, key in _METADATA_FIELDS:
        if metadata.get(key):
            yield field, _texts(metadata[key])


def _texts(value: object) -> list[str]:
    """Return the strings in a metadata value of any shape."""
    if isinstance(value, (list, tuple)):
        found = (item if isinstance(item, str) else _first_text(item, ("name", "id")) for item in value)
        return [text for text in found if text]
    if isinstance(value, str):
        return [value]
    if value and isinstance(value, Mapping):
        return [key for key in value if isinstance(key, str)]
    return []


def _first_text(item: object, keys: Iterable[str]) -> str:
    if not isinstance(item, Mapping):
        return ""
    return next((item[key] for key in keys if isinstance(item.get(key), str)), "")


def _words(text: str) -> list[str]:
    """Return the words of prose; ``PowerPoint`` counts as one word and as two."""
    split = split_identifier(text)
    if split == text:
        return words(text)
    parts = words(split)
    known = set(parts)
    return [*parts, *(word for word in words(text) if word not in known)]
