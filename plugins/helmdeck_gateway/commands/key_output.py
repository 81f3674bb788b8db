"""How ``helmdeck keys`` prints keys, their limits and their spend, as text and as data."""

from __future__ import annotations

import argparse
import datetime
import time
from typing import TYPE_CHECKING, Any

from helmdeck_cli import counted
from helmdeck_core.cli import note, show, show_json

if TYPE_CHECKING:
    from helmdeck_gateway.accounts.keys import NewKey
    from helmdeck_gateway.stores.records import KeyRecord, Period, Usage


def show_secret(arguments: argparse.Namespace, made: NewKey) -> None:
    """Print a new key, the only time that it is shown."""
    if arguments.json:
        show_json({**key_data(made.record), "key": made.secret})
        return
    note(f"the key {made.record.name} ({made.record.id}); it is not shown again:")
    show(made.secret)


def key_data(record: KeyRecord) -> dict[str, Any]:
    """A key as plain data, without its digest."""
    limits = record.limits
    return {
        "name": record.name,
        "id": record.id,
        "state": state_of(record),
        "caller": record.caller,
        "models": record.models,
        "rate": limits.rate,
        "rate_window_s": limits.window_s if limits.rate is not None else None,
        "concurrency": limits.concurrency,
        "spend_per_day_usd": _usd_of(limits.day_nusd),
        "spend_per_month_usd": _usd_of(limits.month_nusd),
        "created": iso(record.created_s),
        "expires": iso(record.expires_s),
        "revoked": iso(record.revoked_s),
        "narrows_tools": record.narrows_tools,
        "requires_price": record.requires_price,
        "role": record.role or None,
        "team": record.team or None,
    }


def usage_data(usage: Usage) -> dict[str, Any]:
    """What a key has used, as plain data."""

    def data(period: Period) -> dict[str, Any]:
        return {
            "spent_usd": _usd_of(period.spent_nusd),
            "held_usd": _usd_of(period.held_nusd),
            "requests": period.requests,
            "refused": period.refused,
            "unpriced": period.unpriced,
        }

    return {"today": data(usage.day), "this_month": data(usage.month), "under_way": usage.under_way}


def state_of(record: KeyRecord) -> str:
    """Whether a key is active, expired or revoked."""
    if record.revoked_s is not None:
        return "revoked"
    return "expired" if record.expires_s is not None and record.expires_s <= time.time() else "active"


def limits_text(record: KeyRecord) -> str:
    """The limits of a key on one line; empty without any."""
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
        parts.append(counted(len(record.models), "model"))
    if record.requires_price:
        parts.append("priced models")
    if record.team:
        parts.append(f"team {record.team}")
    if record.role:
        parts.append(f"console {record.role}")
    if record.expires_s is not None:
        parts.append(f"until {utc(record.expires_s)}")
    return ", ".join(parts)


def spent_text(period: Period) -> str:
    """What was spent in a period."""
    return f"${_usd_of(period.spent_nusd):.4f}"


def period_text(period: Period) -> str:
    """What was spent and requested in a period."""
    parts = [f"{spent_text(period)} spent"]
    if period.held_nusd:
        parts.append(f"${_usd_of(period.held_nusd):.4f} held for requests under way")
    parts.append(counted(period.requests, "request"))
    if period.refused:
        parts.append(f"{period.refused:,} refused")
    if period.unpriced:
        parts.append(f"{period.unpriced:,} of models without a price, which count as $0")
    return ", ".join(parts)


def _usd_of(nusd: int | None) -> float | None:
    from helmdeck_gateway.stores.records import to_usd

    return None if nusd is None else to_usd(nusd)


def iso(time_s: float | None) -> str | None:
    """A time in ISO 8601, in UTC; ``None`` for none."""
    if time_s is None:
        return None
    return datetime.datetime.fromtimestamp(round(time_s), datetime.UTC).isoformat()
