"""Presets: servers with OpenAI's Responses API, and how they differ, as data."""

from __future__ import annotations

from helmdeck_core import ProviderSpec
from helmdeck_providers.http.provider import provider_spec
from helmdeck_providers.schemas.server_dialects import AZURE, OPENAI_MODELS, XAI
from helmdeck_providers.wire_formats.openai_models import REASONING_MODELS
from helmdeck_providers.wire_formats.openai_responses.request import Options, constraint
from helmdeck_providers.wire_formats.openai_responses.wire_format import make_wire_format

_DEFAULTS = Options()


def _preset(
    name: str, summary: str, base_url: str | None, key: str | None = None, options: Options = _DEFAULTS
) -> ProviderSpec:
    return provider_spec(name, summary, base_url, key, options, make_wire_format, constraint)


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
