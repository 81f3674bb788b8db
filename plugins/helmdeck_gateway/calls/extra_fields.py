"""The fields of a request beyond those of a ``ChatRequest``: passed on, translated to another API, or left out and named.

Reasoning has three common names: ``effort``, ``thinking_tokens`` (a limit, where a client sends one instead of an effort) and
``summary`` (the client requests it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from helmdeck_core import EMPTY
from helmdeck_gateway.calls.targets import Target

EFFORTS_BY_TOKENS: Final = ((0, "none"), (1_024, "low"), (8_192, "medium"))
"""Limits of thinking tokens and the effort that is as much; more is ``high``."""
TOKENS_BY_EFFORT: Final[Mapping[str, int]] = {
    "none": 512, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576, "xhigh": 24_576, "max": 24_576,
}  # fmt: skip
"""What Gemini 2.5 gets for an effort: limits that all of its models accept, some of which cannot stop thinking."""
LEVELS: Final[Mapping[str, str]] = {
    "none": "low", "minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "high",
}  # fmt: skip
"""What later Gemini models get: the two levels that all of them accept."""
ANTHROPIC_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
WITHOUT_REASONING: Final = ("gpt-4", "gpt-3.5", "chatgpt-4o", "claude-3", "gemini-1", "gemini-2.0")
"""Starts of names of models that reject fields about reasoning."""
WITH_REASONING: Final = (
    "o1", "o3", "o4", "gpt-5", "gpt-oss", "claude-", "gemini-2.5", "gemini-3", "deepseek-r", "grok-", "qwen3", "magistral",
)  # fmt: skip
"""Starts of names of models that take an effort. Agents send a limit of thinking tokens by default, and some servers reject a
request with an effort, so a limit is translated for these models only; an effort that a client sends, for all others as well."""

Writer = Callable[[Any, Target], Mapping[str, Any]]
"""Returns a field as an API has it; empty if the API has none."""


def _named(name: str) -> Writer:
    return lambda value, _: {name: value}


def _effort_of_chat(value: Any, _: Target) -> Mapping[str, Any]:
    return {"reasoning_effort": "xhigh" if value == "max" else value}


def _effort_of_responses(value: Any, _: Target) -> Mapping[str, Any]:
    return {"reasoning": {"effort": "xhigh" if value == "max" else value}}


def _effort_of_messages(value: Any, _: Target) -> Mapping[str, Any]:
    if value == "none":
        return {"thinking": {"type": "disabled"}}
    value = "low" if value == "minimal" else value
    return {"output_config": {"effort": value}} if value in ANTHROPIC_EFFORTS else {}


def _effort_of_gemini(value: Any, target: Target) -> Mapping[str, Any]:
    if value not in LEVELS:
        return {}
    if all("gemini-3" in model for model in target.models):
        return {"generationConfig": {"thinkingConfig": {"thinkingLevel": LEVELS[value]}}}
    return {"generationConfig": {"thinkingConfig": {"thinkingBudget": TOKENS_BY_EFFORT[value]}}}


def _effort_of_ollama(value: Any, _: Target) -> Mapping[str, Any]:
    return {"think": False} if value == "none" else {}


_WRITERS: Final[Mapping[str, Mapping[str, Writer]]] = {
    "openai": {
        "top_p": _named("top_p"),
        "effort": _effort_of_chat,
        "parallel_tool_calls": _named("parallel_tool_calls"),
        "prompt_cache_key": _named("prompt_cache_key"),
    },
    "responses": {
        "top_p": _named("top_p"),
        "effort": _effort_of_responses,
        "summary": lambda value, _: {"reasoning": {"summary": value}},
        "parallel_tool_calls": _named("parallel_tool_calls"),
        "prompt_cache_key": _named("prompt_cache_key"),
    },
    "anthropic": {"effort": _effort_of_messages},
    "gemini": {
        "top_p": lambda value, _: {"generationConfig": {"topP": value}},
        "effort": _effort_of_gemini,
        "summary": lambda *_: {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
    },
    "ollama": {"effort": _effort_of_ollama},
}
"""How the families write fields that several dialects have."""

_SHOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "openai": {"effort": "reasoning_effort"},
    "responses": {"effort": "reasoning.effort", "summary": "reasoning.summary"},
    "anthropic": {
        "effort": "output_config.effort",
        "thinking_tokens": "thinking",
        "summary": "thinking.display",
        "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    },
    "gemini": {
        "top_p": "generationConfig.topP",
        "effort": "generationConfig.thinkingConfig.thinkingLevel",
        "thinking_tokens": "generationConfig.thinkingConfig.thinkingBudget",
        "summary": "generationConfig.thinkingConfig.includeThoughts",
    },
}
"""How the dialects call them."""
_COMMON: Final = frozenset(
    (
        "top_p", "reasoning_effort", "parallel_tool_calls", "prompt_cache_key", "reasoning.effort", "reasoning.summary",
        "output_config.effort", "tool_choice.disable_parallel_tool_use", "generationConfig.topP",
        "generationConfig.thinkingConfig",
    )
)  # fmt: skip
"""Fields that ``shared`` has under a common name."""
_TABLES: Final = frozenset(("reasoning", "output_config", "tool_choice", "text", "generationConfig"))
"""Objects whose fields are left out one by one."""


def extra_fields(
    family: str, target: Target, native: Mapping[str, Any], shared: Mapping[str, Any]
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the fields to send in addition to the request, and the names of those that are left out.

    The same fields go to every model of a fallback chain, so a field is sent only if all of them take it.

    :param family: the family that speaks the client's dialect.
    :param native: the fields as the client sent them.
    :param shared: the fields that other families have under another name, by common name; they are part of ``native``.
    """
    if not native and not shared:
        return EMPTY, ()
    if target.families == {family}:
        return native, ()
    (other,) = target.families if len(target.families) == 1 else ("",)
    writers = _WRITERS.get(other, {})
    has_reasoning = not any(_name(model).startswith(WITHOUT_REASONING) for model in target.models)
    fields: dict[str, Any] = {}
    left_out = list(_without_common_name(native, shared))
    for name, value in shared.items():
        common = "effort" if name == "thinking_tokens" else name
        value = _effort_of(value) if name == "thinking_tokens" else value
        is_sent = common not in ("effort", "summary") or (has_reasoning and isinstance(value, str))
        if name == "thinking_tokens" and other in ("openai", "responses"):
            is_sent = all(_name(model).startswith(WITH_REASONING) for model in target.models)
        written = writers[common](value, target) if common in writers and is_sent else {}
        _merge(fields, written)
        if not written:
            left_out.append(_SHOWN.get(family, {}).get(name, name))
    return fields, tuple(left_out)


def _name(model: str) -> str:
    """The name of a model without those of its provider and vendor."""
    return model.rpartition("/")[2].casefold()


def _effort_of(tokens: Any) -> str:
    return next((effort for most, effort in EFFORTS_BY_TOKENS if tokens <= most), "high")


def _merge(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, Mapping):
            _merge(fields.setdefault(name, {}), value)
        else:
            fields[name] = value


def _without_common_name(native: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[str]:
    for name, value in native.items():
        if name in _TABLES and isinstance(value, Mapping):
            yield from (each for key in value if (each := f"{name}.{key}") not in _COMMON)
        elif name == "thinking" and not shared.keys().isdisjoint(("thinking_tokens", "summary")):
            continue
        elif name not in _COMMON:
            yield name
