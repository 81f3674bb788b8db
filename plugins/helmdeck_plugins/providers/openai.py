"""The provider for everybody who speaks OpenAI's chat completions: one adapter, and the servers as data.

How its parts divide the work: ``openai_request`` writes, ``native`` sends, ``openai_wire`` reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import (
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    StopReasonTable,
    hookimpl,
)
from helmdeck_plugins.providers.dialects import (
    ANTHROPIC,
    AZURE,
    CEREBRAS,
    LLAMA_CPP,
    LLAMA_CPP_PYTHON,
    NONE,
    OPENAI,
    OPENAI_MODELS,
    STRICT,
    XAI,
)
from helmdeck_plugins.providers.error_words import ERROR_WORDS, QUOTA_HEADERS
from helmdeck_plugins.providers.openai_request import Quirks, constraint, key_headers, render
from helmdeck_plugins.providers.openai_wire import DISPOSITIONS, REASONS, ChatAnswer, models
from helmdeck_provider_kit import HttpProvider, WireFormat

WIRE_FORMAT = "openai"

_JSON_MODE_ONLY = ("json_object",)
_REASONING_MODELS = ("o1", "o3", "o4-", "gpt-5")
"""OpenAI's: they answer 400 to max_tokens, to any temperature and to stop sequences. Sources: the reference of chat completions
at platform.openai.com, and what NVIDIA's NeMo Guardrails found out by asking each of them."""
_KIMI = ("kimi-k2.", "kimi-k3")


def wire_format(quirks: Quirks) -> WireFormat:
    """The interface, as one server has it."""
    return WireFormat(
        name=WIRE_FORMAT,
        words=ERROR_WORDS,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: key_headers(key, quirks.key_header),
        path=quirks.address,
        render=lambda request: render(request, quirks),
        answer=lambda _, terms: ChatAnswer(
            terms,
            returned_fields=quirks.returned_fields,
            is_final_without_reason=quirks.is_final_without_reason,
        ),
        models_path=quirks.versioned(quirks.models_path),
        models=models,
    )


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    return HttpProvider(settings, context, wire_format(Quirks.read(settings)))


def _preset(
    name: str, summary: str, base_url: str | None, key: str | None = None, quirks: Quirks | None = None
) -> ProviderSpec:
    return ProviderSpec(
        name=name,
        open=_open,
        summary=summary,
        base_url=base_url,
        api_key=f"env:{key}" if key else None,
        # Only what differs, so that a deployment sees in a listing what is special about a server.
        options=attrs.asdict(quirks, filter=lambda field, value: value != field.default) if quirks else {},
        constrain=lambda settings, request: constraint(request, Quirks.read(settings)),
    )


_OPENAI = Quirks(
    max_tokens_field="max_completion_tokens",
    fixed_temperature_models=_REASONING_MODELS,
    without_stop_models=_REASONING_MODELS,
    most_stops=4,
    schema_dialects=OPENAI_MODELS,
    has_cache_key=True,
)
_AZURE = attrs.evolve(_OPENAI, schema_dialects={"": AZURE.name}, key_header="api-key")

