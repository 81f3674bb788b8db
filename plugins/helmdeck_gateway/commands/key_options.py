"""The options of ``helmdeck keys``: names, limits and times as users write them."""

from __future__ import annotations

import argparse
import datetime
import re
import time

from helmdeck_cli import whole_number

MAX_RATE = 100_000
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
LATEST_S = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC).timestamp()
_RATE = re.compile(r"(\d{1,3}(?:_?\d{1,3}){0,3})/([a-z]+)")
_AGE = re.compile(r"(\d{1,9})([mhd])")


def configure_name(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.add_argument("name", metavar="NAME", help="the name of the key")


def configure_list(parser: argparse.ArgumentParser) -> None:
    """Describe the columns."""
    parser.epilog = "Spend is what settled requests cost; helmdeck keys show has more figures."


def configure_create(parser: argparse.ArgumentParser) -> None:
    """Add the limits."""
    parser.epilog = "The key is printed once, and only its hash is stored. Limits that are left out do not apply."
    parser.add_argument("name", metavar="NAME", type=_name, help="letters, digits, '.', '_' and '-'")
    parser.add_argument(
        "--models",
        metavar="NAMES",
        type=_names,
        help="models that the key may use, as clients name them: a,b; 'openai/*' for all of a provider",
    )
    parser.add_argument(
        "--rate", metavar="N/UNIT", type=_rate, help="requests in any minute or other window, such as 60/min"
    )
    parser.add_argument("--concurrency", metavar="N", type=positive, help="requests at a time")
    parser.add_argument("--spend-per-day", metavar="USD", type=_usd, help="US dollars per day in UTC")
    parser.add_argument("--spend-per-month", metavar="USD", type=_usd, help="US dollars per calendar month in UTC")
    parser.add_argument(
        "--expires", metavar="WHEN", type=_expiry, help="such as 30d or 12h, or a date in UTC: 2027-01-31"
    )
    parser.add_argument("--caller", metavar="NAME", help="the caller in events, traces and history; default: NAME")
    parser.add_argument(
        "--role",
        choices=("viewer", "admin"),
        default="",
        help="sign in to the console: viewer reads, admin also changes",
    )
    parser.add_argument(
        "--team", metavar="NAME", type=_name, help="the team of the key; an operator with a team sees that team alone"
    )
    parser.add_argument("--no-narrow-tools", action="store_true", help="send all tools of a request")
    parser.add_argument("--require-price", action="store_true", help="refuse models without a known price")


def _name(text: str) -> str:
    from helmdeck_gateway.accounts.keys import KEY_NAME

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


def _rate(text: str) -> tuple[int, float]:
    match = _RATE.fullmatch(text.strip())
    if match is None or match[2] not in WINDOWS_S or not 0 < int(match[1]) <= MAX_RATE:
        allowed = f"N/s, N/min, N/h or N/day with N up to {MAX_RATE:,}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate such as 60/min; allowed: {allowed}")
    return int(match[1]), WINDOWS_S[match[2]]


def positive(text: str) -> int:
    """Parse an integer of at least 1; for ``type=`` of an argument."""
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _usd(text: str) -> float:
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of US dollars above 0 and up to 1,000,000")
    return amount


def _expiry(text: str) -> float:
    now = time.time()
    if match := _AGE.fullmatch(text.strip()):
        when_s = now + int(match[1]) * UNITS_S[match[2]]
        if when_s > LATEST_S:
            raise argparse.ArgumentTypeError(f"{text!r} is later than the year 9999")
        return when_s
    try:
        when = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a time such as 30d nor a date such as 2027-01-31"
        ) from None
    when_s = (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()
    if when_s <= now:
        raise argparse.ArgumentTypeError(f"{text!r} is in the past")
    return when_s
