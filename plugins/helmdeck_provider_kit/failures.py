"""What a refused or broken call means: status, headers and error body become one of the failure classes.

What the words of an error mean differs from family to family, and comes from the adapter as data (``ErrorRules``).
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
    TransientUnknown,
)
from helmdeck_core.redaction import MAX_EXCERPT_CHARS, MAX_READ_CHARS, Secrets, echoed, quoted

_MAX_WAIT_S = 1e9
"""Whoever asks to wait for decades is mistaken."""

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
    if isinstance(data, list):  # some wrap their error in a list
        items = (item for item in data if not isinstance(item, list))
        return next((facts for item in items if (facts := read_error(item, is_refusal=is_refusal))), None)
    if not isinstance(data, dict):
        return ErrorFacts(message=data) if is_refusal and isinstance(data, str) else None
    if data.get("error"):
        error = data["error"]
        # Where the error is a bare sentence, its code stands beside it.
        return _facts(error if isinstance(error, dict) else {"code": data.get("code"), "message": error})
    if is_refusal or data.get("object") == "error":  # the latter: an error that is not wrapped
        return _facts(data)
    return None


def _facts(error: Mapping[str, Any]) -> ErrorFacts:
    metadata = _table(error.get("metadata"))
    inner = _table(error.get("innererror"))
    message = next((_text(error[key]) for key in ("message", "detail", "error", "title") if error.get(key)), "")
    upstream = _text(metadata.get("raw"))
    words = (
        *(error.get(key) for key in ("code", "type", "status", "error_type")),
        inner.get("code"),
        metadata.get("error_type"),
        *_detailed(error),
    )
    return ErrorFacts(
        message=f"{message} ({upstream})" if upstream and upstream != message else message,
        words=frozenset(word.casefold() for word in words if isinstance(word, str)),
        status=next((found for key in ("code", "status", "status_code") if (found := _status(error.get(key)))), None),
        is_flagged=bool(metadata.get("flagged_input") or metadata.get("reasons")),
        retry_after_s=_delay_in_body(error, metadata, message),
        generation=_text(error.get("failed_generation")),
    )


def _detailed(error: Mapping[str, Any]) -> Iterator[object]:
    """The words of a list of details: reasons, and the names of quotas that are used up."""
    for detail in _rows(error.get("details")):
        yield detail.get("reason")
        yield from (violation.get("quotaId") for violation in _rows(detail.get("violations")))


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


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

_DURATION = (
    r"(?:(?P<d>[0-9]{1,9}) ?d)?(?:(?P<h>[0-9]{1,9}) ?h)?(?:(?P<m>[0-9]{1,9}) ?m(?!s|on|illi))?"
    r"(?:(?P<s>[0-9]{1,9}(?:\.[0-9]{1,30})?) ?(?P<unit>ms|s))?"
)
_AGAIN_IN = re.compile(rf"(?i)(?:try again|retry) (?:in|after) {_DURATION}")
_BARE = re.compile(_DURATION, re.IGNORECASE)
_SECONDS_OF = {"d": 86_400, "h": 3_600, "m": 60}
_FIRST_EPOCH_S, _FIRST_EPOCH_MS = 1e9, 1e11
"""From here on a bare number is a time since 1970 and no time to wait: in seconds, in milliseconds."""


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
    seconds = _from_now_s(headers.get("retry-after", ""), time.time() if now_s is None else now_s)
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

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(value)
            # Without a zone, what is meant is that of Greenwich.
            return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now_s)
        except (ValueError, OverflowError):
            continue
    return None


def _delay_in_body(error: Mapping[str, Any], metadata: Mapping[str, Any], message: str) -> float | None:
    for item in _rows(error.get("details")):
        if found := _duration(_BARE.fullmatch(str(item.get("retryDelay")))):
            return found
    named = {str(name).casefold(): value for name, value in _table(metadata.get("headers")).items()}
    reset = named.get("x-ratelimit-reset")
    found = None if reset is None else _from_now_s(str(reset), time.time())
    return found if found is not None else _duration(_AGAIN_IN.search(message))


def _duration(match: re.Match[str] | None) -> float | None:
    if match is None or not any(match[name] for name in "dhms"):
        return None
    seconds = float(match["s"] or 0) / (1000 if (match["unit"] or "").lower() == "ms" else 1)
    return _wait(sum(int(match[name] or 0) * length for name, length in _SECONDS_OF.items()) + seconds)


def _until_reset(headers: Mapping[str, str], now_s: float) -> float | None:
    """Until the limit that is used up is filled again; ``None`` where no header says that one is.

    Limits stand in pairs of headers, such as ``x-ratelimit-remaining-tokens`` and ``x-ratelimit-reset-tokens``.
    """
    waits = [
        _from_now_s(value, now_s)
        for name, value in headers.items()
        if "ratelimit" in name and "reset" in name and _number(headers.get(name.replace("reset", "remaining"))) == 0
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _from_now_s(value: str, now_s: float) -> float | None:
    """What a header says about when, in seconds from now: a number, a duration such as ``6m0s``, a time since 1970, a date."""
    number = _number(value)
    if number is not None:
        if number < _FIRST_EPOCH_S:
            return _wait(number)
        return _wait(max(0.0, number / (1000 if number >= _FIRST_EPOCH_MS else 1) - now_s))
    found = _duration(_BARE.fullmatch(value.strip()))
    return found if found is not None or not value else _wait(_until_date(value, now_s))


# -- the class of a failure -----------------------------------------------------------------------------------


@attrs.frozen
class Cause:
    """A failure class, and the finer cause under it where there is one."""

    kind: type[CallFailed]
    sub_cause: str = ""


@attrs.frozen(kw_only=True)
class ErrorRules(ErrorRuleSet):
    """Rules that map error responses to failure classes, as data; all strings in lower case.

    A wire format has its own rules; a plugin adds some for named providers with the hook ``helmdeck_error_rules``.

    :ivar words: codes and types that decide, whatever the status is.
    :ivar marks: phrases that decide, wherever in the error they stand; the first one that is found counts.
    :ivar context_marks: phrases that say that the prompt is too long; they decide unless the status is one that speaks
        for itself, such as 429.
    :ivar form_marks: names of what an answer is held to a form with, such as the field of a request. Where a request is
        refused as wrong and the error names one, what was refused is the form: the same request without it may work.
    :ivar vague_words: codes and types that decide only where there is no status: in a body that came with 200.
    :ivar statuses: statuses of HTTP that mean something of their own.
    """

    words: Mapping[str, Cause] = EMPTY
    marks: Sequence[tuple[str, Cause]] = ()
    context_marks: Sequence[str] = ()
    form_marks: Sequence[str] = ()
    vague_words: Mapping[str, Cause] = EMPTY
    statuses: Mapping[int, Cause] = attrs.field(factory=dict)


_NO_WORDS = ErrorRules()

_BY_STATUS: Mapping[int, Cause] = {
    401: Cause(AuthFailed),
    402: Cause(QuotaExhausted),
    403: Cause(AuthFailed, "permission"),
    404: Cause(InvalidRequest, "not_found"),
    408: Cause(LikelyTimeout, "upstream"),
    409: Cause(ProviderUnavailable),  # two requests were in each other's way
    413: Cause(ContextWindowExceeded),
    429: Cause(RateLimited),
}
_WRONG = (400, 422)
"""The request is not one that can be served."""

_SPEAKS_FOR_ITSELF = (401, 402, 403, 429)
"""With these a mention of the context, as in "tokens of context per minute", changes nothing."""


def cause_of(status: int, facts: ErrorFacts, words: ErrorRules = _NO_WORDS) -> Cause:
    """The cause of an error answer.

    :param status: of HTTP; with 200 the body's own status or words decide.
    """
    if status < 300:
        status = facts.status or 0
    text = f"{' '.join(sorted(facts.words))} {facts.message[:MAX_READ_CHARS]}".casefold()
    if facts.is_flagged:
        return Cause(SafetyFiltered)
    told = next((cause for word, cause in words.words.items() if word in facts.words), None)
    told = told or next((cause for mark, cause in words.marks if mark in text), None)
    if told:
        return told
    if status not in _SPEAKS_FOR_ITSELF and any(mark in text for mark in words.context_marks):
        return Cause(ContextWindowExceeded)
    if status in _WRONG and any(mark in text for mark in words.form_marks):
        return Cause(InvalidRequest, SCHEMA_REFUSED)
    if not status:
        vague = (words.vague_words[word] for word in sorted(facts.words) if word in words.vague_words)
        return next(vague, Cause(TransientUnknown))
    found = words.statuses.get(status) or _BY_STATUS.get(status)
    return found or Cause(ProviderUnavailable if status >= 500 else InvalidRequest)


_PASSING = (RateLimited, ProviderUnavailable, LikelyTimeout, TransientUnknown)


def _advised(cause: Cause, should_retry: str | None) -> Cause:
    """The cause in the light of the provider's own word on whether the same request may work."""
    if cause.sub_cause:
        return cause
    if should_retry == "false" and cause.kind in _PASSING:
        return Cause(cause.kind, "not_retryable")
    return Cause(ProviderUnavailable) if should_retry == "true" and cause.kind is InvalidRequest else cause


