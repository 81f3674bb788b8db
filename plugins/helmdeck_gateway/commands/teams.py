"""``helmdeck teams``: creates, shows, edits and revokes teams, whose limits hold for all keys in them and below them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, labelled, note, show, show_json, table
from helmdeck_gateway.commands.key_options import (
    configure_create_team,
    configure_edit_team,
    configure_list,
    configure_team,
    fields_of,
)
from helmdeck_gateway.commands.key_output import limits_text, show_usage, spent_text
from helmdeck_gateway.commands.key_store import endpoints_for, unknown_team, with_store

if TYPE_CHECKING:
    from helmdeck_gateway.stores import GatewayStore
    from helmdeck_gateway.stores.records import TeamRecord, Usage


def create(arguments: argparse.Namespace) -> int:
    """Create a team."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import with_fields
    from helmdeck_gateway.stores.records import TeamRecord

    blank = TeamRecord(name=arguments.name, id="", created_s=time.time())
    fields = fields_of(arguments)
    record = with_fields(blank, fields, endpoints_for(arguments, fields))
    try:
        made = with_store(arguments, lambda store: changes.create_team(store, record, changes.local_actor()))
    except changes.TeamNameTaken:
        raise UsageError(
            f"there is a team named {arguments.name!r}; helmdeck teams edit changes its limits; the names of revoked teams are not "
            "used again"
        ) from None
    return _shown(arguments, made)


def edit(arguments: argparse.Namespace) -> int:
    """Change the limits of a team."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import with_fields

    fields = fields_of(arguments)
    if not fields:
        raise UsageError("there is nothing to change; helmdeck teams edit --help lists the options")
    endpoints = endpoints_for(arguments, fields)
    record = with_store(
        arguments,
        lambda store: changes.edit_team(
            store, arguments.name, lambda stored: with_fields(stored, fields, endpoints), changes.local_actor()
        ),
    )
    return _shown(arguments, record)


def revoke(arguments: argparse.Namespace) -> int:
    """Revoke a team."""
    from helmdeck_gateway.accounts import changes
    from helmdeck_gateway.accounts.node_fields import team_data

    actor = changes.local_actor()
    record = with_store(arguments, lambda store: changes.revoke_team(store, arguments.name, actor=actor))
    if arguments.json:
        show_json(team_data(record))
    else:
        show(f"the team {record.name} is revoked; running gateways refuse its keys within 1 second")
    return ExitCode.OK


def list_teams(arguments: argparse.Namespace) -> int:
    """List the teams with their spend."""
    from helmdeck_gateway.accounts.node_fields import state_of, team_data, usage_data

    found = with_store(arguments, _read, is_read=True) or []
    if arguments.json:
        show_json({"teams": [{**team_data(record), **usage_data(usage)} for record, usage in found]})
    elif not found:
        note("there are no teams; helmdeck teams create NAME makes one")
    else:
        rows = [
            (
                record.name,
                record.parent,
                state_of(record),
                limits_text(record),
                spent_text(usage.day),
                spent_text(usage.month),
            )
            for record, usage in found
        ]
        show(table(rows, ("name", "parent", "state", "limits", "today", "this month"), right={4, 5}))
    return ExitCode.OK


def show_team(arguments: argparse.Namespace) -> int:
    """Show the limits and the spend of a team."""
    from helmdeck_gateway.accounts.keys import utc
    from helmdeck_gateway.accounts.node_fields import state_of, team_data, usage_data

    found: list[tuple[TeamRecord, Usage]] = with_store(arguments, _read, is_read=True) or []
    teams = {record.name: (record, usage) for record, usage in found}
    if arguments.name not in teams:
        raise unknown_team(arguments.name, ", ".join(teams))
    record, usage = teams[arguments.name]
    if arguments.json:
        show_json({**team_data(record), **usage_data(usage)})
        return ExitCode.OK
    show(labelled("team", f"{record.name} ({record.id}), {state_of(record)}"))
    show(labelled("parent", record.parent or "none"))
    show(labelled("created", utc(record.created_s)))
    show(labelled("limits", limits_text(record) or "none"))
    show_usage(usage)
    return ExitCode.OK


async def _read(store: GatewayStore) -> Sequence[tuple[TeamRecord, Usage]]:
    from helmdeck_gateway.accounts.bill import read_usages

    return await read_usages(store, await store.list_teams())


def _shown(arguments: argparse.Namespace, record: TeamRecord) -> int:
    from helmdeck_gateway.accounts.node_fields import team_data

    if arguments.json:
        show_json(team_data(record))
    else:
        show(f"the team {record.name}: {limits_text(record) or 'no limits'}")
    return ExitCode.OK


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands."""

    def command(name: str, summary: str, configure: Any, run: Any) -> Command:
        return Command(
            name=f"teams {name}",
            summary=summary,
            group_summary="teams of the gateway's keys, with limits and spend",
            configure=configure,
            run=run,
            order=95,
        )

    return (
        command("create", "create a team", configure_create_team, create),
        command("list", "list the teams with their spend", configure_list, list_teams),
        command("show", "show the limits, requests and spend of a team", configure_team, show_team),
        command("edit", "change the limits of a team", configure_edit_team, edit),
        command("revoke", "revoke a team and the keys below it", configure_team, revoke),
    )
