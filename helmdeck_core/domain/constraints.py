"""Output constraints: schemas that are created on first use, and how a provider applies them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core.json_schema.adapt import AdaptedSchema, UnsupportedSchema, adapt_schema
from helmdeck_core.json_schema.dialect import SchemaDialect

_ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


@attrs.frozen(eq=False)
class SchemaForm:
    """One schema that an answer may be constrained to. It is created on first use and cached.

    :ivar name: the part of the answer that it constrains, such as ``arguments`` or ``ids``.
    :ivar make: creates the schema; returns ``None`` if there is none.
    :ivar is_read_freely: the reader of the answer accepts ``None`` for a missing optional value, and a string of JSON for a
        value that the provider's schema dialect cannot express.
    """

    name: str
    make: Callable[[], Mapping[str, Any] | None]
    is_read_freely: bool = False
    _in_dialects: dict[SchemaDialect, AdaptedSchema | str] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> SchemaForm:
        """Return the form of an existing schema."""
        return cls("schema", lambda: schema)

    @functools.cached_property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema; ``None`` if there is none."""
        return self.make()

    def narrowed(self, dialect: SchemaDialect) -> AdaptedSchema | str:
        """Return the schema in a dialect, or why it cannot be expressed."""
        found = self._in_dialects.get(dialect)
        if found is None:
            found = self._in_dialects[dialect] = self._narrow(dialect)
        return found

    def _narrow(self, dialect: SchemaDialect) -> AdaptedSchema | str:
        if self.schema is None:
            return "too many entries, or too large"
        if self.schema.get("additionalProperties") is not False:
            return "it allows additional properties, so that a model may never stop"
        try:
            found = adapt_schema(self.schema, dialect, is_read_freely=self.is_read_freely)
        except UnsupportedSchema as exc:
            return str(exc)
        return "; ".join(found.excess) or found


@attrs.frozen
class SchemaOffer:
    """Schemas that an answer may be constrained to, the most exact first. All of them are optional.

    :ivar is_steady: every request gets the same schemas. Otherwise, a provider that compiles a schema before it answers gets
        the smallest one, which is the last.
    """

    forms: tuple[SchemaForm, ...] = attrs.field(default=(), repr=False)
    is_steady: bool = True

    def pick(self, dialect: SchemaDialect) -> tuple[SchemaForm | None, tuple[str, ...]]:
        """Return the most exact form that a dialect supports, and why each form before it is not supported."""
        passed: list[str] = []
        for place, form in enumerate(self.forms, 1):
            if dialect.is_slow and not self.is_steady and place < len(self.forms):
                passed.append(f"{form.name}: a new schema for each request takes too long to compile")
            elif isinstance(found := form.narrowed(dialect), str):
                passed.append(f"{form.name}: {found}")
            else:
                return form, tuple(passed)
        return None, tuple(passed)

    def without(self, number: int) -> SchemaOffer:
        """Return the offer without its first forms."""
        return attrs.evolve(self, forms=self.forms[number:])


