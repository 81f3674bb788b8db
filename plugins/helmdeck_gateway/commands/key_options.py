"""The options of ``helmdeck keys``: names, limits and times as users write them."""

from __future__ import annotations

import argparse
import datetime
import re
import time
from collections.abc import Callable
from typing import Any

from helmdeck_cli import positive_number
from helmdeck_gateway.accounts.endpoint_names import ENDPOINTS

MAX_RATE = 100_000
MAX_TOKENS = 1_000_000_000
MAX_GRACE_S = 31 * 86_400
WINDOWS_S = {
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3_600.0,
    "hour": 3_600.0,
    "d": 86_400.0,
    "day": 86_400.0,
}
UNITS_S = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}
_RATE = re.compile(r"(\d{1,3}(?:_?\d{1,3}){0,3})/([a-z]+)")
_AGE = re.compile(r"(\d{1,9})([mhd])")


def configure_name(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.add_argument("name", metavar="NAME", help="the name of the key")


def configure_list(parser: argparse.ArgumentParser) -> None:
    """Describe the columns."""
    parser.epilog = "Spend is what settled requests cost; helmdeck keys show has more figures."


NONE = "none"
"""Removes a limit."""

_OF_EDITS = (
    f"Options that are left out change nothing; '{NONE}' removes a limit. Running gateways apply it within 1 second."
)


def configure_create(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a new key."""
    parser.epilog = "The key is printed once, and only its hash is stored. Limits that are left out do not apply."
    parser.add_argument("name", metavar="NAME", type=_name, help="letters, digits, '.', '_' and '-'")
    _add_limits(parser)
    _add_key_options(parser)


def configure_edit(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a key that exists."""
    parser.epilog = _OF_EDITS
    configure_name(parser)
    _add_limits(parser)
    _add_key_options(parser)


def configure_create_team(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a new team."""
    parser.epilog = "The limits hold for the calls of all keys in the team and in the teams below it together."
    parser.add_argument("name", metavar="NAME", type=_name, help="letters, digits, '.', '_' and '-'")
    _add_limits(parser)
    _add_parent(parser)


def configure_edit_team(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a team that exists."""
    parser.epilog = _OF_EDITS
    configure_team(parser)
    _add_limits(parser)
    _add_parent(parser)


def configure_team(parser: argparse.ArgumentParser) -> None:
    """Add the name of a team."""
    parser.add_argument("name", metavar="NAME", help="the name of the team")


def configure_rotate(parser: argparse.ArgumentParser) -> None:
    """Add the name and the grace time."""
    configure_name(parser)
    parser.add_argument(
        "--grace",
        metavar="TIME",
        type=_grace,
        default=0.0,
        help="accept the earlier key as well, such as 24h; default: not at all",
    )


def configure_audit(parser: argparse.ArgumentParser) -> None:
    """Add the number of entries."""
    parser.add_argument(
        "--limit", metavar="N", type=positive_number, default=50, help="show the last N entries; default: 50"
    )
    parser.epilog = (
        "The hash of each entry covers the entry before it; an entry that was changed in the database is reported."
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--models",
        metavar="NAMES",
        type=_optional(_names),
        help="models that may be used, as clients name them: a,b; 'openai/*' for all of a provider",
    )
    parser.add_argument(
        "--dialects",
        metavar="NAMES",
        type=_optional(_plain_names),
        help=f"endpoints that may be used: {', '.join(ENDPOINTS)}, and the names of applications of plugins",
    )
    parser.add_argument(
        "--tags", metavar="NAMES", type=_optional(_plain_names), help="tags that requests may have in x-helmdeck-tags"
    )
    parser.add_argument(
        "--rate", metavar="N/UNIT", type=_optional(_rate), help="requests in any minute or other window, such as 60/min"
    )
    parser.add_argument("--concurrency", metavar="N", type=_optional(positive_number), help="requests at a time")
    parser.add_argument(
        "--tokens-per-minute", metavar="N", type=_optional(_tokens), help="input and output tokens per minute"
    )
    parser.add_argument("--spend-per-day", metavar="USD", type=_optional(_usd), help="US dollars per day in UTC")
    parser.add_argument(
        "--spend-per-month", metavar="USD", type=_optional(_usd), help="US dollars per calendar month in UTC"
    )


def _add_key_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--expires", metavar="WHEN", type=_optional(_expiry), help="such as 30d or 12h, or a date in UTC: 2027-01-31"
    )
    parser.add_argument("--caller", metavar="NAME", help="the caller in events, traces and history; default: NAME")
    parser.add_argument(
        "--role",
        choices=("viewer", "admin", NONE),
        help="sign in to the console: viewer reads, admin also changes, also by the API",
    )
    parser.add_argument(
        "--team",
        metavar="NAME",
        type=_optional(_name),
        help="the team of the key; an operator with a team sees that team and the teams below it alone",
    )
    parser.add_argument("--no-narrow-tools", action="store_true", help="send all tools of a request")
    parser.add_argument("--require-price", action="store_true", help="refuse models without a known price")


def _add_parent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parent", metavar="NAME", type=_optional(_name), help="the team above it; default: none")


def fields_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a key or team that the options name, as ``accounts.node_fields`` reads them."""
    fields: dict[str, Any] = {}
    for option, field in _FIELDS.items():
        value = getattr(arguments, option, None)
        if value is not None:
            fields[field] = None if value == NONE else list(value) if field in _LISTS else value
    if isinstance(rate := fields.get("rate"), tuple):
        fields["rate"], fields["rate_window_s"] = rate
    if isinstance(expires := fields.get("expires"), float):
        fields["expires"] = datetime.datetime.fromtimestamp(expires, datetime.UTC).isoformat()
    if getattr(arguments, "no_narrow_tools", False):
        fields["narrows_tools"] = False
    if getattr(arguments, "require_price", False):
        fields["requires_price"] = True
    return fields


_LISTS = ("models", "dialects", "tags")
_FIELDS = {
    **{
        name: name
        for name in (*_LISTS, "rate", "concurrency", "tokens_per_minute", "expires", "caller", "role", "team", "parent")
    },
    "spend_per_day": "spend_per_day_usd",
    "spend_per_month": "spend_per_month_usd",
}
"""Names of fields, by options."""


def _optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: NONE if text == NONE else read(text)


def _name(text: str) -> str:
    from helmdeck_gateway.accounts.node_fields import KEY_NAME

    if KEY_NAME.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a name of 1 to 64 letters, digits, '.', '_' and '-'")
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))
    if not names:
        raise argparse.ArgumentTypeError("names no model")
    if wrong := [name for name in names if "*" in name[:-1]]:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r}: * is allowed at the end only")
    return names


def _plain_names(text: str) -> tuple[str, ...]:
    names = _names(text)
    if wrong := [name for name in names if "*" in name]:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r}: * is not allowed")
    return names


def _tokens(text: str) -> int:
    number = positive_number(text)
    if number > MAX_TOKENS:
        raise argparse.ArgumentTypeError(f"must be at most {MAX_TOKENS:,}")
    return number


def _grace(text: str) -> float:
    match = _AGE.fullmatch(text.strip())
    if match is None or int(match[1]) * UNITS_S[match[2]] > MAX_GRACE_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 30m, 24h or 7d, and at most 31d")
    return int(match[1]) * UNITS_S[match[2]]


def _rate(text: str) -> tuple[int, float]:
    match = _RATE.fullmatch(text.strip())
    if match is None or match[2] not in WINDOWS_S or not 0 < int(match[1]) <= MAX_RATE:
        allowed = f"N/s, N/min, N/h or N/day with N up to {MAX_RATE:,}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate such as 60/min; allowed: {allowed}")
    return int(match[1]), WINDOWS_S[match[2]]


def _usd(text: str) -> float:
    from helmdeck_gateway.stores.records import LEAST_USD

    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = 0.0
    if not LEAST_USD <= amount <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of US dollars from 0.000000001 to 1,000,000")
    return amount


def _expiry(text: str) -> float:
    from helmdeck_gateway.accounts.node_fields import LATEST_S

    now = time.time()
    if match := _AGE.fullmatch(text.strip()):
        when_s = now + int(match[1]) * UNITS_S[match[2]]
    else:
        try:
            when = datetime.datetime.fromisoformat(text.strip())
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is neither a time such as 30d nor a date such as 2027-01-31"
            ) from None
        when_s = (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()
    if when_s <= now:
        raise argparse.ArgumentTypeError(f"{text!r} is in the past")
    if when_s > LATEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is later than 9999-12-31")
    return when_s
