"""Output constraints: schemas that are created on first use, and how a provider applies them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import attrs
import msgspec

R = TypeVar("R")


@attrs.frozen(eq=False)
class SchemaForm:
    """One schema that can constrain a response. It is built on first use and kept.

    :ivar name: the constrained part in one word, such as ``arguments`` or ``ids``.
    :ivar make: builds the schema; returns ``None`` if there is none.
    :ivar is_read_freely: the reader of the response accepts ``null`` for an omitted optional value, and a JSON string for a
        value that the provider's dialect cannot express.
    """

    name: str
    make: Callable[[], Mapping[str, Any] | None]
    is_read_freely: bool = attrs.field(default=False, kw_only=True)
    _derived: dict[Hashable, Any] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> SchemaForm:
        """Return the form of a given schema."""
        return cls("schema", lambda: schema)

    @functools.cached_property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema; ``None`` without one."""
        return self.make()

    def derive(self, key: Hashable, make: Callable[[SchemaForm], R]) -> R:
        """Return ``make(self)``, computed once per key; providers keep the schema here as adapted to their dialect."""
        if key not in self._derived:
            self._derived[key] = make(self)
        value: R = self._derived[key]
        return value


@attrs.frozen
class SchemaOffer:
    """Schemas that a provider may use to constrain a response, the most exact first. Using none is not a downgrade.

    :ivar is_steady: every request gets the same schemas. Otherwise, a provider that compiles schemas slowly gets the last
        and smallest one.
    :ivar is_bounded: lists and strings have a lower maximum than in the requested type.

    >>> from helmdeck_core import SchemaForm, SchemaOffer
    >>> offer = SchemaOffer((SchemaForm("exact", lambda: {"type": "object"}),))
    >>> offer.forms[0].name, offer.forms[0].schema
    ('exact', {'type': 'object'})
    """

    forms: tuple[SchemaForm, ...] = attrs.field(default=(), repr=False)
    is_steady: bool = attrs.field(default=True, kw_only=True)
    is_bounded: bool = attrs.field(default=False, kw_only=True)

    def without(self, number: int) -> SchemaOffer:
        """Return the offer without its first forms."""
        return attrs.evolve(self, forms=self.forms[number:])


@attrs.frozen(kw_only=True)
class Constraint:
    """How one provider constrains a response.

    :ivar kind: ``json_schema``, ``json_object``, or empty for no constraint.
    :ivar form: the name of the offered form; empty for a requested schema, or none.
    :ivar schema: the schema as sent; ``None`` without one.
    :ivar is_strict: the schema is sent in the provider's strict mode.
    :ivar lost: keywords that the provider's dialect does not support.
    :ivar passed: more exact forms of the offer, and why they are not used.
    :ivar downgrades: unsupported parts of the caller's request, for ``ChatResponse.downgrades``.
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
        """Kind and form, for ``ChatResponse.constraint``."""
        return f"{self.kind} {self.form}".strip()

    @property
    def size(self) -> int:
        """Size of the schema in UTF-8 bytes; 0 without one."""
        return 0 if self.schema is None else len(msgspec.json.encode(self.schema))


@attrs.frozen
class ResponseFormat:
    """The requested form of the response: ``json_object``, or ``json_schema`` with a schema.

    With ``json_schema``, the schema is requested. With ``json_object``, it is an offer: any JSON is accepted, and a provider
    with constrained decoding should use the schema. A provider leaves out an unsupported kind and reports it in
    ``downgrades``. ``helmdeck_providers.constrained`` computes what a provider sends.

    :ivar schema: the schema, or the most exact one of an offer; building one may take a millisecond.

    >>> from helmdeck_core import ResponseFormat
    >>> ResponseFormat("json_schema", schema={"type": "object", "properties": {"n": {"type": "integer"}}}).kind
    'json_schema'
    """

    kind: str
    name: str = "answer"
    _schema: Mapping[str, Any] | SchemaOffer | None = attrs.field(default=None, alias="schema")

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema, or the most exact one of an offer; ``None`` without one."""
        if not isinstance(self._schema, SchemaOffer):
            return self._schema
        return next((form.schema for form in self._schema.forms if form.schema is not None), None)

    @property
    def offer(self) -> SchemaOffer | None:
        """The schemas offered beside plain JSON; ``None`` for none."""
        if isinstance(self._schema, SchemaOffer):
            return self._schema
        if self.kind != "json_object" or self._schema is None:
            return None
        return SchemaOffer((SchemaForm.of(self._schema),))

    @property
    def is_optional(self) -> bool:
        """The deck offers it by itself, so that a provider without support reports no downgrade."""
        return isinstance(self._schema, SchemaOffer)
