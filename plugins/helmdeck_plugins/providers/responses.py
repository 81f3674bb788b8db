"""The provider for everybody who speaks OpenAI's Responses: one adapter, and the servers as data.

How its parts divide the work: ``responses_request`` writes, ``native`` sends, ``responses_wire`` reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, StopReasonTable, hookimpl
from helmdeck_plugins.providers.dialects import AZURE, OPENAI_MODELS, XAI
from helmdeck_plugins.providers.error_words import ERROR_WORDS, QUOTA_HEADERS
from helmdeck_plugins.providers.openai_request import key_headers
from helmdeck_plugins.providers.openai_wire import models
from helmdeck_plugins.providers.responses_request import Options, constraint, render
from helmdeck_plugins.providers.responses_wire import DISPOSITIONS, REASONS, ResponsesAnswer, path_of_pending
from helmdeck_provider_kit import Background, HttpProvider, WireFormat

DIALECT = "openai-responses"

_REASONING_MODELS = ("o1", "o3", "o4-", "gpt-5")


def dialect(options: Options) -> WireFormat:
    """The interface, as one server has it."""
    return WireFormat(
        name=DIALECT,
        words=ERROR_WORDS,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: key_headers(key, options.key_header),
        path=lambda _: "/responses",
        render=lambda request: render(request, options),
        answer=lambda _, terms: ResponsesAnswer(terms),
        background=Background(path=path_of_pending, cancel="/cancel", pause_s=options.poll_ms / 1_000),
        models_path="/models",
        models=models,
    )


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, dialect(Options.read(settings)))


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
        "OpenAI, by its Responses",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        Options(
            reasoning_models=_REASONING_MODELS,
            encrypting_models=_REASONING_MODELS,
            schema_dialects=OPENAI_MODELS,
            has_cache_key=True,
        ),
    ),
    _preset(
        "azure-responses",
        "Azure OpenAI, by its Responses; wants a base_url that ends in /openai/v1",
        None,
        "AZURE_OPENAI_API_KEY",
        Options(
            reasoning_models=_REASONING_MODELS,
            encrypting_models=_REASONING_MODELS,
            schema_dialects={"": AZURE.name},
            has_cache_key=True,
            key_header="api-key",
        ),
    ),
    _preset(
        "xai-responses",
        "xAI, by its Responses",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        # docs.x.ai, Reasoning: these return their thoughts encrypted, and take a temperature.
        Options(encrypting_models=("grok-4",), schema_dialects={"": XAI.name}, has_cache_key=True),
    ),
    _preset("responses", "any server that speaks OpenAI's Responses; wants a base_url", None),
)


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The servers that are known."""
    return PRESETS


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """The dialect of Responses."""
    return [StopReasonTable(name=DIALECT, reasons=REASONS, dispositions=DISPOSITIONS)]
