"""What an actor sees of keys, teams and the audit log: those of its team, and of the teams below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from helmdeck_gateway.stores.records import AuditRecord, KeyRecord, TeamRecord
from helmdeck_gateway.stores.store import GatewayStore

PAGE: Final = 1_000
"""Entries of the audit log that are read at once."""


async def visible_keys(store: GatewayStore, team: str) -> Sequence[KeyRecord]:
    """Return the keys of a team and of those below it by name; all keys for an empty name."""
    records = await store.list_keys()
    if not team:
        return records
    names = below(await store.list_teams(), team)
    return [each for each in records if each.team in names]


async def visible_teams(store: GatewayStore, team: str) -> Sequence[TeamRecord]:
    """Return a team and those below it by name; all teams for an empty name."""
    records = await store.list_teams()
    if not team:
        return records
    names = below(records, team)
    return [each for each in records if each.name in names]


def below(teams: Sequence[TeamRecord], name: str) -> frozenset[str]:
    """Return the names of a team and of all teams below it; the team need not be stored."""
    names, size = {name}, 0
    while len(names) > size:
        size = len(names)
        names |= {each.name for each in teams if each.parent in names}
    return frozenset(names)


async def audit_entries(
    store: GatewayStore, limit: int, before: int | None = None, team: str = ""
) -> Sequence[AuditRecord]:
    """Return the last entries of the audit log, the newest first.

    :param before: only entries with a lower number.
    :param team: only entries about this team and those below it.
    """
    if not team:
        return await store.list_audit(limit, before)
    names, found = below(await store.list_teams(), team), list[AuditRecord]()
    while len(found) < limit and (rows := await store.list_audit(PAGE, before)):
        found += [row for row in rows if row.team in names]
        before = rows[-1].number
    return found[:limit]


async def had_team(store: GatewayStore, name: str) -> bool:
    """Return whether a key has or had a team of a name, which may be a label alone."""
    if any(each.team == name for each in await store.list_keys()):
        return True
    value = _value("team", name)
    return await _any_entry(store, lambda entry: entry.team == name or value.search(entry.detail) is not None)


async def had_caller(store: GatewayStore, name: str, except_of: Collection[str]) -> bool:
    """Return whether a key had a caller once, apart from the keys of some teams."""
    value = _value("caller", name)
    return await _any_entry(store, lambda entry: entry.team not in except_of and value.search(entry.detail) is not None)


def _value(field: str, value: str) -> re.Pattern[str]:
    """Matches the details of a change that gave a field a value, or took it away."""
    return re.compile(rf"(?:^|; ){field}: (?:.* -> )?{re.escape(value)}(?: -> |; |$)")


async def _any_entry(store: GatewayStore, matches: Callable[[AuditRecord], bool]) -> bool:
    before: int | None = None
    while rows := await store.list_audit(PAGE, before):
        if any(map(matches, rows)):
            return True
        before = rows[-1].number
    return False


async def broken_entry(store: GatewayStore, page: int = PAGE) -> int | None:
    """Return the number of the oldest entry of the audit log whose hash does not follow from the one before it; ``None`` if all do."""
    broken: int | None = None
    later: AuditRecord | None = None
    before: int | None = None
    while rows := await store.list_audit(page, before):
        for row in rows:
            if later is not None and (later.before != row.digest or later.number != row.number + 1):
                broken = later.number
            if row.digest != row.computed_digest():
                broken = row.number
            later, before = row, row.number
    if later is not None and (later.number != 1 or later.before):
        broken = later.number
    return broken
