"""The subsets of JSON Schema that servers support, as data; as documented in October 2026.

Options name them, so that a preset can use the dialect of another vendor's models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from helmdeck_core import ProviderSettings
from helmdeck_providers.http.rendering import JSON_STRING_NOTE
from helmdeck_providers.http.settings import refused_setting
from helmdeck_providers.schemas.dialect import ANNOTATIONS, SchemaDialect

NONE: Final = "none"
"""Used instead of a dialect for models without schema support."""

_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_LISTS = frozenset(("minItems", "maxItems"))
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))

JSON_SCHEMA = SchemaDialect(name="json-schema")
"""Servers that decode with a grammar, whatever the model: every schema is sent unchanged."""

LLAMA_CPP = SchemaDialect(name="llama.cpp", most_length=2_000)
"""Its grammars support no more repetitions than that."""

LLAMA_CPP_PYTHON = attrs.evolve(LLAMA_CPP, name="llama-cpp-python", most_length=1_000)
"""Both of llama.cpp's servers. The Python server nests repetitions and crashes on longer ones."""

XAI = SchemaDialect(name="xai", most_length=2_048, is_strict=True)
"""The limit of longer strings is not enforced."""

OPENAI = SchemaDialect(
    name="openai",
    json_string_note=JSON_STRING_NOTE,
    keywords=ANNOTATIONS | _NUMBERS | _LISTS | {"const", "pattern", "format"},
    formats=_FORMATS,
    is_strict=True,
    closes_objects=True,
    requires_all=True,
    takes_recursion=True,
    distinguishes_by_first_property=True,
    takes_whole=True,
    is_slow=True,
    most_depth=10,
    most_properties=5_000,
    most_choices=1_000,
    most_text=120_000,
    most_choice_text=15_000,
)
"""Strict mode. ``minLength`` and ``maxLength`` are not documented as supported."""

AZURE = attrs.evolve(
    OPENAI,
    name="azure",
    keywords=ANNOTATIONS | {"const"},
    most_depth=5,
    most_properties=100,
)
"""Strict mode with the limits of Azure's documentation."""

STRICT = attrs.evolve(OPENAI, name="strict", keywords=ANNOTATIONS | {"const"}, takes_recursion=False)
"""What every strict mode supports: for servers that document no more than that, and for routers."""

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
    json_string_note=JSON_STRING_NOTE,
    keywords=ANNOTATIONS | {"const", "format", "minItems"},
    formats=_FORMATS | {"uri"},
    most_min_items=1,
    is_strict=True,
    closes_objects=True,
    is_slow=True,
    most_optional=24,
    most_unions=16,
)
"""Structured outputs. The size limit of a compiled schema is undocumented; the error response reports it."""

GEMINI = SchemaDialect(
    name="gemini",
    json_string_note=JSON_STRING_NOTE,
    keywords=ANNOTATIONS | _LISTS | {"minimum", "maximum", "format", "additionalProperties", "propertyOrdering"},
    needs_properties=True,
    takes_recursion=True,
    has_any_value=True,
    takes_whole=True,
)
"""``responseJsonSchema``. The limits are undocumented; a schema with too many states is rejected."""

_SINGLE = tuple({"type": kind} for kind in ("string", "number", "boolean", "object"))
_LIST = {"type": "array", "items": {"anyOf": _SINGLE, "nullable": True}}

OPENAPI = SchemaDialect(
    name="openapi",
    json_string_note=JSON_STRING_NOTE,
    keywords=ANNOTATIONS
    | _LISTS
    | {"format", "nullable", "minimum", "maximum", "minLength", "maxLength", "pattern", "propertyOrdering", "default"},
    has_references=False,
    anything=MappingProxyType({"anyOf": (*_SINGLE, _LIST), "nullable": True}),
    anything_lacks="lists in lists, where any value is allowed",
    needs_properties=True,
    only_text_choices=True,
    null_keyword=True,
    takes_whole=True,
)
"""``responseSchema`` and ``parameters`` of older servers: a subset of OpenAPI schemas."""

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
"""OpenAI's models; those from before strict mode support no schema."""

BY_MODEL: Final[Mapping[str, str]] = MappingProxyType({"": JSON_SCHEMA.name})


def dialect_of(model: str, by_model: Mapping[str, str]) -> SchemaDialect | None:
    """Return the schema dialect of a model; ``None`` for one without schema support.

    :param by_model: model name prefixes to names of dialects; the longest prefix wins.
    """
    prefix = max((prefix for prefix in by_model if model.startswith(prefix)), key=len, default=None)
    return None if prefix is None else DIALECTS.get(by_model[prefix])


def check_dialects(settings: ProviderSettings, option: str, by_model: Mapping[str, str]) -> None:
    """Check the names of dialects in an option.

    :raises InvalidRequest: there is no such dialect.
    """
    known: Sequence[str] = (*DIALECTS, NONE)
    for prefix, name in by_model.items():
        if name not in known:
            raise refused_setting(
                settings, f"options.{option}", f"found {name!r} for {prefix!r}; allowed: {', '.join(map(repr, known))}"
            )
