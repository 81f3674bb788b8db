"""What a refused or broken call means: status, headers and error body become one of the failure classes.

Shared by adapters that speak HTTP. Whatever a provider says is quoted only after secrets were taken out, and bounded.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ConstrainedDeadlock,
    ContextWindowExceeded,
    InvalidRequest,
    LikelyTimeout,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    SafetyFiltered,
    TransientUnknown,
)

MAX_DETAIL_CHARS = 300
MAX_EXCERPT_CHARS = 200
MAX_ECHO_CHARS = 200
_MAX_READ_CHARS = 4_000
"""More of an error text than this is not even looked at."""
_MIN_TELLING_CHARS = 4
"""Fewer characters of a secret than this say nothing."""
_MAX_WAIT_S = 1e9
"""Whoever asks to wait for decades is mistaken."""

# -- quoting --------------------------------------------------------------------------------------------------

_SECRET_SHAPES = (
    re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"),
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|nvapi|hf|r8|fw)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}"),
    re.compile(r"(?i)\b(?:api[ _-]?key|authorization|access[ _-]?token)\b[^:=\n]{0,12}[:=]\s*\"?[^\s\"',;}]+"),
)
_HIDDEN = "[redacted]"


def redacted(text: str, secrets: Iterable[str], limit: int) -> str:
    """Return what the first ``limit`` characters say without the secrets, also without one that the limit cuts in two.

    Takes no longer for a text of any length: only the limit and one secret more are looked at.
    """
    secrets = tuple(filter(None, secrets))
    window = text[: limit + max(map(len, secrets), default=0)]
    # Found one by one and laid over each other, so that what two of them share hides neither.
    places = sorted((start, start + len(secret)) for secret in secrets for start in _places(window, secret))
    parts, end = [], 0
    for start, stop in places:
        if start >= limit:
            break
        if start >= end:
            parts += [window[end:start], _HIDDEN]
        end = max(end, stop)
    rest = window[end:limit]
    return "".join(parts) + (without_cut_secret(rest, secrets) if len(text) > limit else rest)


def _places(text: str, part: str, start: int = 0) -> Iterator[int]:
    while (start := text.find(part, start)) >= 0:
        yield start
        start += 1


def without_cut_secret(text: str, secrets: Iterable[str]) -> str:
    """Return a text that was cut without its end, if that is how a secret begins."""
    secrets = [secret for secret in secrets if len(secret) >= _MIN_TELLING_CHARS]
    while True:
        beginnings = (
            start
            for secret in secrets
            for start in _places(text, secret[:_MIN_TELLING_CHARS], max(0, len(text) - len(secret)))
            if secret.startswith(text[start:])
        )
        start = min(beginnings, default=None)
        if start is None:
            return text
        text = text[:start].rstrip()  # what now stands at the end may be another one


def quoted(text: str, secrets: Iterable[str] = (), limit: int = MAX_DETAIL_CHARS) -> str:
    """Return text that is safe to show: no secret, no control character, one line, at most ``limit`` characters."""
    secrets = tuple(secrets)
    # Secrets go before anything is cut and before blanks become fewer, so that no half of one can stay.
    text = redacted(text, secrets, _MAX_READ_CHARS)
    for shape in _SECRET_SHAPES:
        text = shape.sub(_HIDDEN, text)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    # A secret with blanks in it may have come with other ones.
    line = redacted(line, [" ".join(secret.split()) for secret in secrets if " " in secret], _MAX_READ_CHARS)
    if len(line) > limit:
        return without_cut_secret(line[: limit - 1], secrets) + "…"
    # Whoever sent the text may have cut it as well.
    return without_cut_secret(line, secrets)


def echoed(word: str, secrets: Iterable[str] = ()) -> str:
    """Return a short field of an answer as it came, bounded and without secrets.

    Nothing is guessed from its shape, because the name of a model may look like a key.
    """
    clean = redacted(word, secrets, MAX_ECHO_CHARS)
    return clean if max(len(word), len(clean)) <= MAX_ECHO_CHARS else clean[: MAX_ECHO_CHARS - 1] + "…"


def plain_text(body: bytes, secrets: Iterable[str] = ()) -> str:
    """What the beginning of a body that is not JSON says: the title of a page, or its text without tags."""
    secrets = tuple(secrets)
    window = _MAX_READ_CHARS + max(map(len, secrets), default=0)
    text = redacted(body[:window].decode("utf-8", "replace"), secrets, _MAX_READ_CHARS)
    if len(body) > window:  # of characters that take several bytes, fewer than the limit are there
        text = without_cut_secret(text, secrets)
    title = re.search(r"(?i)<title[^>]*>([^<]*)", text)
    return title[1].strip() if title else re.sub(r"<[^>]*>", " ", text).strip()


# -- reading an error -----------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ErrorFacts:
    """What an error object says.

    :ivar words: its codes and types, in lower case.
    :ivar status: an HTTP status that stands in the body, for errors that arrive with 200.
    :ivar is_flagged: the object says that a moderation stopped the request.
    :ivar retry_after_s: when to come back, where the body says so.
    :ivar generation: what the model wrote and the provider refused.
    """

    message: str = ""
    words: frozenset[str] = frozenset()
    status: int | None = None
    is_flagged: bool = False
    retry_after_s: float | None = None
    generation: str = ""


def read_error(data: object, *, is_refusal: bool = False) -> ErrorFacts | None:
    """Find the error in a decoded body; ``None`` when it holds none.

    :param is_refusal: the status already says that this is an error, so a bare message counts as one.
    """
    if isinstance(data, list):  # Google's compatible route wraps its error in a list
        items = (item for item in data if not isinstance(item, list))
        return next((facts for item in items if (facts := read_error(item, is_refusal=is_refusal))), None)
    if not isinstance(data, dict):
        return ErrorFacts(message=data) if is_refusal and isinstance(data, str) else None
    if data.get("error"):
        return _facts(data["error"])
    if is_refusal or data.get("object") == "error":  # the latter: older vLLM and Mistral
        return _facts(data)
    return None


def _facts(error: object) -> ErrorFacts:
    if not isinstance(error, dict):
        return ErrorFacts(message=str(error))
    metadata = _table(error.get("metadata"))
    inner = _table(error.get("innererror"))
    message = next((_text(error[key]) for key in ("message", "detail", "error", "title") if error.get(key)), "")
    upstream = _text(metadata.get("raw"))
    words = (error.get("code"), error.get("type"), error.get("status"), inner.get("code"))
    return ErrorFacts(
        message=f"{message} ({upstream})" if upstream and upstream != message else message,
        words=frozenset(word.casefold() for word in words if isinstance(word, str)),
        status=next((found for key in ("code", "status", "status_code") if (found := _status(error.get(key)))), None),
        is_flagged=bool(metadata.get("flagged_input") or metadata.get("reasons")),
        retry_after_s=_delay_in_body(error, metadata, message),
        generation=_text(error.get("failed_generation")),
    )


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    while isinstance(value, dict) and "message" in value:
        value = value["message"]
    return "" if value is None else str(value)


def _status(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:4])
    return value if isinstance(value, int) and 400 <= value < 600 else None


# -- how long to wait -----------------------------------------------------------------------------------------

_DURATION = r"(?:(?P<m>[0-9]{1,9}) ?m(?!s))?(?:(?P<s>[0-9]{1,9}(?:\.[0-9]{1,30})?) ?(?P<unit>ms|s))?"
_AGAIN_IN = re.compile(rf"(?i)(?:try again|retry) (?:in|after) {_DURATION}")
_BARE = re.compile(_DURATION)


def retry_after_s(
    headers: Mapping[str, str], facts: ErrorFacts | None = None, now_s: float | None = None
) -> float | None:
    """Return how long the provider asks to wait, in seconds: from the headers, else from the body.

    :param headers: names in lower case.
    :param now_s: the time of day, seconds since 1970; the clock's by default.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None and (seconds := _wait(milliseconds / 1000)) is not None:
        return seconds
    value = headers.get("retry-after", "")
    seconds = _wait(_number(value))
    if seconds is None and value:
        seconds = _wait(_until_date(value, time.time() if now_s is None else now_s))
    return seconds if seconds is not None or facts is None else facts.retry_after_s


