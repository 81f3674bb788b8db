"""What the finer causes of failures mean and what helps, in words. A class of failures has words of its own; these say more.

``providers.NAME`` stands for the provider's table in the configuration; a failure puts its provider's name there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from helmdeck_core.errors.attempts import FailureClass

ANY_PROVIDER = "providers.NAME"


class Advice(NamedTuple):
    """What happened, and what to do."""

    hint: str
    next_action: str


_RAN_IN_A_CIRCLE = Advice(
    "the model wrote the same thing over and over, as constrained decoding does that finds no way out",
    "bound what the schema leaves free (maxLength, maxItems), switch wants_strict_json off in the model's budget, or choose "
    "another model",
)
_ONLY_THOUGHT = Advice(
    "the model thought and gave no answer",
    "raise reasoning_headroom_tokens in the model's budget, or choose a model that does not think",
)
_NO_PREFILL = Advice(
    "the model cannot go on with an answer that it began",
    "leave the unfinished answer out and ask for the rest in words",
)
_NO_JSON_AT_ALL = Advice(
    "what answers at this address is no model server, or something stands in between, such as a login page",
    f"look at the address in {ANY_PROVIDER}.base_url, and at proxies on the way",
)
_DAMAGED = Advice(
    "the answer broke off on its way, or the server wrote it damaged",
    "try again; if it stays, look at what stands in between, and at the server's own log",
)
_IN_VAIN = Advice(
    "the provider says itself that the same request is not worth sending again",
    "choose another model or provider, or try again much later",
)

FINER: Mapping[FailureClass, Mapping[str, Advice]] = {
    FailureClass.LENGTH_TRUNCATED: {
        "empty": Advice(
            "the output limit was reached before a visible word came, as it is when everything goes into hidden reasoning",
            "raise output_tokens or reasoning_headroom_tokens in the model's budget, ask for less at once, or choose a model "
            "that does not think",
        ),
        "only_reasoning": _ONLY_THOUGHT,
        "unclosed_reasoning": _ONLY_THOUGHT,
        "reasoning_overrun": _ONLY_THOUGHT,
        "whitespace_loop": _RAN_IN_A_CIRCLE,
        "repeated_token": _RAN_IN_A_CIRCLE,
    },
    FailureClass.CONSTRAINED_DEADLOCK: {
        "cut": Advice(
            "the answer ends in the middle of a value, although nothing says that a limit was reached",
            "raise output_tokens in the model's budget, or ask for less at once (prompt variant single_pick)",
        ),
        "no_json": Advice(
            "the model answered in prose",
            "read what it says; say it in another way, or choose another model",
        ),
        "refusal": Advice(
            "the model refused in prose",
            "read what it says; ask for something else or in another way, or choose another model",
        ),
        "not_an_object": Advice(
            "the model wrote JSON, and not the object that it was asked for",
            "ask once more, or choose another model",
        ),
        "not_a_list": Advice(
            "the model wrote JSON, and not the list that it was asked for",
            "ask once more, or choose another model",
        ),
        "malformed": Advice(
            "the model wrote damaged JSON that has no single right reading",
            "ask without strict JSON (wants_strict_json in the model's budget), or choose another model",
        ),
        "too_deep": Advice(
            "the answer is nested more deeply than anything that makes sense",
            "ask once more, or choose another model",
        ),
        "wrong_shape": Advice(
            "the model answered in another shape than it was asked for, as it may where a server drops a schema without a word",
            "ask once more, or choose another model",
        ),
        "reasoning_leak": Advice(
            "far more tokens were generated than the answer holds; they went into reasoning that is not shown",
            "raise reasoning_headroom_tokens in the model's budget, or choose a model that does not think",
        ),
        "unclosed_reasoning": _ONLY_THOUGHT,
        "whitespace_loop": _RAN_IN_A_CIRCLE,
        "repeated_token": _RAN_IN_A_CIRCLE,
        "tool_call": Advice(
            "the model called a tool where the answer itself was wanted",
            "let the pack read calls (Question.read_calls), offer no tools, or choose another model",
        ),
        "tool_use_failed": Advice(
            "the model called a tool in a form that the provider refused",
            "offer fewer or simpler tools, or choose another model",
        ),
        "json_validate_failed": Advice(
            "the model wrote what the provider did not accept as the JSON that was asked for",
            "switch wants_strict_json off in the model's budget, or choose another model",
        ),
        "output_parse_failed": Advice(
            "the model wrote what the provider could not take apart into text and calls",
            "offer fewer or simpler tools, or choose another model",
        ),
    },
    FailureClass.LIKELY_TIMEOUT: {
        "empty": Advice(
            "nothing came, and nothing says why: a time limit upstream does that, and so does a server that finds out after "
            "its HTTP 200 that the prompt is too long",
            "shorten the request or the catalog (max_catalog_bytes), look at the server's own log, or choose another model",
        ),
        "empty_though_finished": Advice(
            "the model says that it finished and wrote nothing, which is what a prompt that is too much for it looks like",
            "shorten the request or the catalog (max_catalog_bytes), or choose another model",
        ),
        "only_reasoning": _ONLY_THOUGHT,
        "unclosed_reasoning": _ONLY_THOUGHT,
        "reasoning_overrun": _ONLY_THOUGHT,
        "whitespace_loop": _RAN_IN_A_CIRCLE,
        "repeated_token": _RAN_IN_A_CIRCLE,
        "upstream": Advice(
            "the provider gave the request up, because it took too long there",
            "choose a faster model, ask for less, or try again later",
        ),
        "timeout": Advice(
            "the provider took longer than it may",
            f"raise {ANY_PROVIDER}.timeout_s, choose a faster model, or ask for less",
        ),
        "pending": Advice(
            "the provider made the answer in the background, and was not done in time",
            f"raise {ANY_PROVIDER}.timeout_s and deadline_s under [recovery], or ask for less",
        ),
        "idle": Advice(
            "the stream stood still for longer than it may",
            f"try again; for a model that is silent while it thinks, raise {ANY_PROVIDER}.idle_timeout_s",
        ),
        "deadline": Advice(
            "the time of the whole call was over",
            "raise deadline_s under [recovery], choose a faster model, or ask for less",
        ),
        "deadline_share": Advice(
            "the attempt had used its share of the time, which is kept for the models that come after it",
            "raise deadline_s or attempt_share under [recovery], or put a faster model first",
        ),
    },
    FailureClass.RATE_LIMITED: {"retry_in_vain": _IN_VAIN},
    FailureClass.QUOTA_EXHAUSTED: {
        "cost_limit": Advice(
            "the request would cost more than the call may, so that it was not sent",
            "raise max_cost_usd under [recovery], shorten the request, or choose a cheaper model",
        ),
    },
    FailureClass.AUTH_FAILED: {
        "no_key": Advice(
            "there is no key that could be sent",
            f"set what {ANY_PROVIDER}.api_key refers to; `helmdeck config show` says where that is said",
        ),
        "permission": Advice(
            "the key is known, but not allowed to do this: to use this model, this region or this account",
            f"give it the permission, use another key ({ANY_PROVIDER}.api_key), or choose another model",
        ),
    },
    FailureClass.INVALID_REQUEST: {
        "not_found": Advice(
            "the provider serves no model of this name at this address",
            f"correct the name of the model, or {ANY_PROVIDER}.base_url",
        ),
        "model_id": Advice("that does not name a model", "name one as provider/model"),
        "unknown_provider": Advice(
            "the first part of a model id is the name of a provider, and there is none of this name",
            f"correct the name; a server of your own gets a name with a table [{ANY_PROVIDER}] and its `kind`",
        ),
        "misconfigured": Advice(
            "the configuration cannot be used like this",
            "correct the key that is named; `helmdeck config show` says where it was set",
        ),
        "wrong_address": Advice(
            "the address is not that of the model server",
            f"correct {ANY_PROVIDER}.base_url",
        ),
        "schema_refused": Advice(
            "the provider cannot hold a model to the schema of the request",
            "simplify the schema, or ask for json_object",
        ),
        "prefill_unsupported": _NO_PREFILL,
    },
    FailureClass.CONTEXT_WINDOW_EXCEEDED: {
        "no_room": Advice(
            "the prompt is larger than the model's budget allows, so that it was not sent",
            "shorten the request, raise input_tokens in the model's budget if its window is larger, or choose another model",
        ),
    },
    FailureClass.PROVIDER_UNAVAILABLE: {
        "unreachable": Advice(
            "nobody answers at the provider's address",
            f"see that the server runs and that {ANY_PROVIDER}.base_url is its address, or choose another provider",
        ),
        "broken_off": Advice(
            "the connection broke off in the middle",
            "try again; if it stays, look at the server's own log, and at what stands in between, such as a proxy with a time "
            "limit",
        ),
        "not_json": _NO_JSON_AT_ALL,
        "cut_body": _DAMAGED,
        "empty_body": _NO_JSON_AT_ALL,
        "retry_in_vain": _IN_VAIN,
    },
    FailureClass.TRANSIENT_UNKNOWN: {
        "no_choices": Advice(
            "the answer is JSON and holds no answer of a model",
            f"try again; if it stays, look at the address in {ANY_PROVIDER}.base_url, or choose another model",
        ),
        "wrong_shape": Advice(
            "the answer is JSON, and not in the interface that the provider was set up for",
            f"look at the address and the kind in [{ANY_PROVIDER}]",
        ),
        "too_large": Advice(
            "the answer was larger than it may be, and was not read to its end",
            f"raise {ANY_PROVIDER}.max_response_bytes, or ask for less",
        ),
        "pending": Advice(
            "the provider makes the answer in the background, and it cannot be waited for",
            "ask without background mode, or choose another model",
        ),
    },
}
"""By class and finer cause."""

WINDOW_FULL = Advice(
    "the model's context window was full before the answer was complete",
    "lower max_catalog_bytes or input_tokens in the model's budget, or choose a model with a larger window",
)
"""For an answer that was cut not by its own limit but by the window's."""
