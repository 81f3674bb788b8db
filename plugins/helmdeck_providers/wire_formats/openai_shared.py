"""What the two OpenAI formats have in common: the key header, the model list and the names of the reasoning models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

import attrs

from helmdeck_core import ChatRequest, Constraint, ModelInfo, Provider, ProviderContext, ProviderSettings, ProviderSpec
from helmdeck_providers.http.bodies import count, rows, string, table
from helmdeck_providers.http.wire_format import HttpProvider, WireFormat

REASONING_MODELS = ("o1", "o3", "o4-", "gpt-5")
"""OpenAI models that answer 400 to max_tokens, to any temperature and to stop sequences. Sources: the chat completions
reference at platform.openai.com, and the tests of NVIDIA's NeMo Guardrails."""


class _ServerOptions(attrs.AttrsInstance, Protocol):
    @classmethod
    def read(cls, settings: ProviderSettings) -> Self: ...


_Options = TypeVar("_Options", bound=_ServerOptions)


def preset(
    name: str,
    summary: str,
    base_url: str | None,
    key: str | None,
    options: _Options,
    make_wire_format: Callable[[_Options], WireFormat],
    constraint: Callable[[ChatRequest, _Options], Constraint],
) -> ProviderSpec:
    """Return the provider of one server.

    :param key: environment variable of the API key.
    :param options: how the server differs from others with its format; a deployment may override them.
    :param constraint: returns how a response is constrained.
    """
    read = type(options).read

    def open_provider(settings: ProviderSettings, context: ProviderContext) -> Provider:
        return HttpProvider(settings, context, make_wire_format(read(settings)))

    return ProviderSpec(
        name=name,
        open=open_provider,
        summary=summary,
        base_url=base_url,
        api_key=f"env:{key}" if key else None,
        # Only non-default values, so that a listing shows how a server differs.
        options=attrs.asdict(options, filter=lambda field, value: value != field.default),
        constrain=lambda settings, request: constraint(request, read(settings)),
    )


def key_headers(key: str | None, name: str) -> Mapping[str, str]:
    """Return the header with the key: as a bearer token in ``authorization``, as it is in any other header."""
    if not key:
        return {}
    return {name: f"Bearer {key}" if name == "authorization" else key}


def read_models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    """Read a model list; each server has its own names for the limits."""
    models = []
    for model in rows(page.get("data")):
        top, meta = table(model.get("top_provider")), table(model.get("meta"))  # OpenRouter; llama.cpp
        limit = count(
            model, "context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"
        ) or count(meta, "n_ctx", "n_ctx_train")
        output = count(model, "max_completion_tokens", "max_output_tokens") or count(top, "max_completion_tokens")
        info = ModelInfo(id=string(model.get("id")), input_tokens=limit or None, output_tokens=output or None)
        models += [info] if info.id else []
    return models, ""
