"""What the interfaces of the built-in adapters take of JSON Schema, as data; as their documentation says in October 2026."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from helmdeck_core import ProviderSettings, SchemaDialect
from helmdeck_provider_kit import refused_setting

NONE: Final = "none"
"""In the place of a dialect: the model takes no schema."""

_SAID = frozenset(("title", "description"))
_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_LISTS = frozenset(("minItems", "maxItems"))
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))

JSON_SCHEMA = SchemaDialect(name="json-schema")
"""Servers that decode under a grammar, whatever the model: every schema goes as it is."""

LLAMA_CPP = SchemaDialect(name="llama.cpp", most_length=2_000)
"""Its grammars repeat nothing more often than that."""

LLAMA_CPP_PYTHON = attrs.evolve(LLAMA_CPP, name="llama-cpp-python", most_length=1_000)
"""Both of llama.cpp's servers. The one in Python nests what is repeated; from a longer text on, its process ends."""

XAI = SchemaDialect(name="xai", most_length=2_048, is_strict=True)
"""Longer texts are not held to their bound."""

OPENAI = SchemaDialect(
    name="openai",
    keywords=_SAID | _NUMBERS | _LISTS | {"const", "pattern", "format"},
    formats=_FORMATS,
    is_strict=True,
    closes_objects=True,
    requires_all=True,
    takes_recursion=True,
    tells_objects_apart=True,
    takes_whole=True,
    is_slow=True,
    most_depth=10,
    most_properties=5_000,
    most_choices=1_000,
    most_text=120_000,
    most_choice_text=15_000,
)
"""Strict mode. ``minLength`` and ``maxLength`` are not among what is documented to be taken."""

AZURE = attrs.evolve(
    OPENAI,
    name="azure",
    keywords=_SAID | {"const"},
    most_depth=5,
    most_properties=100,
)
"""The same with the limits that Azure's own pages state."""

STRICT = attrs.evolve(OPENAI, name="strict", keywords=_SAID | {"const"}, takes_recursion=False)
"""What every strict mode takes: for servers that state no more than that, and for routers in front of several."""

CEREBRAS = attrs.evolve(
    STRICT,
    name="cerebras",
    needs_properties=True,
    most_properties=None,
    most_properties_each=500,
    most_choices=500,
    most_text=None,
    most_choice_text=None,
    most_size=5_000,
)

ANTHROPIC = SchemaDialect(
    name="anthropic",
    keywords=_SAID | {"const", "format", "minItems"},
    formats=_FORMATS | {"uri"},
    most_min_items=1,
    is_strict=True,
    closes_objects=True,
    is_slow=True,
    most_optional=24,
    most_unions=16,
)
"""Structured outputs. That a compiled schema is too large, which has no figure, is learned from the refusal."""

GEMINI = SchemaDialect(
    name="gemini",
    keywords=_SAID | _LISTS | {"minimum", "maximum", "format", "additionalProperties", "propertyOrdering"},
    needs_properties=True,
    takes_recursion=True,
    has_any_value=True,
    takes_whole=True,
)
"""``responseJsonSchema``. CallLimits have no figures there; a schema with too many states is refused."""

OPENAPI = SchemaDialect(
    name="openapi",
    keywords=_SAID
    | _LISTS
    | {"format", "nullable", "minimum", "maximum", "minLength", "maxLength", "pattern", "propertyOrdering", "default"},
    has_references=False,
    anything=MappingProxyType({"type": "object"}),
    needs_properties=True,
    only_text_choices=True,
    null_keyword=True,
    takes_whole=True,
)
"""``responseSchema`` and ``parameters`` of older servers: a subset of OpenAPI's schemas."""

DIALECTS: Final[Mapping[str, SchemaDialect]] = {
    dialect.name: dialect
    for dialect in (
        JSON_SCHEMA,
        LLAMA_CPP,
        LLAMA_CPP_PYTHON,
        XAI,
        OPENAI,
        AZURE,
        STRICT,
        CEREBRAS,
        ANTHROPIC,
        GEMINI,
        OPENAPI,
    )
}

OPENAI_MODELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": OPENAI.name,
        **dict.fromkeys(("gpt-3.5", "gpt-4", "gpt-4o-2024-05-13", "chatgpt-4o", "o1-mini", "o1-preview"), NONE),
        **dict.fromkeys(("gpt-4o", "gpt-4."), OPENAI.name),
    }
)
"""OpenAI's models; those from before strict mode take no schema."""

BY_MODEL: Final[Mapping[str, str]] = MappingProxyType({"": JSON_SCHEMA.name})


def dialect_of(model: str, by_model: Mapping[str, str]) -> SchemaDialect | None:
    """The dialect in which a schema is written to a model; ``None`` for one that takes none.

    :param by_model: beginnings of names of models to names of dialects; the longest counts.
    """
    found = max((start for start in by_model if model.startswith(start)), key=len, default=None)
    return None if found is None else DIALECTS.get(by_model[found])


def check_dialects(settings: ProviderSettings, option: str, by_model: Mapping[str, str]) -> None:
    """Make sure that a deployment names dialects that exist.

    :raises InvalidRequest: it does not.
    """
    known: Sequence[str] = (*DIALECTS, NONE)
    for start, name in by_model.items():
        if name not in known:
            raise refused_setting(
                settings, f"options.{option}", f"found {name!r} for {start!r}; allowed: {', '.join(map(repr, known))}"
            )
