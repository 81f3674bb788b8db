"""What the sub-causes of failures mean and what to do about them. Sub-causes that are not listed use the hint of their class.

``providers.NAME`` stands for the provider's table in the configuration; a failure inserts the name of its provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from helmdeck_core.errors.causes import FailureClass

ANY_PROVIDER = "providers.NAME"


class Advice(NamedTuple):
    """What happened, and what to do."""

    hint: str
    next_action: str


_REPETITION = Advice(
    "the model repeated itself endlessly, which constrained decoding can cause",
    "bound the free parts of the schema (maxLength, maxItems), turn off wants_strict_json in the model's budget, or choose "
    "another model",
)
_ONLY_REASONING = Advice(
    "the response contains reasoning but no answer",
    "raise reasoning_headroom_tokens in the model's budget, or choose a model without reasoning",
)
_NO_PREFILL = Advice(
    "the model does not support prefill (a partial answer as the last message)",
    "remove the partial answer and request the rest in the prompt",
)
_NOT_A_MODEL_SERVER = Advice(
    "the URL is not that of a model server, or a proxy or login page answered instead",
    f"check {ANY_PROVIDER}.base_url and any proxies",
)
_MALFORMED_BODY = Advice(
    "the response body is truncated or malformed",
    "retry; if the failure persists, check proxies and the server's log",
)
_NOT_RETRYABLE = Advice(
    "the provider marked the request as not retryable",
    "choose another model or provider, or retry much later",
)
_ASK_AGAIN = "retry, or choose another model"
NO_STRICT_JSON = "turn off strict JSON (wants_strict_json in the model's budget), or choose another model"
_SHORTER_PROMPT = "shorten the request or the catalog (max_catalog_bytes), or choose another model"
_FEWER_TOOLS = "offer fewer or simpler tools, or choose another model"

SUB_CAUSE_ADVICE: Mapping[FailureClass, Mapping[str, Advice]] = {
    FailureClass.LENGTH_TRUNCATED: {
        "empty": Advice(
            "the output limit was reached before any visible text, usually because of hidden reasoning",
            "raise output_tokens or reasoning_headroom_tokens in the model's budget, request less at once, or choose a model "
            "without reasoning",
        ),
        "only_reasoning": _ONLY_REASONING,
        "unclosed_reasoning": _ONLY_REASONING,
        "reasoning_overrun": _ONLY_REASONING,
        "whitespace_loop": _REPETITION,
        "repeated_token": _REPETITION,
    },
    FailureClass.CONSTRAINED_DEADLOCK: {
        "cut": Advice(
            "the answer ends inside a value, although no limit was reported",
            "raise output_tokens in the model's budget, or request less at once (prompt variant single_pick)",
        ),
        "no_json": Advice(
            "the model answered in prose instead of JSON", "read the answer, then rephrase or choose another model"
        ),
        "refusal": Advice(
            "the model refused the request in prose", "read the answer, then change the request or choose another model"
        ),
        "not_an_object": Advice("the JSON is not the requested object", _ASK_AGAIN),
        "not_a_list": Advice("the JSON is not the requested list", _ASK_AGAIN),
        "malformed": Advice("the JSON is malformed and cannot be repaired unambiguously", NO_STRICT_JSON),
        "too_deep": Advice("the answer is nested too deeply", _ASK_AGAIN),
        "wrong_shape": Advice(
            "the answer does not have the requested shape; some servers silently ignore a schema", _ASK_AGAIN
        ),
        "reasoning_leak": Advice(
            "the model generated far more tokens than the answer contains; the rest is hidden reasoning",
            "raise reasoning_headroom_tokens in the model's budget, or choose a model without reasoning",
        ),
        "unclosed_reasoning": _ONLY_REASONING,
        "whitespace_loop": _REPETITION,
        "repeated_token": _REPETITION,
        "tool_call": Advice(
            "the model called a tool instead of answering",
            "let the pack read calls (Question.read_calls), offer no tools, or choose another model",
        ),
        "tool_use_failed": Advice("the provider rejected the format of the model's tool call", _FEWER_TOOLS),
        "json_validate_failed": Advice("the provider rejected the model's output as invalid JSON", NO_STRICT_JSON),
        "output_parse_failed": Advice("the provider could not parse the model's output", _FEWER_TOOLS),
    },
    FailureClass.LIKELY_TIMEOUT: {
        "empty": Advice(
            "the response is empty and has no stop reason: usually an upstream timeout, or a server that found the prompt too "
            "long after it had sent HTTP 200",
            "shorten the request or the catalog (max_catalog_bytes), check the server's log, or choose another model",
        ),
        "empty_though_finished": Advice(
            "the model finished without writing anything, usually because the prompt is too large for it",
            _SHORTER_PROMPT,
        ),
        "only_reasoning": _ONLY_REASONING,
        "unclosed_reasoning": _ONLY_REASONING,
        "reasoning_overrun": _ONLY_REASONING,
        "whitespace_loop": _REPETITION,
        "repeated_token": _REPETITION,
        "upstream": Advice(
            "the provider's own timeout was exceeded", "choose a faster model, request less, or retry later"
        ),
        "timeout": Advice(
            "the request timeout was exceeded",
            f"raise {ANY_PROVIDER}.timeout_s, choose a faster model, or request less",
        ),
        "pending": Advice(
            "the background response was not ready in time",
            f"raise {ANY_PROVIDER}.timeout_s and deadline_s under [recovery], or request less",
        ),
        "idle": Advice(
            "the idle timeout of the stream was exceeded",
            f"retry; for a model that streams nothing while it reasons, raise {ANY_PROVIDER}.idle_timeout_s",
        ),
        "first_token": Advice(
            "the model sent no first token in time: it hangs, is overloaded, or streams nothing while it reasons",
            f"raise {ANY_PROVIDER}.first_token_timeout_s, or that of the model's budget",
        ),
        "deadline": Advice(
            "the deadline of the call was exceeded",
            "raise deadline_s under [recovery], choose a faster model, or request less",
        ),
        "deadline_share": Advice(
            "the attempt used up its share of the deadline; the rest is reserved for the fallback models",
            "raise deadline_s or attempt_share under [recovery], or put a faster model first",
        ),
    },
    FailureClass.RATE_LIMITED: {"not_retryable": _NOT_RETRYABLE},
    FailureClass.QUOTA_EXHAUSTED: {
        "cost_limit": Advice(
            "the request was not sent: its estimated cost exceeds the cost limit of the call",
            "raise max_cost_usd under [recovery], shorten the request, or choose a cheaper model",
        ),
    },
    FailureClass.AUTH_FAILED: {
        "no_key": Advice(
            "no API key is configured, or it cannot be read",
            f"set what {ANY_PROVIDER}.api_key refers to; `helmdeck config show` shows where it is configured",
        ),
        "permission": Advice(
            "the key is valid but lacks permission for this model, region or account",
            f"grant the permission, use another key ({ANY_PROVIDER}.api_key), or choose another model",
        ),
    },
    FailureClass.INVALID_REQUEST: {
        "not_found": Advice(
            "the provider has no model of this name at this URL", f"correct the model name or {ANY_PROVIDER}.base_url"
        ),
        "model_id": Advice("not a model id", "use the form provider/model"),
        "unknown_provider": Advice(
            "the first part of a model id is the name of a provider, and no provider has this name",
            f"correct the name; for a server of your own, add a table [{ANY_PROVIDER}] with its `kind`",
        ),
        "misconfigured": Advice(
            "the configuration is invalid",
            "correct the named key; `helmdeck config show` shows where it is set",
        ),
        "wrong_address": Advice("the URL is not that of the model server", f"correct {ANY_PROVIDER}.base_url"),
        "schema_refused": Advice(
            "the provider does not support the schema of the request", "simplify the schema, or use json_object"
        ),
        "prefill_unsupported": _NO_PREFILL,
    },
    FailureClass.CONTEXT_WINDOW_EXCEEDED: {
        "no_room": Advice(
            "the request was not sent: the prompt exceeds the model's budget",
            "shorten the request, raise input_tokens in the model's budget if its context window is larger, or choose another "
            "model",
        ),
    },
    FailureClass.PROVIDER_UNAVAILABLE: {
        "unreachable": Advice(
            "the server did not accept a connection",
            f"check that the server is running and that {ANY_PROVIDER}.base_url is its URL, or choose another provider",
        ),
        "disconnected": Advice(
            "the connection was closed in the middle of the response",
            "retry; if the failure persists, check the server's log and the timeouts of any proxy",
        ),
        "not_json": _NOT_A_MODEL_SERVER,
        "cut_body": _MALFORMED_BODY,
        "empty_body": _NOT_A_MODEL_SERVER,
        "not_retryable": _NOT_RETRYABLE,
    },
    FailureClass.TRANSIENT_UNKNOWN: {
        "no_choices": Advice(
            "the response is JSON but contains no answer",
            f"retry; if the failure persists, check {ANY_PROVIDER}.base_url, or choose another model",
        ),
        "wrong_shape": Advice(
            "the response is JSON but not in the wire format that the provider is configured for",
            f"check the base_url and kind in [{ANY_PROVIDER}]",
        ),
        "too_large": Advice(
            "the response exceeded the size limit and was not read to the end",
            f"raise {ANY_PROVIDER}.max_response_bytes, or request less",
        ),
        "pending": Advice(
            "the response is created in the background and cannot be polled",
            "turn off background mode, or choose another model",
        ),
    },
}
"""Hints and next actions by class and sub-cause."""

WINDOW_FULL = Advice(
    "the model's context window was full before the answer was complete",
    "lower max_catalog_bytes or input_tokens in the model's budget, or choose a model with a larger context window",
)
"""For an answer that was truncated by the context window, not by its output limit."""