def _wait(seconds: float | None) -> float | None:
    """What can be waited for; ``None`` for anything else."""
    return seconds if seconds is not None and 0 <= seconds <= _MAX_WAIT_S else None


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever it is, it either reads as a number or does not
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until_date(value: str, now_s: float) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now_s)
    except (ValueError, OverflowError):
        return None


def _delay_in_body(error: Mapping[str, Any], metadata: Mapping[str, Any], message: str) -> float | None:
    for item in error.get("details") or () if isinstance(error.get("details"), list) else ():
        if isinstance(item, dict) and (found := _duration(_BARE.fullmatch(str(item.get("retryDelay"))))):
            return found
    named = {str(name).casefold(): value for name, value in _table(metadata.get("headers")).items()}
    reset_ms = _number(named.get("x-ratelimit-reset"))  # OpenRouter: milliseconds since 1970
    if reset_ms is not None:
        return _wait(max(0.0, reset_ms / 1000 - time.time()))
    return _duration(_AGAIN_IN.search(message))


def _duration(match: re.Match[str] | None) -> float | None:
    if match is None or not (match["m"] or match["s"]):
        return None
    seconds = float(match["s"] or 0) / (1000 if match["unit"] == "ms" else 1)
    return _wait(int(match["m"] or 0) * 60 + seconds)


