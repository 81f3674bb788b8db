"""Reads how long to wait before a retry: ``Retry-After``, resets of rate limits, and delays in the text of an error.

A delay is a number, a duration such as ``6m0s`` or ``60 seconds``, a Unix timestamp or a date. The result is in seconds from now, or ``None``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

_MAX_DELAY_S = 31 * 86_400.0
"""The longest period of a quota is a month; longer delays are mistakes, and ignored."""

_SECONDS_OF = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}
_UNITS = {
    "d": "d(?:ays?)?",
    "h": "h(?:(?:ou)?rs?)?",
    "m": "m(?:in(?:ute)?s?)?",
    "s": "s(?:ec(?:ond)?s?)?",
    "ms": "m(?:illi)?s(?:ec(?:ond)?s?)?",
}
_DURATION = "".join(
    rf"(?:(?P<{name}>[0-9]{{1,9}}(?:\.[0-9]{{1,30}})?) ?{unit}(?![a-z]),? ?(?:and )?)?" for name, unit in _UNITS.items()
)
_DELAY = re.compile(
    r"(?i)\b(?:(?:again|retry|(?:retry|repeat) (?:your|the|this) request|resets?|available) (?:in|after):?|wait(?: for)?)"
    rf" (?:about |approximately |at least |another )?{_DURATION}"
)
_BARE = re.compile(_DURATION, re.IGNORECASE)
_FIRST_EPOCH_S, _FIRST_EPOCH_MS = 1e9, 1e11
"""From these values on, a number is a Unix timestamp instead of a delay, in seconds or in milliseconds."""


def delay_in_headers_s(headers: Mapping[str, str], milliseconds_header: str, now_s: float) -> float | None:
    """Return the retry delay that headers ask for.

    :param headers: names in lower case.
    :param milliseconds_header: overrides ``Retry-After``.
    A date is by the clock of the server, which the header ``Date`` shows.

    :param now_s: Unix timestamp in seconds.
    """
    milliseconds = _number(headers.get(milliseconds_header))
    if milliseconds is not None and (seconds := _valid(milliseconds / 1000)) is not None:
        return seconds
    value = headers.get("retry-after", "")
    return delay_s(value, now_s if _number(value) is not None else server_time_s(headers, now_s))


def server_time_s(headers: Mapping[str, str], now_s: float) -> float:
    """Return the time of the server that sent the headers; where it does not send it, this machine's."""
    date = _date_s(headers.get("date", ""))
    return now_s if date is None else date


def delay_s(value: str, now_s: float) -> float | None:
    """Return a value as seconds from now: a number, a duration such as ``6m0s``, a Unix timestamp or a date."""
    number = _number(value)
    if number is not None:
        if number < _FIRST_EPOCH_S:
            return _valid(number)
        return _valid(max(0.0, number / (1000 if number >= _FIRST_EPOCH_MS else 1) - now_s))
    seconds = duration_s(value.strip())
    return seconds if seconds is not None or not value else _valid(_until_date(value, now_s))


def duration_s(text: str) -> float | None:
    """Return a text that is nothing but a duration, such as ``30s``."""
    return _seconds_of(_BARE.fullmatch(text))


def delay_in_text_s(message: str) -> float | None:
    """Return the delay in a sentence such as "try again in 30s" or "wait 1 minute and 30 seconds"."""
    delays = (_seconds_of(match) for match in _DELAY.finditer(message))
    return next((delay for delay in delays if delay is not None), None)


def until_reset_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the time until the exhausted rate limit resets.

    Rate limits are pairs of headers, such as ``x-ratelimit-remaining-tokens`` and ``x-ratelimit-reset-tokens``. A limit without
    the first one may be the exhausted one.
    """
    waits = [
        delay_s(value, now_s)
        for name, value in headers.items()
        if "ratelimit" in name and "reset" in name and _number(headers.get(name.replace("reset", "remaining"), 0)) == 0
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _valid(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= _MAX_DELAY_S else None


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # any value may be a number
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_of(match: re.Match[str] | None) -> float | None:
    amounts = {name: amount for name, amount in match.groupdict().items() if amount} if match else {}
    return _valid(sum(float(amount) * _SECONDS_OF[name] for name, amount in amounts.items())) if amounts else None


def _until_date(value: str, now_s: float) -> float | None:
    date = _date_s(value)
    return None if date is None else max(0.0, date - now_s)


def _date_s(value: str) -> float | None:
    """Return a date as a Unix timestamp; without a time zone it is UTC."""
    from email.utils import parsedate_to_datetime

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(value)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return None
