"""Error codes and phrases of providers and the failure class that each means, as data; shared by the built-in wire formats.

One table for all of them: gateways and compatible APIs forward the errors of their upstreams, so any format may see any of
them, and none is ambiguous. Rules that only one format needs are in its own package.
"""

from __future__ import annotations

from helmdeck_core import (
    AuthFailed,
    ConstrainedDeadlock,
    ContextWindowExceeded,
    InvalidRequest,
    LikelyTimeout,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    SafetyFiltered,
)
from helmdeck_providers.http.error_rules import Cause, ErrorFields, ErrorRules

QUOTA_HEADERS = (
    "anthropic-ratelimit-",
    "anthropic-priority-",
    "x-ratelimit-",
    "ratelimit-",
    "x-ms-is-spilled-over",  # Azure: a pay-per-token deployment answered
    "retry-after",
)
"""Name prefixes of headers with the remaining quota."""

_QUOTA = Cause(QuotaExhausted)
_SAFETY = Cause(SafetyFiltered)
_AUTH = Cause(AuthFailed)
_NOT_FOUND = Cause(InvalidRequest, "not_found")
_PERMISSION = Cause(AuthFailed, "permission")
_REFUSED = Cause(InvalidRequest, "schema_refused")
_MEDIA = Cause(InvalidRequest, "unsupported_media")
_CALL_FAILED = Cause(ConstrainedDeadlock, "tool_use_failed")
_JSON_FAILED = Cause(ConstrainedDeadlock, "json_validate_failed")
_UNAVAILABLE = Cause(ProviderUnavailable)

FIELDS = ErrorFields(
    upstream=("metadata.raw",),  # OpenRouter
    words=(
        "code",
        "type",
        "status",
        "error_type",
        "innererror.code",  # Azure
        "metadata.error_type",  # OpenRouter
        "details.reason",  # Google
        "details.violations.quotaId",  # Google: the name of the quota that is used up
    ),
    flags=("metadata.flagged_input", "metadata.reasons"),  # OpenRouter
    delays=("details.retryDelay",),  # Google
    upstream_headers=("metadata.headers",),  # OpenRouter
    generation=("failed_generation",),  # Groq
    unwrapped={"object": "error"},  # vLLM
)

