"""Maps error responses to failure classes by status, headers and body.

The fields of error bodies and the meaning of error codes differ per API and are data (``error_rules``).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import (
    MAX_EXCERPT_CHARS,
    MAX_READ_CHARS,
    SCHEMA_REFUSED,
    AuthFailed,
    CallFailed,
    ContextWindowExceeded,
    InvalidRequest,
    LikelyTimeout,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    SafetyFiltered,
    Secrets,
    TransientUnknown,
    echoed,
    quoted,
)
from helmdeck_providers.http.error_rules import Cause, ErrorFields, ErrorRules
from helmdeck_providers.http.retry_delays import (
    delay_in_headers_s,
    delay_in_text_s,
    delay_s,
    duration_s,
    until_reset_s,
)

_RESET_HEADER = "x-ratelimit-reset"

# -- reading an error -----------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ErrorFacts:
    """The content of an error object.

    :ivar words: codes and types, in lower case.
    :ivar status: HTTP status in the body, for errors that arrive with 200.
    :ivar is_flagged: moderation stopped the request.
    :ivar retry_after_s: retry delay in the body, in seconds.
    :ivar generation: model output that the provider rejected.
    """

    message: str = ""
    words: frozenset[str] = frozenset()
    status: int | None = None
    is_flagged: bool = False
    retry_after_s: float | None = None
    generation: str = ""


_NO_RULES = ErrorRules()
_MAX_MESSAGE_CHARS = 100_000
"""What is read of a message in an error; searching a longer one would block the event loop."""


def read_error(data: object, rules: ErrorRules = _NO_RULES, *, is_refusal: bool = False) -> ErrorFacts | None:
    """Return the error in a decoded body, or ``None``.

    :param is_refusal: the status is an error, so a bare message counts as an error object.
    """
    if isinstance(data, list):  # some servers wrap the error in a list
        items = (item for item in data if not isinstance(item, list))
        return next((facts for item in items if (facts := read_error(item, rules, is_refusal=is_refusal))), None)
    if not isinstance(data, dict):
        return ErrorFacts(message=data) if is_refusal and isinstance(data, str) else None
    if data.get("error"):
        error = data["error"]
        # If the error is a string, its code is next to it.
        return _facts(error if isinstance(error, dict) else {"code": data.get("code"), "message": error}, rules.fields)
    if is_refusal or any(data.get(name) == value for name, value in rules.fields.unwrapped.items()):
        return _facts(data, rules.fields)
    return None


def _facts(error: Mapping[str, Any], fields: ErrorFields) -> ErrorFacts:
    message = next((_text(value) for value in _values(error, fields.message) if value), "")
    upstream = next((_text(value) for value in _values(error, fields.upstream)), "")
    words = _values(error, fields.words)
    return ErrorFacts(
        message=f"{message} ({upstream})" if upstream and upstream != message else message,
        words=frozenset(word.casefold() for word in words if isinstance(word, str)),
        status=next((status for value in _values(error, fields.status) if (status := _status(value))), None),
        is_flagged=any(_values(error, fields.flags)),
        retry_after_s=_delay_in_body(error, fields, message),
        generation=next((_text(value) for value in _values(error, fields.generation)), ""),
    )


def _values(error: object, paths: Iterable[str]) -> Iterator[Any]:
    """Yield the values at several paths, in the order of the paths."""
    for path in paths:
        name, _, rest = path.partition(".")
        for item in error if isinstance(error, list) else (error,):
            if isinstance(item, dict) and name in item:
                if rest:
                    yield from _values(item[name], (rest,))
                else:
                    yield item[name]


def _text(value: object) -> str:
    while isinstance(value, dict) and "message" in value:
        value = value["message"]
    return value[:_MAX_MESSAGE_CHARS] if isinstance(value, str) else "" if value is None else str(value)


def _status(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:4])
    return value if isinstance(value, int) and 400 <= value < 600 else None


def _delay_in_body(error: Mapping[str, Any], fields: ErrorFields, message: str) -> float | None:
    for delay in _values(error, fields.delays):
        if seconds := duration_s(str(delay)):
            return seconds
    tables = [each for each in _values(error, fields.upstream_headers) if isinstance(each, dict)]
    named = {str(name).casefold(): value for table in tables for name, value in table.items()}
    reset = named.get(_RESET_HEADER)
    seconds = None if reset is None else delay_s(str(reset), time.time())
    return seconds if seconds is not None else delay_in_text_s(message)


def retry_after_s(
    headers: Mapping[str, str],
    facts: ErrorFacts | None = None,
    now_s: float | None = None,
    *,
    rules: ErrorRules = _NO_RULES,
) -> float | None:
    """Return the retry delay in seconds: from the headers, else from the body.

    :param headers: names in lower case.
    :param now_s: Unix timestamp in seconds; the current time by default.
    """
    seconds = delay_in_headers_s(headers, rules.milliseconds_header, time.time() if now_s is None else now_s)
    return seconds if seconds is not None or facts is None else facts.retry_after_s


# -- failure class --------------------------------------------------------------------------------------------


_BY_STATUS: Mapping[int, Cause] = {
    401: Cause(AuthFailed),
    402: Cause(QuotaExhausted),
    403: Cause(AuthFailed, "permission"),
    404: Cause(InvalidRequest, "not_found"),
    408: Cause(LikelyTimeout, "upstream"),
    409: Cause(ProviderUnavailable),  # conflicting requests
    413: Cause(ContextWindowExceeded),
    429: Cause(RateLimited),
}
_NO_KEY = "no_key_sent"
_INVALID = (400, 422)
"""Statuses of an invalid request."""

_UNAMBIGUOUS = (401, 402, 403, 429)
"""Statuses for which a mention of the context, as in "tokens of context per minute", is ignored."""

_LIMIT = re.compile(r"\blimit:? (?P<limit>[0-9][0-9,]{0,20})\b.{0,80}?\brequested:? (?P<requested>[0-9][0-9,]{0,20})")
"""OpenAI, Groq: "Limit 30000, Requested 50000", and "Limit 30000, Used 29000, Requested 2000" where waiting helps."""


def cause_of(status: int, facts: ErrorFacts, rules: ErrorRules = _NO_RULES) -> Cause:
    """Return the cause of an error response.

    :param status: HTTP status; with 200, the status or the codes in the body are used.
    """
    if status < 300:
        status = facts.status or 0
    text = f"{' '.join(sorted(facts.words))} {facts.message[:MAX_READ_CHARS]}".casefold()
    if facts.is_flagged:
        return Cause(SafetyFiltered)
    explicit = next((cause for word, cause in rules.words.items() if word in facts.words), None)
    explicit = explicit or next((cause for mark, cause in rules.marks if mark in text), None)
    if explicit:
        return explicit
    if status not in _UNAMBIGUOUS and any(mark in text for mark in rules.context_marks):
        return Cause(ContextWindowExceeded)
    if status in _INVALID and any(mark in text for mark in rules.form_marks):
        return Cause(InvalidRequest, SCHEMA_REFUSED)
    if status:
        cause = rules.statuses.get(status) or _BY_STATUS.get(status)
        cause = cause or Cause(ProviderUnavailable if status >= 500 else InvalidRequest)
    else:
        vague = (rules.vague_words[word] for word in sorted(facts.words) if word in rules.vague_words)
        cause = next(vague, Cause(TransientUnknown))
    return Cause(ContextWindowExceeded) if cause.kind is RateLimited and _exceeds_limit(text) else cause


def _exceeds_limit(text: str) -> bool:
    """Whether a rate limit is lower than the request alone, which therefore never succeeds, however late it is repeated."""
    match = _LIMIT.search(text)
    return match is not None and int(match["requested"].replace(",", "")) > int(match["limit"].replace(",", ""))


_TRANSIENT = (RateLimited, ProviderUnavailable, LikelyTimeout, TransientUnknown)


def _with_retry_advice(cause: Cause, should_retry: str | None) -> Cause:
    """Adjust the cause to the provider's retry header."""
    if cause.sub_cause:
        return cause
    if should_retry == "false" and cause.kind in _TRANSIENT:
        return Cause(cause.kind, "not_retryable")
    return Cause(ProviderUnavailable) if should_retry == "true" and cause.kind is InvalidRequest else cause


