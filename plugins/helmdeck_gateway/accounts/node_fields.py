"""Keys and teams as plain data: what the command line and the API return, and what the API accepts for a change."""

from __future__ import annotations

import datetime
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from helmdeck_gateway.accounts.endpoint_names import ENDPOINTS, endpoint_problem
from helmdeck_gateway.stores.records import (
    LEAST_USD,
    KeyRecord,
    Limits,
    Period,
    TeamRecord,
    Usage,
    seconds_left,
    to_nusd,
    to_usd,
)

Record = TypeVar("Record", KeyRecord, TeamRecord)

KEY_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Matches the names that keys and teams may have."""
WINDOWS_S: Final[Mapping[str, float]] = {"s": 1.0, "min": 60.0, "h": 3_600.0, "day": 86_400.0}
MAX_RATE: Final = 100_000
MAX_TOKENS: Final = 1_000_000_000
MAX_USD: Final = 1_000_000
LATEST_S: Final = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC).timestamp()
"""The latest time at which a key may expire; no later day has a date."""
_RATE: Final = re.compile(r"(\d{1,6})\s*/\s*(s|min|h|day)")
_LISTED: Final = re.compile(r"[!-~]{1,256}")


class FieldMistakes(ValueError):
    """Fields are wrong; the argument has a sentence for each of them."""

    @property
    def mistakes(self) -> Sequence[str]:
        """A sentence for each wrong field."""
        return self.args[0]  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return "; ".join(self.mistakes)


# -- as data -----------------------------------------------------------------------------------------------------


def key_data(record: KeyRecord) -> dict[str, Any]:
    """Return a key as plain data, without its digest."""
    return {
        "name": record.name,
        "id": record.id,
        "state": state_of(record),
        "caller": record.caller,
        **_limits_data(record),
        "created": iso(record.created_s),
        "expires": iso(record.expires_s),
        "revoked": iso(record.revoked_s),
        "narrows_tools": record.narrows_tools,
        "requires_price": record.requires_price,
        "role": record.role or None,
        "team": record.team or None,
        "old_key_until": iso(record.old_until_s) if record.old_digest else None,
    }


def team_data(record: TeamRecord) -> dict[str, Any]:
    """Return a team as plain data."""
    return {
        "name": record.name,
        "id": record.id,
        "state": state_of(record),
        "parent": record.parent or None,
        **_limits_data(record),
        "created": iso(record.created_s),
        "revoked": iso(record.revoked_s),
    }


def _limits_data(record: KeyRecord | TeamRecord) -> dict[str, Any]:
    limits = record.limits
    return {
        "models": record.models,
        "dialects": record.dialects,
        "tags": record.tags,
        "rate": limits.rate,
        "rate_window_s": limits.window_s if limits.rate is not None else None,
        "concurrency": limits.concurrency,
        "tokens_per_minute": limits.tokens,
        "spend_per_day_usd": usd_of(limits.day_nusd),
        "spend_per_month_usd": usd_of(limits.month_nusd),
    }


def usage_data(usage: Usage) -> dict[str, Any]:
    """Return what a key or team has used, as plain data."""

    def data(period: Period) -> dict[str, Any]:
        return {
            "spent_usd": usd_of(period.spent_nusd),
            "held_usd": usd_of(period.held_nusd),
            "requests": period.requests,
            "refused": period.refused,
            "unpriced": period.unpriced,
        }

    return {"today": data(usage.day), "this_month": data(usage.month), "under_way": usage.under_way}


def left_data(limits: Limits, usage: Usage) -> dict[str, Any]:
    """Return what limits leave, apart from what calls under way hold, and when spend limits reset."""
    found: dict[str, Any] = {}
    periods = ("day", limits.day_nusd, usage.day), ("month", limits.month_nusd, usage.month)
    for (name, most, period), left_s in zip(periods, seconds_left(usage.now_s), strict=True):
        if most is not None:
            found[f"spend_per_{name}_usd"] = to_usd(max(0, most - period.spent_nusd - period.held_nusd))
            found[f"{name}_resets"] = iso(usage.now_s + left_s)
    if limits.tokens is not None:
        found["tokens_per_minute"] = max(0, math.floor(limits.tokens - usage.tokens_used(limits)))
    if limits.concurrency is not None:
        found["concurrency"] = max(0, limits.concurrency - usage.under_way)
    return found


def state_of(record: KeyRecord | TeamRecord) -> str:
    """Return whether a key or team is active, expired or revoked.

    >>> from helmdeck_gateway import KeyRecord, state_of
    >>> state_of(KeyRecord(name="ann", id="", digest="", caller="ann"))
    'active'
    """
    if record.revoked_s is not None:
        return "revoked"
    expires_s = record.expires_s if isinstance(record, KeyRecord) else None
    return "expired" if expires_s is not None and expires_s <= time.time() else "active"


def usd_of(nusd: int | None) -> float | None:
    """Return nano US dollars in US dollars; ``None`` for none."""
    return None if nusd is None else to_usd(nusd)


def iso(time_s: float | None) -> str | None:
    """Return a time in ISO 8601, in UTC; ``None`` for none."""
    if time_s is None:
        return None
    return datetime.datetime.fromtimestamp(round(time_s), datetime.UTC).isoformat()


# -- from data ---------------------------------------------------------------------------------------------------


def with_fields(record: Record, fields: Mapping[str, Any], endpoints: Sequence[str] = ENDPOINTS) -> Record:
    """Return a record with other values; ``None`` removes a limit.

    :param fields: named as in ``key_data`` and ``team_data``.
    :param endpoints: the names that ``dialects`` may have; ``endpoint_names`` returns those of plugins as well.
    :raises FieldMistakes: with every mistake.

    >>> from helmdeck_gateway import KeyRecord, with_fields
    >>> with_fields(KeyRecord(name="ann", id="", digest="", caller="ann"), {"rate": 60}).limits.rate
    60
    """
    changes: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    mistakes: list[str] = []
    readers = _KEY_FIELDS if isinstance(record, KeyRecord) else _TEAM_FIELDS
    for name, value in fields.items():
        reader = readers.get(name)
        if reader is None:
            mistakes.append(f"{name[:80]!r}: unknown; allowed: {', '.join(readers)}")
            continue
        try:
            found = reader(value)
            if name == "dialects" and (problem := endpoint_problem(found[name] or (), endpoints)):
                mistakes.append(f"{name}: {problem}")
        except ValueError as exc:
            mistakes.append(f"{name}: {exc}, found {repr(value)[:80]}")
            continue
        (limits if name in _LIMITS else changes).update(found)
    if mistakes:
        raise FieldMistakes(mistakes)
    if limits:
        changes["limits"] = attrs.evolve(record.limits, **limits)
    return attrs.evolve(record, **changes)


def _name(value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or KEY_NAME.fullmatch(value) is None:
        raise ValueError("expected 1 to 64 letters, digits, '.', '_' and '-'")
    return {"name": value}


def _optional_name(field: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {field: _name(value)["name"] if value not in (None, "") else ""}


def _caller(value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
        raise ValueError("expected 1 to 200 printable characters")
    return {"caller": value}


def _role(value: Any) -> dict[str, Any]:
    if value not in (None, "", "viewer", "admin"):
        raise ValueError("expected 'viewer', 'admin' or null")
    return {"role": value or ""}


def _flag(field: str, *, optional: bool = False) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, bool) and not (optional and value is None):
            raise ValueError("expected true, false or null" if optional else "expected true or false")
        return {field: value}

    return read


def _names(field: str, *, has_wildcard: bool = False) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        if value is None:
            return {field: None}
        if not isinstance(value, list) or not all(isinstance(each, str) and _LISTED.fullmatch(each) for each in value):
            raise ValueError("expected an array of names, or null for all")
        if any("*" in (each[:-1] if has_wildcard else each) for each in value):
            raise ValueError("* is allowed at the end only" if has_wildcard else "* is not allowed")
        return {field: tuple(dict.fromkeys(value))}

    return read


def _count(field: str, most: int) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        if value is None:
            return {field: None}
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise ValueError(f"expected an integer from 1 to {most:,}, or null")
        return {field: value}

    return read


def _rate(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        match = _RATE.fullmatch(value.strip())
        if match is None or not 0 < int(match[1]) <= MAX_RATE:
            raise ValueError(f"expected a rate such as 60/min with s, min, h or day, and up to {MAX_RATE:,} requests")
        return {"rate": int(match[1]), "window_s": WINDOWS_S[match[2]]}
    return _count("rate", MAX_RATE)(value)


def _window(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 31 * 86_400:
        raise ValueError("expected seconds above 0 and up to 2,678,400")
    return {"window_s": float(value)}


def _usd(field: str) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        if value is None:
            return {field: None}
        if not isinstance(value, int | float) or isinstance(value, bool) or not LEAST_USD <= value <= MAX_USD:
            raise ValueError(f"expected US dollars from 0.000000001 to {MAX_USD:,}, or null")
        return {field: to_nusd(value)}

    return read


def _expires(value: Any) -> dict[str, Any]:
    if value is None:
        return {"expires_s": None}
    try:
        when = datetime.datetime.fromisoformat(value) if isinstance(value, str) else None
        expires_s = None if when is None else (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, OverflowError):
        expires_s = None
    if expires_s is None or not time.time() < expires_s <= LATEST_S:
        raise ValueError("expected a time in the future, up to 9999-12-31, such as 2027-01-31T12:00:00+00:00, or null")
    return {"expires_s": expires_s}


_LIMITS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "rate": _rate,
    "rate_window_s": _window,
    "concurrency": _count("concurrency", MAX_RATE),
    "tokens_per_minute": _count("tokens", MAX_TOKENS),
    "spend_per_day_usd": _usd("day_nusd"),
    "spend_per_month_usd": _usd("month_nusd"),
}
_LISTS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "models": _names("models", has_wildcard=True),
    "dialects": _names("dialects"),
    "tags": _names("tags"),
}
_KEY_FIELDS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "name": _name,
    "caller": _caller,
    "team": _optional_name("team"),
    "role": _role,
    "expires": _expires,
    "narrows_tools": _flag("narrows_tools", optional=True),
    "requires_price": _flag("requires_price"),
    **_LISTS,
    **_LIMITS,
}
_TEAM_FIELDS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "name": _name,
    "parent": _optional_name("parent"),
    **_LISTS,
    **_LIMITS,
}