@attrs.frozen(kw_only=True)
class Constraint:
    """How one provider constrains an answer.

    :ivar kind: ``json_schema``, ``json_object``, or empty for no constraint.
    :ivar form: the form of an offer; empty for a requested schema, or without a schema.
    :ivar schema: the schema that is sent; ``None`` if there is none.
    :ivar is_strict: the schema is marked as strict.
    :ivar lost: keywords that the provider's schema dialect cannot express.
    :ivar passed: more exact forms of the offer, and why they are not sent.
    :ivar downgrades: requested features that are not sent, for ``ChatResponse.downgrades``.
    """

    kind: str = ""
    form: str = ""
    schema: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    is_strict: bool = False
    lost: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    downgrades: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The kind and the form, for ``ChatResponse.constraint``."""
        return f"{self.kind} {self.form}".strip()

    @property
    def size(self) -> int:
        """UTF-8 bytes of the schema; 0 without a schema."""
        return 0 if self.schema is None else len(msgspec.json.encode(self.schema))


@attrs.frozen
class ResponseFormat:
    """How the answer should be constrained: ``json_object``, or ``json_schema`` with a schema.

    A kind that a provider does not support is not sent and reported in ``downgrades``. With ``json_schema``, the schema is
    requested. With ``json_object``, it is an offer: any JSON is valid, and a provider with constrained decoding should apply
    it; nothing is reported otherwise. ``constrained`` decides what a provider sends.

    :ivar schema: the schema, the most exact one of an offer; its creation may take a millisecond.
    """

    kind: str
    name: str = "answer"
    _schema: Mapping[str, Any] | SchemaOffer | None = attrs.field(default=None, alias="schema")

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema, the most exact one of an offer; ``None`` if there is none."""
        if not isinstance(self._schema, SchemaOffer):
            return self._schema
        return next((form.schema for form in self._schema.forms if form.schema is not None), None)

    @property
    def offer(self) -> SchemaOffer | None:
        """The offered schemas; ``None`` for none."""
        if isinstance(self._schema, SchemaOffer):
            return self._schema
        if self.kind != "json_object" or self._schema is None:
            return None
        return SchemaOffer((SchemaForm.of(self._schema),))

    @property
    def is_own_idea(self) -> bool:
        """Whether the deck added it, so that it is not reported as a downgrade when it is not supported."""
        return isinstance(self._schema, SchemaOffer)


def constrained(requested: ResponseFormat, kinds: Sequence[str], dialect: SchemaDialect | None = None) -> Constraint:
    """Return how an answer is constrained to the requested format.

    :param kinds: the kinds that the model supports. An offered schema is used if ``json_schema`` is the first kind.
    :param dialect: the supported part of JSON Schema; ``None`` for a model without schema support.
    """
    supported = tuple(kind for kind in kinds if kind != "json_schema" or dialect is not None)
    if requested.kind == "json_schema":
        return _requested(requested, supported, dialect)
    if requested.kind != "json_object":
        return _without(requested)
    offer = requested.offer
    passed: tuple[str, ...] = ()
    if offer is not None and dialect is not None and supported[:1] == ("json_schema",):
        form, passed = offer.pick(dialect)
        found = form.narrowed(dialect) if form is not None else ""
        if form is not None and isinstance(found, AdaptedSchema):
            return _constraint(found, dialect, form=form.name, passed=passed)
    if "json_object" in supported:
        return Constraint(kind="json_object", passed=passed)
    if dialect is not None and "json_schema" in supported:
        with contextlib.suppress(UnsupportedSchema):  # JSON mode is the schema of any object
            downgrades = () if requested.is_own_idea else ("response_format json_object -> json_schema",)
            return _constraint(adapt_schema(_ANY_OBJECT, dialect), dialect, passed=passed, downgrades=downgrades)
    return _without(requested, passed=passed)


def _requested(requested: ResponseFormat, supported: Sequence[str], dialect: SchemaDialect | None) -> Constraint:
    schema, why = requested.schema, ""
    if schema is not None and dialect is not None and "json_schema" in supported:
        try:
            found = adapt_schema(schema, dialect)
            why = "; ".join(found.excess)
            if not why:
                lost = (f"response_format json_schema loosened: {', '.join(found.lost)}",) if found.lost else ()
                return _constraint(found, dialect, downgrades=lost)
        except UnsupportedSchema as exc:
            why = str(exc)
        if dialect.takes_whole:
            return Constraint(kind="json_schema", schema=schema)
    reason = f": {why}" if why else ""
    if "json_object" not in supported:
        return _without(requested, reason)
    return Constraint(kind="json_object", downgrades=(f"response_format json_schema -> json_object{reason}",))


def _constraint(found: AdaptedSchema, dialect: SchemaDialect, **more: Any) -> Constraint:
    return Constraint(kind="json_schema", schema=found.schema, is_strict=dialect.is_strict, lost=found.lost, **more)


def _without(requested: ResponseFormat, reason: str = "", *, passed: tuple[str, ...] = ()) -> Constraint:
    downgrades = () if requested.is_own_idea else (f"response_format {requested.kind} left out{reason}",)
    return Constraint(passed=passed, downgrades=downgrades)
