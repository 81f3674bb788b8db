"""Builds the schemas that constrain plans and routes to the entries of the catalog.

Under constrained decoding, a model can only stop where the grammar allows it. So every schema is bounded: objects are
closed, strings and lists have a maximum length. The same catalog gives the same bytes. The property that distinguishes
objects comes first, for providers that compare only the first one.

There are two forms: one with the arguments of every entry, and a smaller one with the ids alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from helmdeck_core import PIPELINE_RUN, UNKNOWN_TOOL, Catalog, Complexity, Entry, EntryKind, RouteKind, SchemaForm, Task
from helmdeck_language import Kind, scan
from helmdeck_planner.packs.arguments import inputs_of

SENTENCE: Final = 300
PARAGRAPH: Final = 800
VALUE: Final = 2_000
"""Characters of a sentence, of a few, and of an argument. llama.cpp refuses more than 2,000 repetitions of anything."""

MOST_STEPS: Final = 12
MOST_ITEMS: Final = 20
MOST_CHOICES: Final = 100
"""Values of an enumeration that an input may bring."""

ARGUMENTS: Final = 20_000
"""Characters of all arguments together, where they are one text."""

MOST_ENTRIES: Final = 200
MOST_IDS: Final = 1_000
MOST_BYTES: Final = 100_000
"""Entries of a catalog whose arguments, and those whose ids can be constrained to, and size of a schema; grammars of larger
ones take seconds to build."""

DEEPEST: Final = 3
"""Objects and lists within an input; what lies deeper has to be a single value."""

MOST_SCANNED: Final = 10_000
"""Characters of a request that are searched for literal values."""

_NO_VALUES: Final = frozenset((Kind.WORD, Kind.MARK, Kind.BREAK))

_TEXT: Final[Mapping[str, Any]] = {"$ref": "#/$defs/text"}
_SHORT: Final[Mapping[str, Any]] = {"type": "string", "maxLength": 80}
_VALUE: Final[Mapping[str, Any]] = {"$ref": "#/$defs/value"}
_AS_TEXT: Final[Mapping[str, Any]] = {"$ref": "#/$defs/object"}
_WHY: Final[Mapping[str, Any]] = {"$ref": "#/$defs/sentence"}
_SINGLE: Final = ("integer", "number", "boolean", "null")

Schema = Mapping[str, Any]


@functools.lru_cache(8)
def _plan_forms(catalog: Catalog, is_single: bool, fewest: int) -> Sequence[SchemaForm]:
    def plan(steps: list[Schema]) -> Schema | None:
        listed: dict[str, Any] = {
            "steps": {
                "type": "array",
                "items": {"anyOf": steps},
                "minItems": fewest,
                "maxItems": 1 if is_single else MOST_STEPS,
            },
            "complexity": _one_of([each.value for each in Complexity]),
            "reasoning": {"type": "string", "maxLength": PARAGRAPH},
        }
        return _whole({**listed, "more_steps_likely": {"type": "boolean"}} if is_single else listed)

    def arguments() -> Schema | None:
        if len(catalog) > MOST_ENTRIES:
            return None
        runs = _by_inputs(catalog.pipelines, _run)
        return plan(
            [
                *_by_inputs(catalog.packs, _step),
                *([_step((PIPELINE_RUN,), _any_of(runs))] if runs else ()),
                _step((UNKNOWN_TOOL,), _closed({})),
            ]
        )

    def ids() -> Schema | None:
        if len(catalog) > MOST_IDS:
            return None
        runs = [entry.id for entry in catalog.pipelines]
        others = _step([*(entry.id for entry in catalog.packs), UNKNOWN_TOOL], _AS_TEXT)
        return plan([others, *([_step((PIPELINE_RUN,), _run(runs, _AS_TEXT))] if runs else ())])

    return _forms(arguments, ids)


def plan_forms(task: Task, *, single_pick: str) -> Sequence[SchemaForm]:
    """The schemas of a plan over the entries that a model is shown.

    Every step names an existing entry, in the first form with the arguments of that entry. Without completed steps there
    is at least one step, because a gap is a step too.

    :param single_pick: the variant that asks for one step.
    """
    if task.chosen:
        return (
            SchemaForm(
                "chosen", functools.partial(_chosen, task.catalog, literal_values(task.request)), is_read_freely=True
            ),
        )
    return _plan_forms(task.catalog, task.variant == single_pick, 0 if task.done else 1)


def _chosen(catalog: Catalog, values: Sequence[str]) -> Schema | None:
    """The smallest schema of a step whose tool is chosen: the name, and the arguments that the tool takes."""
    # Imported with the first choice: the embedded planner's modules take a fifth of a command's start.
    from helmdeck_planner.packs.chosen import given_inputs

    (entry,) = catalog.entries
    inputs = _with_values(_inputs(entry), values, given_inputs(entry).keys())
    is_run = entry.kind is EntryKind.PIPELINE
    name, args = (PIPELINE_RUN, _run([entry.id], inputs)) if is_run else (entry.id, inputs)
    steps = {"type": "array", "items": _closed({"tool": _one_of([name]), "args": args}), "minItems": 1, "maxItems": 1}
    return _whole({"steps": steps})


def literal_values(request: str) -> tuple[str, ...]:
    """Return the values that a request contains literally, such as URLs, dates and quoted strings, in order."""
    found = (token.value.strip() for token in scan(request[:MOST_SCANNED]) if token.kind not in _NO_VALUES)
    return tuple(dict.fromkeys(text for text in found if 0 < len(text) <= SENTENCE))[:MOST_ITEMS]


def _with_values(inputs: Schema, values: Sequence[str], short: Collection[str]) -> Schema:
    """The inputs with the literal values of the request before the free text, which is short for ids and addresses."""

    def offered(name: str, schema: Schema) -> Schema:
        if schema is not _TEXT:
            return schema
        text = _SHORT if name in short else _TEXT
        return {"anyOf": [_one_of(values), text]} if values else text

    return {**inputs, "properties": {name: offered(name, schema) for name, schema in inputs["properties"].items()}}


def _forms(arguments: Callable[[], Schema | None], ids: Callable[[], Schema | None]) -> Sequence[SchemaForm]:
    return tuple(SchemaForm(name, make, is_read_freely=True) for name, make in (("arguments", arguments), ("ids", ids)))


def _step(tools: Sequence[str], args: Schema) -> Schema:
    return _closed({"tool": _one_of(tools), "args": args, "order": {"type": "integer"}, "rationale": _WHY})


def _run(ids: Sequence[str], inputs: Schema) -> Schema:
    """The arguments that run a pipeline; its inputs may be left out where it requires none."""
    args = {"id": _one_of(ids), "inputs": inputs}
    return _closed(args, required=("id", "inputs") if inputs.get("required") else ("id",))


@functools.lru_cache(8)
def _route_forms(catalog: Catalog, most_alternatives: int) -> Sequence[SchemaForm]:
    kinds = [
        (kind, entries)
        for kind, entries in ((RouteKind.PACK, catalog.packs), (RouteKind.PIPELINE, catalog.pipelines))
        if entries
    ]

    def route(chosen: Sequence[Schema]) -> Schema | None:
        others = [_choice(kind, [entry.id for entry in entries]) for kind, entries in kinds]
        alternatives = {"type": "array", "items": {"anyOf": others}, "maxItems": most_alternatives}
        return _whole(
            {
                "recommendation": {"anyOf": [*chosen, _choice(RouteKind.NONE, [""], _closed({}))]},
                "alternatives": alternatives if others else {**alternatives, "items": _VALUE, "maxItems": 0},
                "gap_warning": {"anyOf": [{"type": "string", "maxLength": PARAGRAPH}, {"type": "null"}]},
                "reasoning": {"type": "string", "maxLength": PARAGRAPH},
            }
        )

    def arguments() -> Schema | None:
        if len(catalog) > MOST_ENTRIES:
            return None
        return route(
            [each for kind, entries in kinds for each in _by_inputs(entries, functools.partial(_choice, kind))]
        )

    def ids() -> Schema | None:
        if len(catalog) > MOST_IDS:
            return None
        return route([_choice(kind, [entry.id for entry in entries], _AS_TEXT) for kind, entries in kinds])

    return _forms(arguments, ids)


def route_forms(task: Task, *, most_alternatives: int) -> Sequence[SchemaForm]:
    """The schemas of a route over the entries that a model is shown."""
    return _route_forms(task.catalog, most_alternatives)


def _choice(kind: RouteKind, ids: Sequence[str], inputs: Schema | None = None) -> Schema:
    suggested = {} if inputs is None else {"suggested_inputs": inputs}
    return _closed({"id": _one_of(ids), "kind": _one_of([kind.value]), **suggested, "why": _WHY})


# -- the catalog ------------------------------------------------------------------------------------------------


def _by_inputs(entries: Iterable[Entry], make: Callable[[Sequence[str], Schema], Schema]) -> list[Schema]:
    """One schema for all entries that take the same inputs."""
    groups: dict[bytes, tuple[list[str], Schema]] = {}
    for entry in entries:
        inputs = _inputs(entry)
        groups.setdefault(msgspec.json.encode(inputs), ([], inputs))[0].append(entry.id)
    return [make(ids, inputs) for ids, inputs in groups.values()]


def _inputs(entry: Entry) -> Schema:
    required = (entry.input_schema or {}).get("required")
    named = inputs_of(entry)
    wanted = [name for name in named if isinstance(required, (list, tuple)) and name in required]
    return _closed({name: _bounded(schema, DEEPEST) for name, schema in named.items()}, required=wanted)


def _bounded(schema: object, depth: int) -> Schema:
    """Return the bounded schema of an input; an input without a usable schema is a single value."""
    if not isinstance(schema, Mapping):
        return _VALUE
    choices = schema.get("enum")
    if isinstance(choices, (list, tuple)) and 0 < len(choices) <= MOST_CHOICES:
        return _enumerated(choices) or _VALUE
    options = schema.get("anyOf") or schema.get("oneOf")
    kinds = schema.get("type")
    if isinstance(options, (list, tuple)) and depth:
        return _any_of([_bounded(option, depth - 1) for option in options])
    if isinstance(kinds, (list, tuple)):
        return _any_of([_bounded({**schema, "type": kind}, depth) for kind in kinds if isinstance(kind, str)])
    if kinds == "string":
        return _TEXT
    if kinds in _SINGLE:
        return {"type": kinds}
    if kinds == "array" and depth:
        return {"type": "array", "items": _bounded(schema.get("items"), depth - 1), "maxItems": MOST_ITEMS}
    properties = schema.get("properties")
    if kinds == "object" and depth and isinstance(properties, Mapping):
        required = schema.get("required")
        wanted = [name for name in properties if isinstance(required, (list, tuple)) and name in required]
        return _closed({name: _bounded(each, depth - 1) for name, each in properties.items()}, required=wanted)
    return {"array": {"type": "array", "items": _VALUE, "maxItems": MOST_ITEMS}, "object": _closed({})}.get(
        str(kinds), _VALUE
    )


def _enumerated(choices: Sequence[Any]) -> Schema | None:
    texts = all(isinstance(choice, str) for choice in choices)
    numbers = all(isinstance(choice, (int, float)) and not isinstance(choice, bool) for choice in choices)
    return _one_of(choices) if texts else {"enum": list(dict.fromkeys(choices))} if numbers else None


# -- parts of schemas -------------------------------------------------------------------------------------------


def _whole(properties: Mapping[str, Any]) -> Schema | None:
    text = {"type": "string", "maxLength": VALUE}
    defs: dict[str, Any] = {
        "sentence": {"type": "string", "maxLength": SENTENCE},
        "text": text,
        "value": {"anyOf": [text, {"type": "number"}, {"type": "boolean"}]},
        "object": {"type": "string", "maxLength": ARGUMENTS, "description": "a JSON object, written as a text"},
    }
    schema = _closed(properties)
    written = msgspec.json.encode(schema)
    used = {name: each for name, each in defs.items() if f'"#/$defs/{name}"'.encode() in written}
    return {**schema, "$defs": used} if len(written) <= MOST_BYTES else None


def _closed(properties: Mapping[str, Any], *, required: Iterable[str] | None = None) -> Schema:
    """An object with these properties and no others, all of them required unless it says which."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _one_of(texts: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(dict.fromkeys(texts))}


def _any_of(schemas: list[Schema]) -> Schema:
    different = list({msgspec.json.encode(schema): schema for schema in schemas}.values())
    return _VALUE if not different else different[0] if len(different) == 1 else {"anyOf": different}