ERROR_RULES = ErrorRules(
    fields=FIELDS,
    retry_header="x-should-retry",  # OpenAI, Anthropic
    words={
        **dict.fromkeys(
            (
                "insufficient_quota",
                "billing_hard_limit_reached",
                "billing_not_active",
                "insufficient_credits",
                "billing_error",
                "payment_required",
                "exceeded_current_quota_error",  # Moonshot
                "arrearage",  # Alibaba
            ),
            _QUOTA,
        ),
        **dict.fromkeys(
            (
                "content_filter",
                "content_policy_violation",
                "responsibleaipolicyviolation",
                "moderation_blocked",
                "data_inspection_failed",  # Alibaba
                "datainspectionfailed",
                "bio_policy",
                "cyber_policy",
                "image_content_policy_violation",
            ),
            _SAFETY,
        ),
        # Groq: the model generated invalid output, reported as 400.
        "tool_use_failed": _CALL_FAILED,
        "json_validate_failed": _JSON_FAILED,
        "output_parse_failed": Cause(ConstrainedDeadlock, "output_parse_failed"),
        "invalid_json_schema": _REFUSED,  # OpenAI's Responses
        "not_supported_error": Cause(InvalidRequest),  # llama.cpp, with 501: never succeeds
        "model_not_found": _NOT_FOUND,
        "model_decommissioned": _NOT_FOUND,  # Groq, with 400
        "not_found_error": _NOT_FOUND,
        "permission_error": _PERMISSION,
        "permission_denied": _PERMISSION,
        "organization_restricted": _PERMISSION,  # Groq, with 400
    },
    marks=(
        ("perday", _QUOTA),  # Gemini: part of the quota id; waiting for the few seconds of retryDelay does not help
        *(
            (mark, _QUOTA)
            for mark in (
                "insufficient balance",  # DeepSeek, Moonshot, Z.ai
                "insufficient credits",  # OpenRouter
                "key limit exceeded",  # OpenRouter, with 403
                "credit balance is too low",  # Anthropic, with 400
                "specified api usage limits",  # Anthropic, with 400
                "credits are depleted",  # Gemini, with 429
                "spending cap",  # Gemini, with 429
                "all available credits",  # xAI, with 429
                "have any credits",  # xAI, with 403
                "monthly included credits",  # Hugging Face
                "spending limit",  # xAI, Fireworks
                "out of call volume quota",  # Azure, with 403
                "usage limit reached",  # Z.ai's plans: resets after hours
                "account is in good standing",  # Alibaba, with 400
            )
        ),
        *(
            (mark, _SAFETY)
            for mark in (
                "flagged as potentially violating",  # OpenAI, with 400 and the code invalid_prompt
                "blocked by content filtering",  # Anthropic, with 400
                "content exists risk",  # DeepSeek, with 400
                "violates usage guidelines",  # xAI, with 403
                "unsafe or sensitive content",  # Z.ai, with 400
                "considered high risk",  # Moonshot, with 400
            )
        ),
        # xAI, Gemini: an invalid key is answered with 400.
        *((mark, _AUTH) for mark in ("incorrect api key", "api key not valid", "invalid api key", "api key expired")),
        # The same codes forwarded by a gateway, and phrases for invalid model output, also with 500.
        *((mark, _CALL_FAILED) for mark in ("tool_use_failed", "failed to call a function", "error parsing tool call")),
        *(
            (mark, _JSON_FAILED)
            for mark in ("json_validate_failed", "failed to validate json", "failed to generate json")
        ),
        # llama.cpp, Ollama, vLLM, OpenAI, Anthropic, Gemini: the schema is not supported.
        *(
            (mark, _REFUSED)
            for mark in (
                "json schema error",
                "failed to parse grammar",
                "invalid json schema in format",
                "grammar error",
                "not supported by xgrammar",
                "invalid schema for response_format",
                "must not share identical first keys",
                "schema is too complex",
                "compiled grammar is too large",
                "grammar compilation",
                "too many optional parameters",
                "parameters with union types",
                "too many states for serving",
                "'loc': ('body', 'response_format'",  # llama.cpp's Python server, with 500
                "json mode is not enabled",
                "no endpoints found that can handle the requested parameters",  # OpenRouter
            )
        ),
        # The model takes text only: vLLM, llama.cpp, OpenAI, OpenRouter, Gemini.
        *(
            (mark, _MEDIA)
            for mark in (
                "not a multimodal model",
                "image input is not supported",
                "image_url is only supported by certain models",
                "endpoints found that support image input",
                "endpoints found that support input audio",
                "unsupported mime type",
            )
        ),
        ("'loc': ('body'", Cause(InvalidRequest)),  # the same server, for every other field
        # llama.cpp, with 500: the model started a tool call without ending it, or generated no text.
        ("output that does not match the expected", Cause(ConstrainedDeadlock, "tool_use_failed")),
        ("assistant message prefill", Cause(InvalidRequest, "prefill_unsupported")),  # Anthropic, since 4.6
    ),
    context_marks=(
        "context_length_exceeded",  # OpenAI, Groq
        "context_window_exceeded",
        "exceed_context_size",  # llama.cpp
        "too_many_prompt_tokens",  # Perplexity
        "context length",  # OpenAI, DeepSeek, OpenRouter, Together, vLLM, LM Studio, Ollama
        "context window",  # OpenAI's Responses
        "context size",  # llama.cpp
        "context limit",  # Anthropic: including max_tokens
        "context the overflows",  # LM Studio
        "prompt is too long",  # Anthropic, Fireworks
        "prompt too long",  # Ollama's cloud
        "maximum prompt length",  # xAI
        "prompt exceeds max length",  # Z.ai
        "maximum number of tokens",  # Vertex
        "maximum model length",  # vLLM
        "allowed input length",  # OpenRouter
        "input length should be",  # Alibaba
        "tokens + `max_new_tokens` must be",  # Together, Hugging Face TGI
        "`inputs` must have less than",  # Hugging Face TGI
        "max tokens of",  # Snowflake
        "model token limit",  # Moonshot
        "token limit exceeded",
        "too many tokens",  # Cohere
        "input is too long",  # Bedrock
        "reduce the length of the messages",  # Groq
    ),
    form_marks=(
        "response_format",
        "response format",
        "text.format",
        "json_schema",
        "output_config",  # Anthropic
        "response_schema",  # Gemini
        "responseschema",
        "response_json_schema",
        "responsejsonschema",
        "structured output",
    ),
    vague_words={
        "authentication": _AUTH,  # OpenRouter, like all codes below without a suffix
        "authentication_error": _AUTH,
        "invalid_api_key": _AUTH,
        "unauthorized": _AUTH,
        "unauthenticated": _AUTH,
        "rate_limit_error": Cause(RateLimited),
        "rate_limit_exceeded": Cause(RateLimited),
        "rate_limit_reached_error": Cause(RateLimited),  # Moonshot
        "resource_exhausted": Cause(RateLimited),
        "slow_down": Cause(RateLimited),  # OpenAI
        "too_many_requests": Cause(RateLimited),
        "invalid_request_error": Cause(InvalidRequest),
        "invalid_argument": Cause(InvalidRequest),
        "invalid_prompt": Cause(InvalidRequest),
        "invalid_request": Cause(InvalidRequest),
        "failed_precondition": Cause(InvalidRequest),
        "not_found": _NOT_FOUND,
        "request_too_large": Cause(ContextWindowExceeded),
        "payload_too_large": Cause(ContextWindowExceeded),
        **dict.fromkeys(("timeout", "timeout_error", "deadline_exceeded"), Cause(LikelyTimeout, "upstream")),
        "api_error": _UNAVAILABLE,
        "engine_overloaded_error": _UNAVAILABLE,  # Moonshot
        "internal": _UNAVAILABLE,  # Gemini
        "internal_server_error": _UNAVAILABLE,
        "overloaded": _UNAVAILABLE,
        "overloaded_error": _UNAVAILABLE,
        "provider_overloaded": _UNAVAILABLE,
        "provider_unavailable": _UNAVAILABLE,
        "server": _UNAVAILABLE,
        "server_error": _UNAVAILABLE,
        "server_is_overloaded": _UNAVAILABLE,  # OpenAI, in a stream
        "service_unavailable": _UNAVAILABLE,
        "service_unavailable_error": _UNAVAILABLE,
        "unavailable": _UNAVAILABLE,
    },
    statuses={
        424: _UNAVAILABLE,  # Hugging Face TGI: the generation was aborted
        498: _UNAVAILABLE,  # Groq: no capacity for this service tier
    },
)
