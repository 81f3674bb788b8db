"""Maps error responses to failure classes by status, headers and body.

The fields of error bodies and the meaning of error codes differ per API and are data (``ErrorRules``).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from helmdeck_core import (
    EMPTY,
    MAX_EXCERPT_CHARS,
    MAX_READ_CHARS,
    SCHEMA_REFUSED,
    AuthFailed,
    CallFailed,
    ContextWindowExceeded,
    ErrorRuleSet,
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

MILLISECONDS_HEADER = "retry-after-ms"
"""Default header with the retry delay in milliseconds; ``ErrorRules`` can name another one."""

_RESET_HEADER = "x-ratelimit-reset"

_MAX_WAIT_S = 1e9
"""Longer delays are ignored as invalid."""

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


@attrs.frozen(kw_only=True)
class ErrorFields:
    """The fields of error objects; the defaults fit most APIs.

    Each value is a list of paths into the object, with keys joined by dots; a path applies to each item of a list.

    :ivar message: message; the first non-empty one is used.
    :ivar upstream: message of the server behind a gateway, added to the message.
    :ivar words: codes and types.
    :ivar status: HTTP status in the body, for errors that arrive with 200.
    :ivar flags: true or non-empty if moderation stopped the request.
    :ivar delays: retry delay as a duration such as ``30s``.
    :ivar upstream_headers: objects with the headers of the server behind a gateway.
    :ivar generation: model output that the provider rejected.
    :ivar unwrapped: fields and values that identify a body as an error object without ``error`` around it.
    """

    message: Sequence[str] = ("message", "detail", "error", "title")
    upstream: Sequence[str] = ()
    words: Sequence[str] = ("code", "type", "status", "error_type")
    status: Sequence[str] = ("code", "status", "status_code")
    flags: Sequence[str] = ()
    delays: Sequence[str] = ()
    upstream_headers: Sequence[str] = ()
    generation: Sequence[str] = ()
    unwrapped: Mapping[str, str] = EMPTY


@attrs.frozen
class Cause:
    """A failure class and an optional sub-cause."""

    kind: type[CallFailed]
    sub_cause: str = ""


@attrs.frozen(kw_only=True)
class ErrorRules(ErrorRuleSet):
    """Rules that map error responses to failure classes, as data; codes and phrases in lower case.

    Each wire format has rules; plugins add rules for named providers with the hook ``helmdeck_error_rules``.

    :ivar fields: fields of error objects.
    :ivar words: codes and types that apply to every status.
    :ivar marks: phrases in the codes or the message; the first match applies.
    :ivar context_marks: phrases for a prompt that is too long; ignored for unambiguous statuses such as 429.
    :ivar form_marks: names of request fields that constrain the response. If a rejected request's error contains one,
        the constraint was rejected: the same request without it may succeed.
    :ivar vague_words: codes and types that apply only without an error status, in a body that arrived with 200.
    :ivar statuses: HTTP statuses with a special meaning.
    :ivar retry_header: header with ``true`` or ``false`` for whether a retry can succeed; empty for none.
    :ivar milliseconds_header: header with the retry delay in milliseconds; overrides ``Retry-After``.
    """

    fields: ErrorFields = ErrorFields()
    words: Mapping[str, Cause] = EMPTY
    marks: Sequence[tuple[str, Cause]] = ()
    context_marks: Sequence[str] = ()
    form_marks: Sequence[str] = ()
    vague_words: Mapping[str, Cause] = EMPTY
    statuses: Mapping[int, Cause] = attrs.field(factory=dict)
    retry_header: str = ""
    milliseconds_header: str = MILLISECONDS_HEADER


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


# -- retry delay ----------------------------------------------------------------------------------------------

_DURATION = (
    r"(?:(?P<d>[0-9]{1,9}) ?d)?(?:(?P<h>[0-9]{1,9}) ?h)?(?:(?P<m>[0-9]{1,9}) ?m(?!s|on|illi))?"
    r"(?:(?P<s>[0-9]{1,9}(?:\.[0-9]{1,30})?) ?(?P<unit>ms|s))?"
)
_AGAIN_IN = re.compile(rf"(?i)(?:try again|retry) (?:in|after) {_DURATION}")
_BARE = re.compile(_DURATION, re.IGNORECASE)
_SECONDS_OF = {"d": 86_400, "h": 3_600, "m": 60}
_FIRST_EPOCH_S, _FIRST_EPOCH_MS = 1e9, 1e11
"""From these values on, a number is a Unix timestamp instead of a delay, in seconds or in milliseconds."""


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
    milliseconds = _number(headers.get(rules.milliseconds_header))
    if milliseconds is not None and (seconds := _wait(milliseconds / 1000)) is not None:
        return seconds
    seconds = _from_now_s(headers.get("retry-after", ""), time.time() if now_s is None else now_s)
    return seconds if seconds is not None or facts is None else facts.retry_after_s


def _wait(seconds: float | None) -> float | None:
    """Return a valid delay, or ``None``."""
    return seconds if seconds is not None and 0 <= seconds <= _MAX_WAIT_S else None


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # any value may be a number
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until_date(value: str, now_s: float) -> float | None:
    from email.utils import parsedate_to_datetime

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(value)
            # Without a time zone it is UTC.
            return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now_s)
        except (ValueError, OverflowError):
            continue
    return None


def _delay_in_body(error: Mapping[str, Any], fields: ErrorFields, message: str) -> float | None:
    for delay in _values(error, fields.delays):
        if seconds := _duration(_BARE.fullmatch(str(delay))):
            return seconds
    tables = [each for each in _values(error, fields.upstream_headers) if isinstance(each, dict)]
    named = {str(name).casefold(): value for table in tables for name, value in table.items()}
    reset = named.get(_RESET_HEADER)
    seconds = None if reset is None else _from_now_s(str(reset), time.time())
    return seconds if seconds is not None else _duration(_AGAIN_IN.search(message))


def _duration(match: re.Match[str] | None) -> float | None:
    if match is None or not any(match[name] for name in "dhms"):
        return None
    seconds = float(match["s"] or 0) / (1000 if (match["unit"] or "").lower() == "ms" else 1)
    return _wait(sum(int(match[name] or 0) * length for name, length in _SECONDS_OF.items()) + seconds)


def _until_reset(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the time until the exhausted rate limit resets, or ``None``.

    Rate limits are pairs of headers, such as ``x-ratelimit-remaining-tokens`` and ``x-ratelimit-reset-tokens``.
    """
    waits = [
        _from_now_s(value, now_s)
        for name, value in headers.items()
        if "ratelimit" in name and "reset" in name and _number(headers.get(name.replace("reset", "remaining"))) == 0
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _from_now_s(value: str, now_s: float) -> float | None:
    """Return a header as seconds from now: a number, a duration such as ``6m0s``, a Unix timestamp or a date."""
    number = _number(value)
    if number is not None:
        if number < _FIRST_EPOCH_S:
            return _wait(number)
        return _wait(max(0.0, number / (1000 if number >= _FIRST_EPOCH_MS else 1) - now_s))
    seconds = _duration(_BARE.fullmatch(value.strip()))
    return seconds if seconds is not None or not value else _wait(_until_date(value, now_s))


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
    if not status:
        vague = (rules.vague_words[word] for word in sorted(facts.words) if word in rules.vague_words)
        return next(vague, Cause(TransientUnknown))
    cause = rules.statuses.get(status) or _BY_STATUS.get(status)
    return cause or Cause(ProviderUnavailable if status >= 500 else InvalidRequest)


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
        wait_s = _until_reset(headers, time.time() if now_s is None else now_s)
    return cause.kind(
        "the provider answered with an error",
        status=status,
        request_id=request_id(headers, secrets),
        retry_after_s=wait_s,
        sub_cause=cause.sub_cause or ("error_in_200" if status < 300 else _NO_KEY if is_anonymous else ""),
        detail=quoted(facts.message, secrets),
        excerpt=quoted(facts.generation, secrets, MAX_EXCERPT_CHARS),
    )
