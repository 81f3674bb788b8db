"""Presets: servers with OpenAI's chat completions, such as Groq, Mistral and vLLM, and how they differ, as data."""

from __future__ import annotations

import attrs

from helmdeck_core import ProviderSpec
from helmdeck_providers.http.provider import provider_spec
from helmdeck_providers.schemas.server_dialects import (
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
from helmdeck_providers.wire_formats.openai_chat.request import Options, constraint
from helmdeck_providers.wire_formats.openai_chat.wire_format import make_wire_format
from helmdeck_providers.wire_formats.openai_models import REASONING_MODELS

_JSON_MODE_ONLY = ("json_object",)
_DEFAULTS = Options()
_KIMI = ("kimi-k2.", "kimi-k3")


def _preset(
    name: str,
    summary: str,
    base_url: str | None,
    key: str | None = None,
    options: Options = _DEFAULTS,
    *,
    example: str = "",
) -> ProviderSpec:
    return provider_spec(name, summary, base_url, key, options, make_wire_format, constraint, example)


_OPENAI = Options(
    max_tokens_field="max_completion_tokens",
    fixed_temperature_models=REASONING_MODELS,
    without_stop_models=REASONING_MODELS,
    most_stops=4,
    schema_dialects=OPENAI_MODELS,
    has_cache_key=True,
    has_tool_unions=False,
)
_AZURE = attrs.evolve(_OPENAI, schema_dialects={"": AZURE.name}, key_header="api-key")

PRESETS = (
    _preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        _OPENAI,
        example="gpt-4.1-mini",
    ),
    # Both need a base_url: https://NAME.openai.azure.com/openai/v1, and without /v1 for the second, whose models are deployments.
    _preset("azure", "Azure OpenAI; needs a base_url that ends in /openai/v1", None, "AZURE_OPENAI_API_KEY", _AZURE),
    _preset(
        "azure-deployments",
        "Azure OpenAI deployments; needs a base_url that ends in /openai",
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
        # Other upstreams cache automatically.
        Options(
            cache_marker_models=("anthropic/", "~anthropic/"),
            schema_dialects={
                "": STRICT.name,
                "openai/": OPENAI.name,
                "anthropic/": ANTHROPIC.name,
                "~anthropic/": ANTHROPIC.name,
            },
            prefill="trailing",
            has_tool_unions=False,
            returned_fields=("reasoning_details",),
        ),
        example="openrouter/free",
    ),
    _preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        # Usage is always sent, and unknown fields are rejected, as are ids of other forms, and messages of the user right
        # after results of tools.
        Options(
            schema_dialects={"": STRICT.name},
            has_stream_usage=False,
            has_cache_key=True,
            prefill="prefix",
            call_id_chars=9,
            has_tool_media=True,
            takes_user_after_tool=False,
        ),
        example="mistral-small-latest",
    ),
    _preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        # Models with constrained decoding; others reject a schema, or only see it in the prompt.
        Options(
            max_tokens_field="max_completion_tokens",
            most_stops=4,
            schema_dialects={"": NONE, "openai/gpt-oss-": STRICT.name, "qwen/qwen3.8": STRICT.name},
            has_lone_schemas=True,
        ),
        example="llama-3.3-70b-versatile",
    ),
    _preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        Options(
            response_formats=_JSON_MODE_ONLY,
            # While thinking, which is the default, they answer 400 to a forced tool call.
            unforced_models=("deepseek-reasoner", "deepseek-v4"),
            most_stops=16,
            prefill="prefix",
            prefill_path="/beta/chat/completions",
            returned_fields=("reasoning_content",),
        ),
        example="deepseek-chat",
    ),
    _preset(
        "fireworks",
        "Fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        Options(has_cache_key=True, prefill="continue_final_message"),
    ),
    _preset(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        # docs.x.ai, Reasoning: reasoning models reject stop sequences.
        Options(
            max_tokens_field="max_completion_tokens",
            without_stop_models=("grok-3-mini", "grok-4", "grok-code"),
            schema_dialects={"": XAI.name},
        ),
        example="grok-4",
    ),
    _preset("together", "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    _preset(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        Options(max_tokens_field="max_completion_tokens", most_stops=4, schema_dialects={"": CEREBRAS.name}),
    ),
    _preset(
        "perplexity",
        "Perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        # Usage is sent with every chunk. The types of the official client allow no named tool choice.
        Options(response_formats=("json_schema",), tool_choices=("auto", "none", "required"), has_stream_usage=False),
        example="sonar",
    ),
    _preset(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        # docs.z.ai, Chat Completion: auto is the only tool choice, and one stop sequence is the limit.
        Options(response_formats=_JSON_MODE_ONLY, tool_choices=("auto",), most_stops=1),
    ),
    _preset(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        # platform.moonshot.ai: max_tokens is deprecated, a message with "partial" is continued, and models from 2.5 on
        # answer 400 to every temperature but the default and, while thinking, to a forced tool call.
        Options(
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
        # A few models support a schema, and none while thinking: only when the caller requires one.
        Options(response_formats=("json_object", "json_schema")),
    ),
    _preset(
        "huggingface",
        "Hugging Face's router",
        "https://router.huggingface.co/v1",
        "HF_TOKEN",
        Options(schema_dialects={"": STRICT.name}),
    ),
    _preset(
        "snowflake",
        "Snowflake Cortex; needs a base_url that ends in /api/v2/cortex/v1",
        None,
        "SNOWFLAKE_PAT",
        # Claude sends no stop reason here.
        Options(
            max_tokens_field="max_completion_tokens",
            schema_dialects={"": STRICT.name, "openai-": OPENAI.name, "claude-": ANTHROPIC.name},
            is_final_without_reason=True,
            returned_fields=("reasoning_details",),
        ),
    ),
    attrs.evolve(
        _preset("openai-compatible", "any server with OpenAI's chat completions; needs a base_url", None),
        is_generic=True,
        rerank_path="/rerank",  # vLLM, llama.cpp, Jina
    ),
    _preset(
        "llamacpp",
        "llama.cpp's server on this machine",
        "http://127.0.0.1:8080/v1",
        # The server of the Python bindings accepts a schema in no other field.
        # llama-server continues a last message of the assistant unless it is started with --no-prefill-assistant. The
        # server of the Python bindings always starts a new message.
        options=Options(
            schema_dialects={"": LLAMA_CPP_PYTHON.name},
            has_json_mode_schemas=True,
            likelihoods="grammar",
            prefill="trailing",
            prefill_server="llama.cpp",
        ),
    ),
    _preset(
        "lmstudio",
        "LM Studio on this machine",
        "http://127.0.0.1:1234/v1",
        # JSON mode is answered with 400.
        options=Options(response_formats=("json_schema",), schema_dialects={"": LLAMA_CPP.name}),
    ),
    _preset(
        "vllm",
        "vLLM on this machine",
        "http://127.0.0.1:8000/v1",
        options=Options(prefill="continue_final_message", likelihoods="echo"),
    ),
    _preset(
        "sglang",
        "SGLang on this machine",
        "http://127.0.0.1:30000/v1",
        options=Options(prefill="continue_final_message"),
    ),
    _preset(
        "ollama-openai",
        "Ollama's OpenAI-compatible API on this machine",
        "http://127.0.0.1:11434/v1",
    ),
)
