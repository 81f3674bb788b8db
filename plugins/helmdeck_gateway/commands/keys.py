"""``helmdeck keys``: creates, shows, revokes and rotates the keys of clients; ``key_calls`` lists their calls."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import Command, SecretPattern, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, labelled, note, show, show_json, table
from helmdeck_gateway.commands.key_calls import configure_calls, show_calls
from helmdeck_gateway.commands.key_options import configure_create, configure_list, configure_name
from helmdeck_gateway.commands.key_output import (
    key_data,
    limits_text,
    period_text,
    show_secret,
    spent_text,
    state_of,
    usage_data,
)
from helmdeck_gateway.commands.key_store import find_key, with_store

if TYPE_CHECKING:
    from helmdeck_gateway.stores import GatewayStore
    from helmdeck_gateway.stores.records import KeyRecord, Usage

PATTERN = r"hd-[0-9a-f]{12}-[A-Za-z0-9_-]{20,}"
"""Matches keys, so that none is shown where one ends up in a message of a provider."""


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
        role=arguments.role,
        team=arguments.team or "",
    )
    try:
        made = with_store(arguments, lambda store: keys.create_key(store, record))
    except keys.KeyNameTaken:
        raise UsageError(
            f"there is a key named {arguments.name!r}; helmdeck keys rotate gives it a new secret, and helmdeck keys revoke "
            "frees the name"
        ) from None
    show_secret(arguments, made)
    return ExitCode.OK


def rotate(arguments: argparse.Namespace) -> int:
    """Give a key a new secret."""
    from helmdeck_gateway.accounts import keys

    made = with_store(arguments, lambda store: keys.rotate_key(store, arguments.name))
    show_secret(arguments, made)
    return ExitCode.OK


def revoke(arguments: argparse.Namespace) -> int:
    """Revoke a key."""
    from helmdeck_gateway.accounts import keys

    record = with_store(arguments, lambda store: keys.revoke_key(store, arguments.name, time.time()))
    if arguments.json:
        show_json(key_data(record))
    else:
        show(f"the key {record.name} is revoked; running gateways refuse it within 1 second")
    return ExitCode.OK


def list_keys(arguments: argparse.Namespace) -> int:
    """List the keys."""

    async def read(store: GatewayStore) -> list[tuple[KeyRecord, Usage]]:
        return [(record, await store.usage(record.id)) for record in await store.list_keys()]

    found = with_store(arguments, read, is_read=True) or []
    if arguments.json:
        show_json({"keys": [{**key_data(record), **usage_data(usage)} for record, usage in found]})
    elif not found:
        note("there are no keys; helmdeck keys create NAME makes one")
    else:
        rows = [
            (
                record.name,
                record.id,
                state_of(record),
                limits_text(record),
                spent_text(usage.day),
                spent_text(usage.month),
            )
            for record, usage in found
        ]
        show(table(rows, ("name", "id", "state", "limits", "today", "this month"), right={4, 5}))
    return ExitCode.OK


def show_key(arguments: argparse.Namespace) -> int:
    """Show the limits and the spend of a key."""
    from helmdeck_gateway.accounts import keys

    record = find_key(arguments)
    usage = with_store(arguments, lambda store: store.usage(record.id))
    if arguments.json:
        show_json({**key_data(record), **usage_data(usage)})
        return ExitCode.OK
    show(labelled("key", f"{record.name} ({record.id}), {state_of(record)}"))
    show(labelled("created", keys.utc(record.created_s)))
    show(labelled("caller", record.caller))
    show(labelled("models", ", ".join(record.models) if record.models is not None else "all"))
    show(labelled("limits", limits_text(record) or "none"))
    for name, period in (("today", usage.day), ("month", usage.month)):
        show(labelled(name, period_text(period)))
    show(labelled("under way", str(usage.under_way)))
    return ExitCode.OK


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
        command("calls", "list the most recent calls of a key", configure_calls, show_calls),
        command("revoke", "revoke a key", configure_name, revoke),
        command("rotate", "give a key a new secret, and print it once", configure_name, rotate),
    )
