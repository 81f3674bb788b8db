"""What an answer can be held to: schemas that are made when somebody asks for them, and what a provider makes of them."""

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
    """One schema that an answer may be held to. It is made when somebody first asks for it, and kept.

    :ivar name: what of the answer it holds, in a word, such as ``arguments`` or ``ids``.
    :ivar make: makes the schema; ``None`` of it says that there is none.
    :ivar is_read_freely: whoever reads the answer takes ``None`` for something optional that is left out, and a text that
        holds JSON for a value that the provider's dialect cannot say.
    """

    name: str
    make: Callable[[], Mapping[str, Any] | None]
    is_read_freely: bool = False
    _in_dialects: dict[SchemaDialect, AdaptedSchema | str] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> SchemaForm:
        """A form of a schema that is there."""
        return cls("schema", lambda: schema)

    @functools.cached_property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema; ``None`` where there is none."""
        return self.make()

    def narrowed(self, dialect: SchemaDialect) -> AdaptedSchema | str:
        """The schema in a dialect, or why it cannot be had."""
        found = self._in_dialects.get(dialect)
        if found is None:
            found = self._in_dialects[dialect] = self._narrow(dialect)
        return found

    def _narrow(self, dialect: SchemaDialect) -> AdaptedSchema | str:
        if self.schema is None:
            return "too many entries, or too large"
        if self.schema.get("additionalProperties") is not False:
            return "it is open, and a model need not come to an end under it"
        try:
            found = adapt_schema(self.schema, dialect, is_read_freely=self.is_read_freely)
        except UnsupportedSchema as exc:
            return str(exc)
        return "; ".join(found.excess) or found


@attrs.frozen
class SchemaOffer:
    """Schemas that an answer may be held to where a provider can: the most exact first. No loss where none is taken.

    :ivar is_steady: another request gets the same schemas; where it does not, an interface that compiles a schema before it
        answers is given the smallest, which is the last.
    """

    forms: tuple[SchemaForm, ...] = attrs.field(default=(), repr=False)
    is_steady: bool = True

    def pick(self, dialect: SchemaDialect) -> tuple[SchemaForm | None, tuple[str, ...]]:
        """The most exact form that a dialect has room for, and why it is none of those before."""
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
        """The offer without its first forms."""
        return attrs.evolve(self, forms=self.forms[number:])


@attrs.frozen(kw_only=True)
class Constraint:
    """How one provider holds an answer to a form.

    :ivar kind: ``json_schema``, ``json_object``, or empty for not at all.
    :ivar form: which form of an offer it is; empty where a schema was asked for, or there is none.
    :ivar schema: the schema as it is sent; ``None`` where there is none.
    :ivar is_strict: the schema is marked as one that holds without exception.
    :ivar lost: keywords that the provider's dialect cannot say.
    :ivar passed: forms of the offer that are more exact, and why they are not sent.
    :ivar downgrades: what the caller asked for and does not get, for ``ChatResponse.downgrades``.
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
        """The kind and the form in two words, for ``ChatResponse.constraint``."""
        return f"{self.kind} {self.form}".strip()

    @property
    def size(self) -> int:
        """UTF-8 bytes of the schema; 0 where there is none."""
        return 0 if self.schema is None else len(msgspec.json.encode(self.schema))


@attrs.frozen
class ResponseFormat:
    """How the answer should be constrained: ``json_object``, or ``json_schema`` with a schema.

    A kind that an adapter does not know is left out, and the response says so in ``downgrades``. With ``json_schema`` the
    schema is asked for. With ``json_object`` it is an offer: any JSON will do, and a provider that can hold its models to
    schemas should do so; nothing is reported where it is not taken. What an adapter sends is worked out by ``constrained``.

    :ivar schema: the schema, the most exact one of an offer; making one may take a millisecond.
    """

    kind: str
    name: str = "answer"
    _schema: Mapping[str, Any] | SchemaOffer | None = attrs.field(default=None, alias="schema")

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema, the most exact one of an offer; ``None`` where there is none."""
        if not isinstance(self._schema, SchemaOffer):
            return self._schema
        return next((form.schema for form in self._schema.forms if form.schema is not None), None)

    @property
    def offer(self) -> SchemaOffer | None:
        """What is offered beside plain JSON; ``None`` for nothing."""
        if isinstance(self._schema, SchemaOffer):
            return self._schema
        if self.kind != "json_object" or self._schema is None:
            return None
        return SchemaOffer((SchemaForm.of(self._schema),))

    @property
    def is_own_idea(self) -> bool:
        """Nobody asked for it: it is what a deck tries for its own sake, and no loss where it cannot be had."""
        return isinstance(self._schema, SchemaOffer)


def constrained(wanted: ResponseFormat, kinds: Sequence[str], dialect: SchemaDialect | None = None) -> Constraint:
    """Work out how an answer is held to what is wanted of it.

    :param kinds: the kinds that the model takes. A schema that is only offered is taken where ``json_schema`` stands first.
    :param dialect: what is taken of JSON Schema; ``None`` for a model that takes no schema.
    """
    taken = tuple(kind for kind in kinds if kind != "json_schema" or dialect is not None)
    if wanted.kind == "json_schema":
        return _asked_for(wanted, taken, dialect)
    if wanted.kind != "json_object":
        return _without(wanted)
    offer = wanted.offer
    passed: tuple[str, ...] = ()
    if offer is not None and dialect is not None and taken[:1] == ("json_schema",):
        form, passed = offer.pick(dialect)
        found = form.narrowed(dialect) if form is not None else ""
        if form is not None and isinstance(found, AdaptedSchema):
            return _held(found, dialect, form=form.name, passed=passed)
    if "json_object" in taken:
        return Constraint(kind="json_object", passed=passed)
    if dialect is not None and "json_schema" in taken:
        with contextlib.suppress(UnsupportedSchema):  # JSON mode is the schema of any object
            said = () if wanted.is_own_idea else ("response_format json_object -> json_schema",)
            return _held(adapt_schema(_ANY_OBJECT, dialect), dialect, passed=passed, downgrades=said)
    return _without(wanted, passed=passed)


def _asked_for(wanted: ResponseFormat, taken: Sequence[str], dialect: SchemaDialect | None) -> Constraint:
    schema, why = wanted.schema, ""
    if schema is not None and dialect is not None and "json_schema" in taken:
        try:
            found = adapt_schema(schema, dialect)
            why = "; ".join(found.excess)
            if not why:
                lost = (f"response_format json_schema loosened: {', '.join(found.lost)}",) if found.lost else ()
                return _held(found, dialect, downgrades=lost)
        except UnsupportedSchema as exc:
            why = str(exc)
        if dialect.takes_whole:
            return Constraint(kind="json_schema", schema=schema)
    reason = f": {why}" if why else ""
    if "json_object" not in taken:
        return _without(wanted, reason)
    return Constraint(kind="json_object", downgrades=(f"response_format json_schema -> json_object{reason}",))


def _held(found: AdaptedSchema, dialect: SchemaDialect, **more: Any) -> Constraint:
    return Constraint(kind="json_schema", schema=found.schema, is_strict=dialect.is_strict, lost=found.lost, **more)


def _without(wanted: ResponseFormat, reason: str = "", *, passed: tuple[str, ...] = ()) -> Constraint:
    said = () if wanted.is_own_idea else (f"response_format {wanted.kind} left out{reason}",)
    return Constraint(passed=passed, downgrades=said)
