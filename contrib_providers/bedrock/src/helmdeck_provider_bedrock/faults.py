"""Maps Bedrock's errors to failure classes: error responses, and exception frames after HTTP 200."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from helmdeck_core import (
    CallFailed,
    ConstrainedDeadlock,
    InvalidRequest,
    LikelyTimeout,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from helmdeck_providers import NOT_JSON, Cause, ErrorFacts, ErrorRules, decode_body, decode_json, failure_of, plain_text

_UNAVAILABLE = Cause(ProviderUnavailable)

ERROR_RULES = ErrorRules(
    words={
        "modelnotreadyexception": _UNAVAILABLE,  # 429
        "modeltimeoutexception": Cause(LikelyTimeout),
        "servicequotaexceededexception": Cause(QuotaExhausted),  # 400
    },
    # A daily limit is reported as throttling, but waiting a few seconds does not help.
    marks=(
        ("tokens per day", Cause(QuotaExhausted)),
        ("requests per day", Cause(QuotaExhausted)),
        ("assistant message prefill", Cause(InvalidRequest, "prefill_unsupported")),
        # Invalid tool call of the model; the service uses the same exception for its own faults.
        ("invalid sequence as part of tooluse", Cause(ConstrainedDeadlock, "tool_use_failed")),
        ("modelerrorexception", _UNAVAILABLE),  # 424
        ("modelstreamerrorexception", _UNAVAILABLE),  # 424
    ),
    form_marks=(
        "outputconfig",
        "output_config",
        "textformat",
        "response_format",
        "json schema",
        "json_schema",
        "structured output",
        "compiled grammar",
        "grammar compilation",
        "too many optional parameters",
        "parameters with union types",
    ),
    context_marks=(
        "input tokens exceeded",
        "too many input tokens",
        "input is too long",
        "prompt is too long",
        "maximum context length",
        "context limit",
        "context window",
    ),
    vague_words={
        "internalserverexception": _UNAVAILABLE,
        "serviceunavailableexception": _UNAVAILABLE,
        "throttlingexception": Cause(RateLimited),
        "validationexception": Cause(InvalidRequest),
    },
)


def read_body(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = (), rules: ErrorRules = ERROR_RULES
) -> Any:
    """Return the decoded body of a successful response; a body that names an error is one, whatever its status.

    :param headers: names in lower case.
    :raises CallFailed: the response is an error, a redirect, or not JSON.
    """
    data = decode_body(status, headers, body, rules, secrets) if status < 400 else decode_json(body)
    fields = {name.lower(): value for name, value in data.items()} if isinstance(data, dict) else {}
    # The name may come with a URL before or after it.
    kind = headers.get("x-amzn-errortype") or fields.get("__type")
    if status < 400 and not kind:
        return data
    kind = kind or fields.get("code")
    facts = _facts(str(kind or ""), fields.get("message") or (plain_text(body, secrets) if data is NOT_JSON else ""))
    raise failure_of(status, headers, facts, rules=rules, secrets=secrets)


def exception_frame(
    kind: str, data: Mapping[str, Any], secrets: Iterable[str] = (), rules: ErrorRules = ERROR_RULES
) -> CallFailed:
    """Return the failure of an exception frame."""
    message, original = data.get("message"), data.get("originalMessage")
    text = f"{message or kind} ({original})" if original else message
    return failure_of(200, {}, _facts(kind, text), rules=rules, secrets=secrets)


def _facts(kind: str, message: object) -> ErrorFacts:
    name = kind.partition(":")[0].rpartition("#")[2].strip()
    return ErrorFacts(message=str(message or name), words=frozenset({name.casefold()} if name else ()))
