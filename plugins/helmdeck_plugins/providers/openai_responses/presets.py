"""Servers that are compatible with OpenAI's Responses API, as data."""

from __future__ import annotations

import attrs

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec
from helmdeck_plugins.providers.openai_responses.request import Options, constraint
from helmdeck_plugins.providers.openai_responses.wire_format import make_wire_format
from helmdeck_plugins.providers.openai_shared import REASONING_MODELS
from helmdeck_plugins.providers.schema_dialects import AZURE, OPENAI_MODELS, XAI
from helmdeck_provider_kit import HttpProvider


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, make_wire_format(Options.read(settings)))


def _preset(
    name: str, summary: str, base_url: str | None, key: str | None = None, options: Options | None = None
) -> ProviderSpec:
    return ProviderSpec(
        name=name,
        open=_open,
        summary=summary,
        base_url=base_url,
        api_key=f"env:{key}" if key else None,
        options=attrs.asdict(options, filter=lambda field, value: value != field.default) if options else {},
        constrain=lambda settings, request: constraint(request, Options.read(settings)),
    )


PRESETS = (
    _preset(
        "openai-responses",
        "OpenAI, Responses API",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        Options(
            reasoning_models=REASONING_MODELS,
            encrypting_models=REASONING_MODELS,
            schema_dialects=OPENAI_MODELS,
            has_cache_key=True,
        ),
    ),
    _preset(
        "azure-responses",
        "Azure OpenAI, Responses API; needs a base_url that ends in /openai/v1",
        None,
        "AZURE_OPENAI_API_KEY",
        Options(
            reasoning_models=REASONING_MODELS,
            encrypting_models=REASONING_MODELS,
            schema_dialects={"": AZURE.name},
            has_cache_key=True,
            key_header="api-key",
        ),
    ),
    _preset(
        "xai-responses",
        "xAI, Responses API",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        # docs.x.ai, Reasoning: these models return encrypted reasoning and accept a temperature.
        Options(encrypting_models=("grok-4",), schema_dialects={"": XAI.name}, has_cache_key=True),
    ),
    _preset("responses", "any server with OpenAI's Responses API; needs a base_url", None),
)