def request_id(headers: Mapping[str, str], secrets: Iterable[str] = ()) -> str:
    """Return the provider's request id from any header with such a name; empty without one.

    :param headers: names in lower case.
    """
    value = next((value for name, value in headers.items() if name.endswith(("request-id", "requestid"))), "")
    return echoed(value, secrets)


def failure_of(
    status: int,
    headers: Mapping[str, str],
    facts: ErrorFacts,
    *,
    rules: ErrorRules = _NO_RULES,
    secrets: Iterable[str] = (),
    now_s: float | None = None,
) -> CallFailed:
    """Return the failure for an error response.

    :param headers: names in lower case.
    :param secrets: redacted in every quotation.
    """
    cause = _with_retry_advice(cause_of(status, facts, rules), headers.get(rules.retry_header))
    secrets = Secrets.of(secrets)
    is_anonymous = cause.kind is AuthFailed and not any(secrets)
    wait_s = retry_after_s(headers, facts, now_s, rules=rules)
    if wait_s is None and cause.kind is RateLimited:
        wait_s = until_reset_s(headers, time.time() if now_s is None else now_s)
    return cause.kind(
        "the provider answered with an error",
        status=status,
        request_id=request_id(headers, secrets),
        retry_after_s=wait_s,
        sub_cause=cause.sub_cause or ("error_in_200" if status < 300 else _NO_KEY if is_anonymous else ""),
        detail=quoted(facts.message, secrets),
        excerpt=quoted(facts.generation, secrets, MAX_EXCERPT_CHARS),
    )
