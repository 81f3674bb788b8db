"""What a failed call means: status, headers and error body become one of the failure classes.

Where an error body holds what, and what its words mean, differs from family to family, and comes from the provider as data
(``ErrorRules``).
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

MILLISECONDS_HEADER = "retry-after-ms"
"""By default the header that says how many milliseconds to wait; a family may name another one in its ``ErrorRules``."""

_RESET_HEADER = "x-ratelimit-reset"

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


@attrs.frozen(kw_only=True)
class ErrorFields:
    """Where an error object holds what it says; the defaults are what most families have in common.

    Each is a list of paths into the object, keys joined by dots; a list on the way stands for each of its items.

    :ivar message: the message; the first one that is set counts.
    :ivar upstream: what the server behind a gateway said; it is added to the message.
    :ivar words: codes and types.
    :ivar status: an HTTP status in the body, for errors that arrive with 200.
    :ivar flags: true or not empty where a moderation stopped the request.
    :ivar delays: how long to wait, as a duration such as ``30s``.
    :ivar upstream_headers: objects with the headers of the server behind a gateway.
    :ivar generation: what the model wrote and the provider refused.
    :ivar unwrapped: fields and values by which a body is itself the error, without ``error`` around it.
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
    """A failure class, and the finer cause under it where there is one."""

    kind: type[CallFailed]
    sub_cause: str = ""


@attrs.frozen(kw_only=True)
class ErrorRules(ErrorRuleSet):
    """Rules that map error responses to failure classes, as data; words and phrases in lower case.

    A wire format has its own rules; a plugin adds some for named providers with the hook ``helmdeck_error_rules``.

    :ivar fields: where an error object holds what.
    :ivar words: codes and types that decide, whatever the status is.
    :ivar marks: phrases that decide, wherever in the error they stand; the first one that is found counts.
    :ivar context_marks: phrases that say that the prompt is too long; they decide unless the status is one that speaks
        for itself, such as 429.
    :ivar form_marks: names of what an answer is held to a form with, such as the field of a request. Where a request is
        refused as wrong and the error names one, what was refused is the form: the same request without it may work.
    :ivar vague_words: codes and types that decide only where there is no status: in a body that came with 200.
    :ivar statuses: statuses of HTTP that mean something of their own.
    :ivar retry_header: name of the header that says ``true`` or ``false`` to whether the same request may work; empty for none.
    :ivar milliseconds_header: name of the header that says how many milliseconds to wait; it outranks ``Retry-After``.
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


_NO_WORDS = ErrorRules()


def read_error(data: object, words: ErrorRules = _NO_WORDS, *, is_refusal: bool = False) -> ErrorFacts | None:
    """Find the error in a decoded body; ``None`` when it holds none.

    :param words: the rules of the family.
    :param is_refusal: the status already says that this is an error, so a bare message counts as one.
    """
    if isinstance(data, list):  # some wrap their error in a list
        items = (item for item in data if not isinstance(item, list))
        return next((facts for item in items if (facts := read_error(item, words, is_refusal=is_refusal))), None)
    if not isinstance(data, dict):
        return ErrorFacts(message=data) if is_refusal and isinstance(data, str) else None
    if data.get("error"):
        error = data["error"]
        # Where the error is a bare sentence, its code stands beside it.
        return _facts(error if isinstance(error, dict) else {"code": data.get("code"), "message": error}, words.fields)
    if is_refusal or any(data.get(name) == value for name, value in words.fields.unwrapped.items()):
        return _facts(data, words.fields)
    return None


def _facts(error: Mapping[str, Any], fields: ErrorFields) -> ErrorFacts:
    message = next((_text(found) for found in _found(error, fields.message) if found), "")
    upstream = next((_text(found) for found in _found(error, fields.upstream)), "")
    words = _found(error, fields.words)
    return ErrorFacts(
        message=f"{message} ({upstream})" if upstream and upstream != message else message,
        words=frozenset(word.casefold() for word in words if isinstance(word, str)),
        status=next((status for found in _found(error, fields.status) if (status := _status(found))), None),
        is_flagged=any(_found(error, fields.flags)),
        retry_after_s=_delay_in_body(error, fields, message),
        generation=next((_text(found) for found in _found(error, fields.generation)), ""),
    )


def _found(error: object, paths: Iterable[str]) -> Iterator[Any]:
    """Everything that an object holds at some paths, in their order."""
    for path in paths:
        name, _, rest = path.partition(".")
        for item in error if isinstance(error, list) else (error,):
            if isinstance(item, dict) and name in item:
                if rest:
                    yield from _found(item[name], (rest,))
                else:
                    yield item[name]


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
    headers: Mapping[str, str],
    facts: ErrorFacts | None = None,
    now_s: float | None = None,
    *,
    words: ErrorRules = _NO_WORDS,
) -> float | None:
    """Return how long the provider asks to wait, in seconds: from the headers, else from the body.

    :param headers: names in lower case.
    :param now_s: the time of day, seconds since 1970; the clock's by default.
    :param words: the rules of the family.
    """
    milliseconds = _number(headers.get(words.milliseconds_header))
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


def _delay_in_body(error: Mapping[str, Any], fields: ErrorFields, message: str) -> float | None:
    for delay in _found(error, fields.delays):
        if found := _duration(_BARE.fullmatch(str(delay))):
            return found
    tables = [each for each in _found(error, fields.upstream_headers) if isinstance(each, dict)]
    named = {str(name).casefold(): value for table in tables for name, value in table.items()}
    reset = named.get(_RESET_HEADER)
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
    cause = _advised(cause_of(status, facts, words), headers.get(words.retry_header))
    secrets = Secrets.of(secrets)
    wait_s = retry_after_s(headers, facts, now_s, words=words)
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
