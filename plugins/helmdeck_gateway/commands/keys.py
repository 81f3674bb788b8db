"""``helmdeck keys``: creates, shows, edits, revokes, restores and rotates the keys of clients; ``key_calls`` lists their calls."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import Command, SecretPattern, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, labelled, note, show, show_json, table
from helmdeck_gateway.commands.key_calls import configure_calls, show_calls
from helmdeck_gateway.commands.key_options import (
    configure_audit,
    configure_create,
    configure_edit,
    configure_list,
    configure_name,
    configure_rotate,
    fields_of,
)
from helmdeck_gateway.commands.key_output import limits_text, show_secret, show_usage, spent_text
from helmdeck_gateway.commands.key_store import endpoints_for, find_key, with_store

if TYPE_CHECKING:
    from helmdeck_gateway.stores import GatewayStore
    from helmdeck_gateway.stores.records import KeyRecord, Usage

PATTERN = r"hd-[0-9a-f]{12}-[A-Za-z0-9_-]{20,}"
"""Matches keys, so that none is shown where one ends up in a message of a provider."""


def create(arguments: argparse.Namespace) -> int:
    """Create a key."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import with_fields
    from helmdeck_gateway.stores.records import KeyRecord

    name = arguments.name
    blank = KeyRecord(name=name, id="", digest="", caller=name, created_s=time.time())
    fields = fields_of(arguments)
    record = with_fields(blank, fields, endpoints_for(arguments, fields))
    try:
        made = with_store(arguments, lambda store: changes.create_key(store, record, changes.local_actor()))
    except changes.KeyNameTaken:
        raise UsageError(
            f"there is a key named {name!r}; helmdeck keys edit changes its limits, helmdeck keys rotate gives it a new secret, "
            "and helmdeck keys revoke frees the name"
        ) from None
    show_secret(arguments, made)
    return ExitCode.OK


def edit(arguments: argparse.Namespace) -> int:
    """Change the limits of a key."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import key_data, with_fields

    fields = fields_of(arguments)
    if not fields:
        raise UsageError("there is nothing to change; helmdeck keys edit --help lists the options")
    if fields.get("caller", "") is None:
        fields["caller"] = arguments.name
    endpoints = endpoints_for(arguments, fields)
    record = with_store(
        arguments,
        lambda store: changes.edit_key(
            store, arguments.name, lambda stored: with_fields(stored, fields, endpoints), changes.local_actor()
        ),
    )
    if arguments.json:
        show_json(key_data(record))
    else:
        show(f"the key {record.name}: {limits_text(record) or 'no limits'}")
    return ExitCode.OK


def rotate(arguments: argparse.Namespace) -> int:
    """Give a key a new secret."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.keys import utc

    made = with_store(
        arguments,
        lambda store: changes.rotate_key(store, arguments.name, changes.local_actor(), grace_s=arguments.grace),
    )
    show_secret(arguments, made)
    if arguments.grace and not arguments.json:
        note(f"the earlier key is accepted until {utc(made.record.old_until_s)}")
    return ExitCode.OK


def revoke(arguments: argparse.Namespace) -> int:
    """Revoke a key."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import key_data

    actor = changes.local_actor()
    record = with_store(arguments, lambda store: changes.revoke_key(store, arguments.name, actor=actor))
    if arguments.json:
        show_json(key_data(record))
    else:
        show(f"the key {record.name} is revoked; running gateways refuse it within 1 second")
    return ExitCode.OK


def restore(arguments: argparse.Namespace) -> int:
    """Restore a revoked account of tokens."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import key_data

    actor = changes.local_actor()
    record = with_store(arguments, lambda store: changes.restore_key(store, arguments.name, actor))
    if arguments.json:
        show_json(key_data(record))
    else:
        show(f"the account {record.name} is restored; its next token is accepted")
    return ExitCode.OK


def audit(arguments: argparse.Namespace) -> int:
    """Show the last changes of keys and teams."""
    import msgspec

    from helmdeck_gateway.accounts.keys import utc
    from helmdeck_gateway.accounts.visibility import broken_entry

    async def read(store: GatewayStore) -> Any:
        return await store.list_audit(arguments.limit), await broken_entry(store)

    entries, broken = with_store(arguments, read, is_read=True) or ((), None)
    if arguments.json:
        rows = [msgspec.json.decode(each.to_json()) for each in entries]
        show_json({"entries": rows, "changed_entry": broken})
    elif not entries:
        note("no key or team was changed yet")
    else:
        rows = [(str(e.number), utc(e.time_s), e.actor, e.source, e.action, e.subject, e.detail) for e in entries]
        show(table(rows, ("no.", "time", "actor", "by", "action", "subject", "details"), right={0}))
    if broken is not None:
        note(f"the audit log was changed in the database: the hash of entry {broken} is wrong")
        return ExitCode.UNEXPECTED
    return ExitCode.OK


def list_keys(arguments: argparse.Namespace) -> int:
    """List the keys."""
    from helmdeck_gateway.accounts.bill import read_usages
    from helmdeck_gateway.accounts.node_fields import key_data, state_of, usage_data

    async def read(store: GatewayStore) -> Sequence[tuple[KeyRecord, Usage]]:
        return await read_usages(store, await store.list_keys())

    found = with_store(arguments, read, is_read=True) or ()
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
    from helmdeck_gateway.accounts.keys import utc
    from helmdeck_gateway.accounts.node_fields import key_data, state_of, usage_data

    record = find_key(arguments)
    usage = with_store(arguments, lambda store: store.usage(record.id))
    if arguments.json:
        show_json({**key_data(record), **usage_data(usage)})
        return ExitCode.OK
    show(labelled("key", f"{record.name} ({record.id}), {state_of(record)}"))
    show(labelled("created", utc(record.created_s)))
    show(labelled("caller", record.caller))
    show(labelled("models", ", ".join(record.models) if record.models is not None else "all"))
    show(labelled("limits", limits_text(record) or "none"))
    show_usage(usage)
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
        command("restore", "accept the tokens of a revoked account again", configure_name, restore),
        command("edit", "change the limits of a key", configure_edit, edit),
        command("rotate", "give a key a new secret, and print it once", configure_rotate, rotate),
        command("audit", "list the last changes of keys and teams", configure_audit, audit),
    )