def request_id(headers: Mapping[str, str], secrets: Iterable[str] = ()) -> str:
    """The provider's own name for a request, whatever the header is called; empty without one.

    :param headers: names in lower case.
    """
    found = next((value for name, value in headers.items() if name.endswith(("request-id", "requestid"))), "")
    return echoed(found, secrets)


def failure_of(
    status: int,
    headers: Mapping[str, str],
    facts: ErrorFacts,
    *,
    words: ErrorRules = _NO_WORDS,
    secrets: Iterable[str] = (),
    now_s: float | None = None,
) -> CallFailed:
    """Make the failure that an error answer stands for.

    :param headers: names in lower case.
    :param words: what the words of the family mean.
    :param secrets: what must not be quoted.
    """
    cause = _advised(cause_of(status, facts, words), headers.get("x-should-retry"))
    secrets = Secrets.of(secrets)
    wait_s = retry_after_s(headers, facts, now_s)
    if wait_s is None and cause.kind is RateLimited:
        wait_s = _until_reset(headers, time.time() if now_s is None else now_s)
    return cause.kind(
        "the provider answered with an error",
        status=status,
        request_id=request_id(headers, secrets),
        retry_after_s=wait_s,
        sub_cause=cause.sub_cause or ("error_in_200" if status < 300 else ""),
        detail=quoted(facts.message, secrets),
        excerpt=quoted(facts.generation, secrets, MAX_EXCERPT_CHARS),
    )
