"""How a provider constrains a response to the requested format: JSON Schema in its dialect, JSON mode, or neither."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import Constraint, ResponseFormat, SchemaForm, SchemaOffer
from helmdeck_providers.schemas.adapt import AdaptedSchema, UnsupportedSchema, adapt_schema
from helmdeck_providers.schemas.dialect import SchemaDialect

_ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


def adapted_form(form: SchemaForm, dialect: SchemaDialect) -> AdaptedSchema | str:
    """Return the schema of a form in a dialect, or why there is none; computed once per form and dialect."""
    return form.derive(dialect, lambda each: _adapt(each, dialect))


def _adapt(form: SchemaForm, dialect: SchemaDialect) -> AdaptedSchema | str:
    if form.schema is None:
        return "too many entries, or too large"
    schema = closed_objects(form.schema)
    if schema.get("additionalProperties") is not False:
        return "it allows additional properties, so that the output may never end"
    try:
        adapted = adapt_schema(schema, dialect, is_read_freely=form.is_read_freely)
    except UnsupportedSchema as exc:
        return str(exc)
    return "; ".join(adapted.excess) or adapted


_COMBINED = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "patternProperties", "dependentSchemas")
"""Keywords beside ``properties`` that may describe further properties."""


def closed_objects(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema whose objects forbid properties that they do not list, where it says nothing about these.

    A type has no use for them, and a weak model may never stop writing them. Objects whose properties several schemas
    describe together stay as they are.
    """
    closed = dict(schema)
    is_combined = any(key in schema for key in _COMBINED)
    if isinstance(schema.get("properties"), Mapping):
        closed["properties"] = _each_closed(schema["properties"])
        if not is_combined:
            closed.setdefault("additionalProperties", False)
    for key in ("$defs", "definitions"):
        if isinstance(schema.get(key), Mapping):
            closed[key] = _each_closed(schema[key])
    if isinstance(schema.get("items"), Mapping):
        closed["items"] = closed_objects(schema["items"])
    for key in ("anyOf", "oneOf", "prefixItems"):
        if isinstance(schema.get(key), (list, tuple)) and "properties" not in schema:
            closed[key] = [closed_objects(each) if isinstance(each, Mapping) else each for each in schema[key]]
    return closed


def _each_closed(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: closed_objects(each) if isinstance(each, Mapping) else each for name, each in schemas.items()}


def pick_form(offer: SchemaOffer, dialect: SchemaDialect) -> tuple[SchemaForm | None, tuple[str, ...]]:
    """Return the most exact form that a dialect supports, and why each more exact one is not used."""
    passed: list[str] = []
    for place, form in enumerate(offer.forms, 1):
        if dialect.is_slow and not offer.is_steady and place < len(offer.forms):
            passed.append(f"{form.name}: a new schema for each request takes too long to compile")
        elif isinstance(adapted := adapted_form(form, dialect), str):
            passed.append(f"{form.name}: {adapted}")
        else:
            return form, tuple(passed)
    return None, tuple(passed)


def constrained(
    response_format: ResponseFormat | None, kinds: Sequence[str], dialect: SchemaDialect | None = None
) -> Constraint:
    """Return the constraint that a provider sends for a response format; an empty one without a format.

    :param kinds: the supported kinds. An offered schema is used if ``json_schema`` is the first.
    :param dialect: the supported subset of JSON Schema; ``None`` for a model without schema support.
    """
    if response_format is None:
        return Constraint()
    supported = tuple(kind for kind in kinds if kind != "json_schema" or dialect is not None)
    if response_format.kind == "json_schema":
        return _requested(response_format, supported, dialect)
    if response_format.kind != "json_object":
        return _unconstrained(response_format)
    offer = response_format.offer
    passed: tuple[str, ...] = ()
    if offer is not None and dialect is not None and supported[:1] == ("json_schema",):
        form, passed = pick_form(offer, dialect)
        adapted = adapted_form(form, dialect) if form is not None else ""
        if form is not None and isinstance(adapted, AdaptedSchema):
            return _schema_constraint(adapted, dialect, form=form.name, passed=passed)
    if "json_object" in supported:
        return Constraint(kind="json_object", passed=passed)
    if dialect is not None and "json_schema" in supported:
        with contextlib.suppress(UnsupportedSchema):  # JSON mode is the schema of any object
            downgrades = () if response_format.is_optional else ("response_format json_object -> json_schema",)
            return _schema_constraint(adapt_schema(_ANY_OBJECT, dialect), dialect, passed=passed, downgrades=downgrades)
    return _unconstrained(response_format, passed=passed)


def _requested(response_format: ResponseFormat, supported: Sequence[str], dialect: SchemaDialect | None) -> Constraint:
    schema, problem = response_format.schema, ""
    if schema is not None and dialect is not None and "json_schema" in supported:
        try:
            adapted = adapt_schema(schema, dialect)
            problem = "; ".join(adapted.excess)
            if not problem:
                lost = (f"response_format json_schema loosened: {', '.join(adapted.lost)}",) if adapted.lost else ()
                return _schema_constraint(adapted, dialect, downgrades=lost)
        except UnsupportedSchema as exc:
            problem = str(exc)
        if dialect.takes_whole:
            return Constraint(kind="json_schema", schema=schema)
    reason = f": {problem}" if problem else ""
    if "json_object" not in supported:
        return _unconstrained(response_format, reason)
    return Constraint(kind="json_object", downgrades=(f"response_format json_schema -> json_object{reason}",))


def _schema_constraint(adapted: AdaptedSchema, dialect: SchemaDialect, **more: Any) -> Constraint:
    return Constraint(kind="json_schema", schema=adapted.schema, is_strict=dialect.is_strict, lost=adapted.lost, **more)


def _unconstrained(response_format: ResponseFormat, reason: str = "", *, passed: tuple[str, ...] = ()) -> Constraint:
    downgrades = () if response_format.is_optional else (f"response_format {response_format.kind} left out{reason}",)
    return Constraint(passed=passed, downgrades=downgrades)