# -- the class of a failure -----------------------------------------------------------------------------------

_CONTEXT_MARKS = (
    "context_length_exceeded",  # OpenAI, Groq
    "context_window_exceeded",
    "exceed_context_size",  # llama.cpp
    "too_many_prompt_tokens",  # Perplexity
    "maximum context length",  # OpenAI, DeepSeek, OpenRouter, vLLM
    "max context length",  # Ollama cloud
    "prompt is too long",  # Anthropic
    "prompt too long",
    "maximum prompt length",  # xAI
    "maximum number of tokens",  # Vertex
    "maximum model length",  # vLLM
    "available context size",  # llama.cpp
    "greater than the context length",  # LM Studio
    "context window",
    "model token limit",  # Moonshot
    "too many tokens",  # Cohere
    "input is too long",  # Bedrock
    "reduce the length of the messages",  # Groq
)
_SAFETY_WORDS = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "moderation_blocked",
        "data_inspection_failed",
        "bio_policy",
        "cyber_policy",
    }
)
_QUOTA_WORDS = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits", "billing_error"}
)
_QUOTA_MARKS = ("insufficient balance", "insufficient credits", "credit balance is too low")
_MODEL_FAULTS = ("tool_use_failed", "json_validate_failed")
"""Groq's words for an answer that the model got wrong: a 400 in name only."""

_BY_WORD: Mapping[str, type[CallFailed]] = {
    "authentication_error": AuthFailed,
    "invalid_api_key": AuthFailed,
    "permission_error": AuthFailed,
    "unauthorized": AuthFailed,
    "rate_limit_error": RateLimited,
    "rate_limit_exceeded": RateLimited,
    "resource_exhausted": RateLimited,
    "too_many_requests": RateLimited,
    "invalid_request_error": InvalidRequest,
    "invalid_argument": InvalidRequest,
    "model_not_found": InvalidRequest,
    "not_found_error": InvalidRequest,
    "api_error": ProviderUnavailable,
    "internal_server_error": ProviderUnavailable,
    "overloaded": ProviderUnavailable,
    "overloaded_error": ProviderUnavailable,
    "server_error": ProviderUnavailable,
    "service_unavailable": ProviderUnavailable,
}
"""For errors without any status, in a body that came with 200."""

_BY_STATUS: Mapping[int, type[CallFailed]] = {
    401: AuthFailed,
    402: QuotaExhausted,
    403: AuthFailed,
    408: LikelyTimeout,
    413: ContextWindowExceeded,
    429: RateLimited,
    498: ProviderUnavailable,  # Groq: no capacity for this service tier
}
_SPEAKS_FOR_ITSELF = (401, 402, 403, 429)
"""With these a mention of the context, as in "tokens of context per minute", changes nothing."""


def failure_class(status: int, facts: ErrorFacts) -> type[CallFailed]:
    """The class of an error answer.

    :param status: of HTTP; with 200 the body's own status or words decide.
    """
    if status < 300:
        status = facts.status or 0
    text = f"{' '.join(sorted(facts.words))} {facts.message[:_MAX_READ_CHARS]}".casefold()
    if facts.words & _QUOTA_WORDS or any(mark in text for mark in _QUOTA_MARKS):
        return QuotaExhausted
    if facts.words & _SAFETY_WORDS or facts.is_flagged:
        return SafetyFiltered
    if facts.words.intersection(_MODEL_FAULTS):
        return ConstrainedDeadlock
    if status not in _SPEAKS_FOR_ITSELF and any(mark in text for mark in _CONTEXT_MARKS):
        return ContextWindowExceeded
    if not status:
        return next((_BY_WORD[word] for word in sorted(facts.words) if word in _BY_WORD), TransientUnknown)
    return _BY_STATUS.get(status) or (ProviderUnavailable if status >= 500 else InvalidRequest)


def failure_of(
    status: int,
    headers: Mapping[str, str],
    facts: ErrorFacts,
    *,
    secrets: Iterable[str] = (),
    now_s: float | None = None,
) -> CallFailed:
    """Make the failure that an error answer stands for.

    :param headers: names in lower case.
    """
    kind = failure_class(status, facts)
    secrets = tuple(secrets)
    return kind(
        "the provider answered with an error",
        status=status,
        retry_after_s=retry_after_s(headers, facts, now_s),
        sub_cause="error_in_200" if status < 300 else next(iter(facts.words.intersection(_MODEL_FAULTS)), ""),
        detail=quoted(facts.message, secrets),
        excerpt=quoted(facts.generation, secrets, MAX_EXCERPT_CHARS),
    )
