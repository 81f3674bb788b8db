"""How ``helmdeck keys`` and ``helmdeck teams`` print limits and spend as text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from helmdeck_cli import counted
from helmdeck_core.cli import labelled, note, show, show_json

if TYPE_CHECKING:
    from helmdeck_gateway.accounts.keys import NewKey
    from helmdeck_gateway.stores.records import KeyRecord, Period, TeamRecord, Usage


def show_secret(arguments: argparse.Namespace, made: NewKey) -> None:
    """Print a new key, the only time that it is shown."""
    from helmdeck_gateway.accounts.node_fields import key_data

    if arguments.json:
        show_json({**key_data(made.record), "key": made.secret})
        return
    note(f"the key {made.record.name} ({made.record.id}); it is not shown again:")
    show(made.secret)


def limits_text(record: KeyRecord | TeamRecord) -> str:
    """The limits of a key or team on one line; empty without any."""
    from helmdeck_gateway.accounts.keys import utc
    from helmdeck_gateway.accounts.node_fields import WINDOWS_S, usd_of
    from helmdeck_gateway.stores.records import KeyRecord

    limits, parts = record.limits, []
    if limits.rate is not None:
        units = {seconds: unit for unit, seconds in WINDOWS_S.items()}
        parts.append(f"{limits.rate}/{units.get(limits.window_s, f'{limits.window_s:g} s')}")
    if limits.concurrency is not None:
        parts.append(f"{limits.concurrency} at a time")
    if limits.tokens is not None:
        parts.append(f"{limits.tokens:,} tokens/min")
    if limits.day_nusd is not None:
        parts.append(f"${usd_of(limits.day_nusd):g} per day")
    if limits.month_nusd is not None:
        parts.append(f"${usd_of(limits.month_nusd):g} per month")
    for names, what in ((record.models, "model"), (record.dialects, "endpoint"), (record.tags, "tag")):
        if names is not None:
            parts.append(counted(len(names), what))
    if isinstance(record, KeyRecord):
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
    return _usd_text(period.spent_nusd)


def show_usage(usage: Usage) -> None:
    """Show what a key or team used, and its calls under way."""
    for name, period in (("today", usage.day), ("month", usage.month)):
        show(labelled(name, period_text(period)))
    show(labelled("under way", str(usage.under_way)))


def period_text(period: Period) -> str:
    """What was spent and requested in a period."""
    parts = [f"{spent_text(period)} spent"]
    if period.held_nusd:
        parts.append(f"{_usd_text(period.held_nusd)} held for requests under way")
    parts.append(counted(period.requests, "request"))
    if period.refused:
        parts.append(f"{period.refused:,} refused")
    if period.unpriced:
        parts.append(f"{period.unpriced:,} of models without a price, which count as $0")
    return ", ".join(parts)


def _usd_text(nusd: int) -> str:
    from helmdeck_gateway.stores.records import to_usd

    return f"${to_usd(nusd):.4f}"