PRESETS = (
    _preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        _OPENAI,
    ),
    # Both want a base_url: https://NAME.openai.azure.com/openai/v1, and without /v1 for the second, whose models are deployments.
    _preset("azure", "Azure OpenAI; wants a base_url that ends in /openai/v1", None, "AZURE_OPENAI_API_KEY", _AZURE),
    _preset(
        "azure-deployments",
        "Azure OpenAI by deployments; wants a base_url that ends in /openai",
        None,
        "AZURE_OPENAI_API_KEY",
        attrs.evolve(
            _AZURE, has_cache_key=False, path="/deployments/{model}/chat/completions", api_version="2024-10-21"
        ),
    ),
    _preset(
        "openrouter",
        "OpenRouter, many models behind one key",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        # Other upstreams cache by themselves.
        Quirks(
            cache_marker_models=("anthropic/", "~anthropic/"),
            schema_dialects={
                "": STRICT.name,
                "openai/": OPENAI.name,
                "anthropic/": ANTHROPIC.name,
                "~anthropic/": ANTHROPIC.name,
            },
            prefill="trailing",
            returned_fields=("reasoning_details",),
        ),
    ),
    _preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        # Usage comes unasked, and fields that it does not know are refused.
        Quirks(schema_dialects={"": STRICT.name}, has_stream_usage=False, has_cache_key=True, prefill="prefix"),
    ),
    _preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        # Models that it decodes under a schema; the others refuse one, or are only asked to keep to it.
        Quirks(
            max_tokens_field="max_completion_tokens",
            most_stops=4,
            schema_dialects={"": NONE, "openai/gpt-oss-": STRICT.name, "qwen/qwen3.8": STRICT.name},
            has_lone_schemas=True,
        ),
    ),
    _preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        Quirks(
            response_formats=_JSON_MODE_ONLY,
            # Thinking, as they do unless they are told not to, they answer 400 to a tool choice that forces.
            unforced_models=("deepseek-reasoner", "deepseek-v4"),
            most_stops=16,
            prefill="prefix",
            prefill_path="/beta/chat/completions",
            returned_fields=("reasoning_content",),
        ),
    ),
    _preset(
        "fireworks",
        "Fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        Quirks(has_cache_key=True, prefill="continue_final_message"),
    ),
    _preset(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        # docs.x.ai, Reasoning: models that reason answer with an error to stop sequences.
        Quirks(
            max_tokens_field="max_completion_tokens",
            without_stop_models=("grok-3-mini", "grok-4", "grok-code"),
            schema_dialects={"": XAI.name},
        ),
    ),
    _preset("together", "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    _preset(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        Quirks(max_tokens_field="max_completion_tokens", most_stops=4, schema_dialects={"": CEREBRAS.name}),
    ),
    _preset(
        "perplexity",
        "Perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        # Usage comes unasked, with every chunk. By the types of its own client, no one tool can be chosen.
        Quirks(response_formats=("json_schema",), tool_choices=("auto", "none", "required"), has_stream_usage=False),
    ),
    _preset(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        # docs.z.ai, Chat Completion: auto is the only tool choice, and there is room for one stop sequence.
        Quirks(response_formats=_JSON_MODE_ONLY, tool_choices=("auto",), most_stops=1),
    ),
    _preset(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        # platform.moonshot.ai: max_tokens is deprecated, a message in "partial" mode is continued, and models from 2.5 on
        # answer 400 to every temperature but their own and, thinking, to a tool choice that forces.
        Quirks(
            max_tokens_field="max_completion_tokens",
            fixed_temperature_models=_KIMI,
            unforced_models=_KIMI,
            most_stops=5,
            schema_dialects={"": NONE, "kimi-k3": STRICT.name},
            prefill="partial",
            returned_fields=("reasoning_content",),
        ),
    ),
    _preset(
        "alibaba",
        "Alibaba's Model Studio",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        # A few models take a schema, and none while it thinks: only where it is asked for.
        Quirks(response_formats=("json_object", "json_schema")),
    ),
    _preset(
        "huggingface",
        "Hugging Face's router",
        "https://router.huggingface.co/v1",
        "HF_TOKEN",
        Quirks(schema_dialects={"": STRICT.name}),
    ),
    _preset(
        "snowflake",
        "Snowflake Cortex; wants a base_url that ends in /api/v2/cortex/v1",
        None,
        "SNOWFLAKE_PAT",
        # Claude behind it ends without a reason.
        Quirks(
            max_tokens_field="max_completion_tokens",
            schema_dialects={"": STRICT.name, "openai-": OPENAI.name, "claude-": ANTHROPIC.name},
            is_final_without_reason=True,
            returned_fields=("reasoning_details",),
        ),
    ),
    _preset(
        "llamacpp",
        "llama.cpp's server on this machine",
        "http://127.0.0.1:8080/v1",
        # The server of its Python bindings knows no other way to give a schema.
        quirks=Quirks(schema_dialects={"": LLAMA_CPP_PYTHON.name}, has_json_mode_schemas=True),
    ),
    _preset(
        "lmstudio",
        "LM Studio on this machine",
        "http://127.0.0.1:1234/v1",
        # It answers 400 to JSON mode.
        quirks=Quirks(response_formats=("json_schema",), schema_dialects={"": LLAMA_CPP.name}),
    ),
    _preset(
        "vllm",
        "vLLM on this machine",
        "http://127.0.0.1:8000/v1",
        quirks=Quirks(prefill="continue_final_message"),
    ),
    _preset(
        "sglang",
        "SGLang on this machine",
        "http://127.0.0.1:30000/v1",
        quirks=Quirks(prefill="continue_final_message"),
    ),
    _preset(
        "ollama-openai",
        "Ollama's compatible route on this machine",
        "http://127.0.0.1:11434/v1",
    ),
)


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The servers that are known."""
    return PRESETS


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """The stop reasons of chat completions."""
    return [StopReasonTable(name=WIRE_FORMAT, reasons=REASONS, dispositions=DISPOSITIONS)]
