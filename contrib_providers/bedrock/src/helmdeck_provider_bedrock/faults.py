"""What Bedrock's errors mean: those with a status, and those that arrive as a frame after an HTTP 200."""

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
from helmdeck_provider_kit import NOT_JSON, Cause, ErrorFacts, ErrorRules, checked, decoded, failure_of, plain_text

_UNAVAILABLE = Cause(ProviderUnavailable)

_WORDS = ErrorRules(
    words={
        "modelnotreadyexception": _UNAVAILABLE,  # 429
        "modeltimeoutexception": Cause(LikelyTimeout),
        "servicequotaexceededexception": Cause(QuotaExhausted),  # 400
    },
    # A limit per day comes as throttling, and waiting some seconds does not help.
    marks=(
        ("tokens per day", Cause(QuotaExhausted)),
        ("requests per day", Cause(QuotaExhausted)),
        ("assistant message prefill", Cause(InvalidRequest, "prefill_unsupported")),
        # What the model wrote is no call: its failure, and none of the service, which has one name for both.
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


def read_body(status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = ()) -> Any:
    """Return the decoded body of an answer that is no error; one that names an error is one, whatever its status.

    :param headers: names in lower case.
    :raises CallFailed: it is an error, a redirect, or no JSON.
    """
    data = checked(status, headers, body, _WORDS, secrets) if status < 400 else decoded(body)
    fields = {name.lower(): value for name, value in data.items()} if isinstance(data, dict) else {}
    # The name may be followed by an address, or follow one.
    kind = headers.get("x-amzn-errortype") or fields.get("__type")
    if status < 400 and not kind:
        return data
    kind = kind or fields.get("code")
    facts = _facts(str(kind or ""), fields.get("message") or (plain_text(body, secrets) if data is NOT_JSON else ""))
    raise failure_of(status, headers, facts, words=_WORDS, secrets=secrets)


def exception_frame(kind: str, data: Mapping[str, Any], secrets: Iterable[str] = ()) -> CallFailed:
    """Make the failure that an exception in the stream stands for."""
    message, original = data.get("message"), data.get("originalMessage")
    text = f"{message or kind} ({original})" if original else message
    return failure_of(200, {}, _facts(kind, text), words=_WORDS, secrets=secrets)


def _facts(kind: str, message: object) -> ErrorFacts:
    name = kind.partition(":")[0].rpartition("#")[2].strip()
    return ErrorFacts(message=str(message or name), words=frozenset({name.casefold()} if name else ()))
