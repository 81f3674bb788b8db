"""``helmdeck keys``: creates, shows, revokes and rotates the keys of clients."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from helmdeck_cli import whole_number
from helmdeck_core import Command, SecretPattern, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, labelled, note, read_config, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_gateway.accounts.keys import NewKey
    from helmdeck_gateway.stores import GatewayStore
    from helmdeck_gateway.stores.records import KeyRecord, Period, Usage

T = TypeVar("T")

PATTERN = r"hd-[0-9a-f]{12}-[A-Za-z0-9_-]{20,}"
"""Matches keys, so that none is shown where one ends up in a message of a provider."""

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


# -- options -----------------------------------------------------------------------------------------------------


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
    parser.add_argument("--concurrency", metavar="N", type=_positive, help="requests at a time")
    parser.add_argument("--spend-per-day", metavar="USD", type=_usd, help="US dollars per day in UTC")
    parser.add_argument("--spend-per-month", metavar="USD", type=_usd, help="US dollars per calendar month in UTC")
    parser.add_argument(
        "--expires", metavar="WHEN", type=_expiry, help="such as 30d or 12h, or a date in UTC: 2027-01-31"
    )
    parser.add_argument("--caller", metavar="NAME", help="the caller in events, traces and history; default: NAME")
    parser.add_argument("--no-narrow-tools", action="store_true", help="send all tools of a request")
    parser.add_argument("--require-price", action="store_true", help="refuse models without a known price")


def _name(text: str) -> str:
    from helmdeck_gateway.accounts.keys import NAME

    if NAME.fullmatch(text) is None:
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


def _positive(text: str) -> int:
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


# -- commands ----------------------------------------------------------------------------------------------------


def create(arguments: argparse.Namespace) -> int:
    """Create a key."""
    from helmdeck_gateway.accounts import keys
    from helmdeck_gateway.stores.records import KeyRecord, Limits, to_nusd

    rate, window_s = arguments.rate or (None, 60.0)
    day, month = arguments.spend_per_day, arguments.spend_per_month
    record = KeyRecord(
        name=arguments.name,
        id="",
        digest="",
        caller=arguments.caller or arguments.name,
        limits=Limits(
            rate=rate,
            window_s=window_s,
            concurrency=arguments.concurrency,
            day_nusd=None if day is None else to_nusd(day),
            month_nusd=None if month is None else to_nusd(month),
        ),
        models=arguments.models,
        created_s=time.time(),
        expires_s=arguments.expires,
        narrows_tools=False if arguments.no_narrow_tools else None,
        requires_price=arguments.require_price,
    )
    try:
        made = _with_store(arguments, lambda store: keys.create(store, record))
    except keys.KeyNameTaken:
        raise UsageError(
            f"there is a key named {arguments.name!r}; helmdeck keys rotate gives it a new secret, and helmdeck keys revoke "
            "frees the name"
        ) from None
    _show_secret(arguments, made)
    return ExitCode.OK


def rotate(arguments: argparse.Namespace) -> int:
    """Give a key a new secret."""
    from helmdeck_gateway.accounts import keys

    made = _with_store(arguments, lambda store: _known(arguments.name, keys.rotate(store, arguments.name)))
    _show_secret(arguments, made)
    return ExitCode.OK


def revoke(arguments: argparse.Namespace) -> int:
    """Revoke a key."""
    from helmdeck_gateway.accounts import keys

    action = keys.revoke
    record = _with_store(arguments, lambda store: _known(arguments.name, action(store, arguments.name, time.time())))
    if arguments.json:
        show_json(_data(record))
    else:
        show(f"the key {record.name} is revoked; running gateways refuse it within {keys.CACHE_S:g} seconds")
    return ExitCode.OK


def list_keys(arguments: argparse.Namespace) -> int:
    """List the keys."""

    async def read(store: GatewayStore) -> list[tuple[KeyRecord, Usage]]:
        return [(record, await store.usage(record.id)) for record in await store.list_keys()]

    found = _with_store(arguments, read, is_read=True) or []
    if arguments.json:
        show_json({"keys": [{**_data(record), **_usage_data(usage)} for record, usage in found]})
    elif not found:
        note("there are no keys; helmdeck keys create NAME makes one")
    else:
        rows = [
            (record.name, record.id, _state(record), _limits(record), _usd_text(usage.day), _usd_text(usage.month))
            for record, usage in found
        ]
        show(table(rows, ("name", "id", "state", "limits", "today", "this month"), right={4, 5}))
    return ExitCode.OK


def show_key(arguments: argparse.Namespace) -> int:
    """Show the limits and the spend of a key."""
    from helmdeck_gateway.accounts import keys

    async def read(store: GatewayStore) -> tuple[KeyRecord, Usage]:
        record = await keys.find(store, arguments.name)
        if record is None:
            raise keys.KeyUnknown(", ".join(each.name for each in await store.list_keys()))
        return record, await store.usage(record.id)

    found = _with_store(arguments, lambda store: _known(arguments.name, read(store)), is_read=True)
    if found is None:
        raise _unknown(arguments.name, "")
    record, usage = found
    if arguments.json:
        show_json({**_data(record), **_usage_data(usage)})
        return ExitCode.OK
    show(labelled("key", f"{record.name} ({record.id}), {_state(record)}"))
    show(labelled("created", keys.utc(record.created_s)))
    show(labelled("caller", record.caller))
    show(labelled("models", ", ".join(record.models) if record.models is not None else "all"))
    show(labelled("limits", _limits(record) or "none"))
    for name, period in (("today", usage.day), ("month", usage.month)):
        show(labelled(name, _period_text(period)))
    show(labelled("under way", str(usage.under_way)))
    return ExitCode.OK


# -- output ------------------------------------------------------------------------------------------------------


def _show_secret(arguments: argparse.Namespace, made: NewKey) -> None:
    if arguments.json:
        show_json({**_data(made.record), "key": made.secret})
        return
    note(f"the key {made.record.name} ({made.record.id}); it is not shown again:")
    show(made.secret)


def _data(record: KeyRecord) -> dict[str, Any]:
    """A key without its digest."""
    limits = record.limits
    return {
        "name": record.name,
        "id": record.id,
        "state": _state(record),
        "caller": record.caller,
        "models": record.models,
        "rate": limits.rate,
        "rate_window_s": limits.window_s if limits.rate is not None else None,
        "concurrency": limits.concurrency,
        "spend_per_day_usd": _usd_of(limits.day_nusd),
        "spend_per_month_usd": _usd_of(limits.month_nusd),
        "created": _iso(record.created_s),
        "expires": _iso(record.expires_s),
        "revoked": _iso(record.revoked_s),
        "narrows_tools": record.narrows_tools,
        "requires_price": record.requires_price,
    }


def _usage_data(usage: Usage) -> dict[str, Any]:
    def data(period: Period) -> dict[str, Any]:
        return {
            "spent_usd": _usd_of(period.spent_nusd),
            "held_usd": _usd_of(period.held_nusd),
            "requests": period.requests,
            "refused": period.refused,
            "unpriced": period.unpriced,
        }

    return {"today": data(usage.day), "this_month": data(usage.month), "under_way": usage.under_way}


def _state(record: KeyRecord) -> str:
    if record.revoked_s is not None:
        return "revoked"
    return "expired" if record.expires_s is not None and record.expires_s <= time.time() else "active"


def _limits(record: KeyRecord) -> str:
    from helmdeck_gateway.accounts.keys import utc

    limits, parts = record.limits, []
    if limits.rate is not None:
        units = {1.0: "s", 60.0: "min", 3_600.0: "h", 86_400.0: "day"}
        parts.append(f"{limits.rate}/{units.get(limits.window_s, f'{limits.window_s:g} s')}")
    if limits.concurrency is not None:
        parts.append(f"{limits.concurrency} at a time")
    if limits.day_nusd is not None:
        parts.append(f"${_usd_of(limits.day_nusd):g} per day")
    if limits.month_nusd is not None:
        parts.append(f"${_usd_of(limits.month_nusd):g} per month")
    if record.models is not None:
        parts.append(f"{len(record.models)} model{'s' * (len(record.models) != 1)}")
    if record.requires_price:
        parts.append("priced models")
    if record.expires_s is not None:
        parts.append(f"until {utc(record.expires_s)}")
    return ", ".join(parts)


def _usd_text(period: Period) -> str:
    return f"${_usd_of(period.spent_nusd):.4f}"


def _period_text(period: Period) -> str:
    parts = [f"{_usd_text(period)} spent"]
    if period.held_nusd:
        parts.append(f"${_usd_of(period.held_nusd):.4f} held for requests under way")
    parts.append(f"{period.requests:,} request{'s' * (period.requests != 1)}")
    if period.refused:
        parts.append(f"{period.refused:,} refused")
    if period.unpriced:
        parts.append(f"{period.unpriced:,} of models without a price, which count as $0")
    return ", ".join(parts)


def _usd_of(nusd: int | None) -> float | None:
    from helmdeck_gateway.stores.records import to_usd

    return None if nusd is None else to_usd(nusd)


def _iso(time_s: float | None) -> str | None:
    if time_s is None:
        return None
    return datetime.datetime.fromtimestamp(round(time_s), datetime.UTC).isoformat()


# -- the store ---------------------------------------------------------------------------------------------------


def _with_store(
    arguments: argparse.Namespace, action: Callable[[GatewayStore], Awaitable[T]], *, is_read: bool = False
) -> Any:
    """Run an action on the configured store; ``None`` if it only reads and there is no store yet."""
    from helmdeck_gateway.settings import GatewaySettings
    from helmdeck_gateway.stores import default_path, open_store
    from helmdeck_storage import StorageError

    url = GatewaySettings.read(read_config(arguments).config.gateway).store_url()
    if url is None and is_read and not default_path().exists():
        return None

    async def run() -> T:
        store = open_store(url or f"sqlite:{default_path()}")
        try:
            return await action(store)
        finally:
            await store.aclose()

    try:
        return asyncio.run(run())
    except StorageError as exc:
        raise UsageError(f"{exc}; [gateway] store names the store") from exc


async def _known(name: str, action: Awaitable[T]) -> T:
    from helmdeck_gateway.accounts.keys import KeyUnknown

    try:
        return await action
    except KeyUnknown as exc:
        raise _unknown(name, str(exc)) from None


def _unknown(name: str, names: str) -> UsageError:
    return UsageError(f"there is no key named {name!r}; keys: {names or 'none'}")


@hookimpl
def helmdeck_secret_patterns() -> Sequence[SecretPattern]:
    """The pattern of keys, which are redacted in messages and logs."""
    return (SecretPattern(name="gateway_key", pattern=PATTERN),)


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands."""

    def command(name: str, summary: str, configure: Any, run: Any) -> Command:
        return Command(
            name=f"keys {name}",
            summary=summary,
            group_summary="keys of the gateway's clients, with limits and spend",
            configure=configure,
            run=run,
            order=94,
        )

    return (
        command("create", "create a key, and print it once", configure_create, create),
        command("list", "list the keys with their spend", configure_list, list_keys),
        command("show", "show the limits, requests and spend of a key", configure_name, show_key),
        command("revoke", "revoke a key", configure_name, revoke),
        command("rotate", "give a key a new secret, and print it once", configure_name, rotate),
    )
