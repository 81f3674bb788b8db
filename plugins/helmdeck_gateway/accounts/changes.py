"""Changes of keys and teams: each one is stored together with its entry in the audit log, and refused outside the actor's team."""

from __future__ import annotations

import getpass
import hashlib
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from helmdeck_gateway.accounts.keys import NewKey, new_key
from helmdeck_gateway.accounts.node_fields import key_data, team_data
from helmdeck_gateway.accounts.principals import RESERVED_CALLERS
from helmdeck_gateway.accounts.visibility import below, had_caller, had_team
from helmdeck_gateway.stores.records import MAX_TEAMS, AuditRecord, KeyRecord, TeamRecord
from helmdeck_gateway.stores.store import GatewayStore

Record = TypeVar("Record", KeyRecord, TeamRecord)
Change = Callable[[], Awaitable[tuple[Record | None, Record]]]
"""Returns a record before and after a change, as it is stored now."""

MAX_TRIES: Final = 100
"""Attempts to store a change while others change the same record or add to the audit log."""
NO_TEAM: Final = "none"
"""Removes the team of a key in commands; no team has the name."""
HIDDEN: Final = ("id", "state", "created")
"""Fields that are not details of a change."""
MAX_SHOWN: Final = 1_000
"""Characters of one value in the audit log. A long value takes no place of another one, so that no change is left out."""


@attrs.frozen(kw_only=True)
class Actor:
    """The one who changes keys and teams.

    :ivar name: for the audit log: the name of a key, or ``local:USER``.
    :ivar source: ``api``, ``cli``, ``console`` or ``python``.
    :ivar team: the team whose keys it may change, and those of the teams below it; empty for all.
    """

    name: str
    source: str
    team: str = ""


APPLICATION: Final = Actor(name="application", source="python")


def local_actor() -> Actor:
    """Return the user of this process, for the command line."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        user = str(os.getuid())
    return Actor(name=f"local:{user}", source="cli")


class KeyNameTaken(Exception):
    """An active key has the name."""


class KeyUnknown(Exception):
    """No active key has the name; its argument is the names of those that there are."""


class TeamNameTaken(Exception):
    """A team has or had the name; for the admin of a team, also a name that keys have or had as their team."""


class TeamUnknown(Exception):
    """No active team has the name; its arguments are the name, and the names of those that there are."""


class ChangeRefused(Exception):
    """The actor may not make the change, or it would make a loop of teams; its argument is the reason."""


# -- keys --------------------------------------------------------------------------------------------------------


async def create_key(store: GatewayStore, record: KeyRecord, actor: Actor = APPLICATION) -> NewKey:
    """Store a new key; a revoked one of the same name gets a longer name, under which bills have its spend.

    :raises KeyNameTaken: an active key has the name.
    :raises TeamUnknown: there are teams, and none of its name.
    :raises ChangeRefused: its team, or that of a revoked key of the name, is not that of the actor, or its caller is reserved
        or belongs to keys of another team.

    >>> import asyncio
    >>> from helmdeck_gateway import KeyRecord, create_key, open_store, revoke_key, state_of
    >>> async def made_and_revoked():
    ...     store = open_store("memory:")
    ...     new = await create_key(store, KeyRecord(name="ann", id="", digest="", caller="ann"))
    ...     revoked = await revoke_key(store, "ann")
    ...     await store.aclose()
    ...     return new.record.name, state_of(revoked)
    >>> asyncio.run(made_and_revoked())
    ('ann', 'revoked')
    """
    made = new_key(record)

    async def change() -> tuple[KeyRecord | None, KeyRecord]:
        stored = await find(store, record.name)
        if stored is not None and stored.revoked_s is None and stored.digest != made.record.digest:
            raise KeyNameTaken(record.name)
        version = stored.version + 1 if stored is not None else 1
        if stored is not None:
            await _check_key(store, stored, actor, is_stored=True)
        await _check_key(store, made.record, actor)
        await _check_default_caller(store, made.record)
        if stored is not None and stored.digest != made.record.digest:
            # No key has such a digest, so that the former key stays unusable.
            name, digest = f"{stored.name}~{stored.id[-8:]}", f"replaced:{stored.id}"
            await store.save_key(attrs.evolve(stored, name=name, digest=digest, old_digest="", version=1))
        return None, attrs.evolve(made.record, version=version)

    return NewKey(await _save_key(store, actor, "key created", change), made.secret)


async def edit_key(
    store: GatewayStore, name: str, edit: Callable[[KeyRecord], KeyRecord], actor: Actor = APPLICATION
) -> KeyRecord:
    """Change the fields of a key; its id, secret and spend stay.

    :raises KeyUnknown: there is no active key of the name.
    :raises TeamUnknown: there are teams, and none of its name.
    :raises ChangeRefused: its team, before or after, is not that of the actor, its caller is reserved, or it signs in with
        tokens.
    """

    async def change() -> tuple[KeyRecord, KeyRecord]:
        stored = await active(store, name)
        await _check_key(store, stored, actor, is_stored=True)
        if not stored.has_secret:  # the next token would undo the change
            raise ChangeRefused(
                f"{name!r} signs in with tokens: its team, role, models and limits are those of the token and of "
                "[gateway.sign_in]; only keys revoke and keys restore change it"
            )
        edited = edit(stored)
        if edited.name != name:
            raise ChangeRefused(f"the name of the key {name!r} cannot be changed")
        await _check_key(store, edited, actor)
        return stored, attrs.evolve(edited.moved_from(stored), version=stored.version + 1)

    return await _save_key(store, actor, "key edited", change)


async def rotate_key(
    store: GatewayStore, name: str, actor: Actor = APPLICATION, *, grace_s: float = 0.0, now_s: float | None = None
) -> NewKey:
    """Give a key a new secret; its id, limits and spend stay.

    :param grace_s: seconds for which the earlier key is accepted as well.
    :raises KeyUnknown: there is no active key of the name.
    :raises ChangeRefused: its team is not that of the actor.
    """
    now_s = time.time() if now_s is None else now_s
    made: list[NewKey] = []

    async def change() -> tuple[KeyRecord, KeyRecord]:
        stored = await active(store, name)
        await _check_key(store, stored, actor, is_stored=True)
        if not stored.has_secret:
            raise ChangeRefused(f"{name!r} signs in with tokens, and has no key")
        if not made or made[0].record.id != stored.id:
            made[:] = [new_key(stored)]
        old = {"old_digest": stored.digest, "old_until_s": now_s + grace_s} if grace_s > 0 else {"old_digest": ""}
        return stored, attrs.evolve(stored, digest=made[0].record.digest, version=stored.version + 1, **old)

    return NewKey(await _save_key(store, actor, "key rotated", change), made[0].secret)


async def revoke_key(
    store: GatewayStore, name: str, now_s: float | None = None, actor: Actor = APPLICATION
) -> KeyRecord:
    """Revoke a key.

    :raises KeyUnknown: there is no active key of the name.
    :raises ChangeRefused: its team is not that of the actor.
    """
    now_s = time.time() if now_s is None else now_s

    async def change() -> tuple[KeyRecord, KeyRecord]:
        stored = await active(store, name)
        await _check_key(store, stored, actor, is_stored=True)
        return stored, attrs.evolve(stored, revoked_s=now_s, version=stored.version + 1)

    return await _save_key(store, actor, "key revoked", change)


async def restore_key(store: GatewayStore, name: str, actor: Actor = APPLICATION) -> KeyRecord:
    """Accept the tokens of a revoked account again; its caller, spend and id stay.

    :raises KeyUnknown: there is no key or account of the name.
    :raises ChangeRefused: it is a key, whose secret others may have, or it is not revoked, or its team is not that of the actor.
    """

    async def change() -> tuple[KeyRecord, KeyRecord]:
        stored = await find(store, name)
        if stored is None:
            raise KeyUnknown(", ".join(each.name for each in await store.list_keys() if each.has_tokens))
        await _check_key(store, stored, actor, is_stored=True)
        if not stored.has_tokens:
            raise ChangeRefused(
                f"{name!r} is a key, whose secret others may have, and stays revoked; only accounts that sign in with tokens are "
                "restored"
            )
        if stored.revoked_s is None:
            raise ChangeRefused(f"the account {name!r} is not revoked")
        return stored, attrs.evolve(stored, revoked_s=None, version=stored.version + 1)

    return await _save_key(store, actor, "key restored", change)


async def find(store: GatewayStore, name: str) -> KeyRecord | None:
    """Return a key by name, revoked or not."""
    return next((record for record in await store.list_keys() if record.name == name), None)


async def active(store: GatewayStore, name: str) -> KeyRecord:
    """Return a key that is not revoked.

    :raises KeyUnknown: there is none of the name.
    """
    records: Sequence[KeyRecord] = [each for each in await store.list_keys() if each.revoked_s is None]
    for record in records:
        if record.name == name:
            return record
    raise KeyUnknown(", ".join(record.name for record in records))


# -- teams -------------------------------------------------------------------------------------------------------


async def create_team(store: GatewayStore, record: TeamRecord, actor: Actor = APPLICATION) -> TeamRecord:
    """Store a new team.

    A name is used once: the keys of a revoked team, its requests, bills and the audit log have it.

    :raises TeamNameTaken: a team has or had the name; for an actor of a team, also a name that keys have or had as their team.
    :raises TeamUnknown: there is no active team of the name of its parent.
    :raises ChangeRefused: its name is ``none``, its parent is not the actor's team or one below it, or there are too many teams
        above it.
    """
    if record.name == NO_TEAM:
        raise ChangeRefused(f"the name {NO_TEAM!r} means no team in --team and --parent; choose another one")
    made = attrs.evolve(record, id=f"team-{secrets.token_hex(8)}")

    async def change() -> tuple[TeamRecord | None, TeamRecord]:
        teams = await _teams_by_name(store)
        stored = teams.get(record.name)
        if stored is not None and stored.id != made.id:
            raise TeamNameTaken(record.name)
        _check_team(teams, made, actor)
        if stored is None and actor.team and await had_team(store, record.name):
            raise TeamNameTaken(record.name)
        return None, attrs.evolve(made, version=stored.version + 1 if stored is not None else 1)

    return await _save_team(store, actor, "team created", change)


async def edit_team(
    store: GatewayStore, name: str, edit: Callable[[TeamRecord], TeamRecord], actor: Actor = APPLICATION
) -> TeamRecord:
    """Change the fields of a team; its id and spend stay.

    :raises TeamUnknown: there is no active team of the name, or of the name of its parent.
    :raises ChangeRefused: the team is not below that of the actor, or is above itself.
    """

    async def change() -> tuple[TeamRecord, TeamRecord]:
        teams = await _teams_by_name(store)
        stored = _active_team(teams, name, actor)
        _check_team(teams, stored, actor)
        edited = edit(stored)
        if edited.name != name:
            raise ChangeRefused(f"the name of the team {name!r} cannot be changed")
        _check_team(teams, edited, actor)
        return stored, attrs.evolve(edited, version=stored.version + 1)

    return await _save_team(store, actor, "team edited", change)


async def revoke_team(
    store: GatewayStore, name: str, now_s: float | None = None, actor: Actor = APPLICATION
) -> TeamRecord:
    """Revoke a team: the keys in it and below it are refused.

    :raises TeamUnknown: there is no active team of the name.
    :raises ChangeRefused: the team is not below that of the actor.
    """
    now_s = time.time() if now_s is None else now_s

    async def change() -> tuple[TeamRecord, TeamRecord]:
        teams = await _teams_by_name(store)
        stored = _active_team(teams, name, actor)
        _check_team(teams, stored, actor)
        return stored, attrs.evolve(stored, revoked_s=now_s, version=stored.version + 1)

    return await _save_team(store, actor, "team revoked", change)


# -- what an actor may change ------------------------------------------------------------------------------------


async def _teams_by_name(store: GatewayStore) -> Mapping[str, TeamRecord]:
    return {each.name: each for each in await store.list_teams()}


def _active_team(teams: Mapping[str, TeamRecord], name: str, actor: Actor = APPLICATION) -> TeamRecord:
    found = teams.get(name)
    if found is None or found.revoked_s is not None:
        seen = below(tuple(teams.values()), actor.team) if actor.team else teams
        raise TeamUnknown(name, ", ".join(each for each in seen if each in teams and teams[each].revoked_s is None))
    return found


async def _check_key(store: GatewayStore, record: KeyRecord, actor: Actor, *, is_stored: bool = False) -> None:
    teams = await _teams_by_name(store)
    if actor.team and record.team not in below(tuple(teams.values()), actor.team):
        raise ChangeRefused(f"the key {record.name!r} is not of the team {actor.team!r} or of one below it")
    if record.caller in RESERVED_CALLERS and not is_stored:
        raise ChangeRefused(
            f"the caller {record.caller!r} is reserved for requests without a key and the console; name another caller"
        )
    if actor.team and not is_stored:
        await _check_caller(store, record, below(tuple(teams.values()), actor.team))
    if record.team and teams and not is_stored:
        _active_team(teams, record.team, actor)


async def _check_caller(store: GatewayStore, record: KeyRecord, names: frozenset[str]) -> None:
    """Check that a key does not get the stored responses of keys of other teams, which belong to their callers."""
    records = await store.list_keys()
    own = {each.caller for each in records if each.team in names}
    is_own = record.caller in own or (
        record.caller == record.name and not await had_caller(store, record.name, except_of=names)
    )
    if not is_own or any(each.caller == record.caller and each.team not in names for each in records):
        raise ChangeRefused(
            f"the caller {record.caller!r} is not one of the team; leave it out, or name one of its keys"
        )


async def _check_default_caller(store: GatewayStore, record: KeyRecord) -> None:
    """Check that a key does not share stored responses with keys of another team because of its name alone."""
    if record.caller != record.name:
        return
    for each in await store.list_keys():
        if each.caller == record.caller and each.team not in ("", record.team):
            raise ChangeRefused(
                f"the caller {record.caller!r} has the stored responses of keys of the team {each.team!r}; name another caller"
            )


def _check_team(teams: Mapping[str, TeamRecord], record: TeamRecord, actor: Actor) -> None:
    if actor.team:
        names = below(tuple(teams.values()), actor.team)
        # The limits of the actor's own team are set by those above it.
        if record.parent not in names or record.name == actor.team:
            raise ChangeRefused(f"the team {record.name!r} is not below the team {actor.team!r}")
    parent, count = record.parent, 1
    while parent:
        if parent == record.name:
            raise ChangeRefused(f"the team {record.name!r} would be above itself")
        parent, count = _active_team(teams, parent, actor).parent, count + 1
        if count > MAX_TEAMS:
            raise ChangeRefused(f"at most {MAX_TEAMS} teams are allowed above a key")


# -- one change --------------------------------------------------------------------------------------------------


async def _save_key(store: GatewayStore, actor: Actor, action: str, change: Change[KeyRecord]) -> KeyRecord:
    return await _save(store, actor, action, change, key_data, store.save_key)


async def _save_team(store: GatewayStore, actor: Actor, action: str, change: Change[TeamRecord]) -> TeamRecord:
    return await _save(store, actor, action, change, team_data, store.save_team)


async def _save(
    store: GatewayStore,
    actor: Actor,
    action: str,
    change: Change[Record],
    data_of: Callable[[Record], Mapping[str, Any]],
    save: Callable[[Record, AuditRecord], Awaitable[bool]],
) -> Record:
    """Store a change of the newest version with its entry in the audit log."""
    subject = ""
    for _ in range(MAX_TRIES):
        last = await store.list_audit(1)  # first: a change that others make from here on ends this attempt
        before, after = await change()
        team = after.team if isinstance(after, KeyRecord) else after.name
        subject = f"the {'key' if isinstance(after, KeyRecord) else 'team'} {after.name!r}"
        details = _details(None if before is None else data_of(before), data_of(after))
        entry = _entry(actor, action, after.name, team, details).sealed(last[0] if last else None)
        if await save(after, entry) or await _is_added(store, entry):
            return after
    raise ChangeRefused(f"{subject} is changed by others all the time; try again")


async def _is_added(store: GatewayStore, entry: AuditRecord) -> bool:
    """Whether an entry is in the audit log: after a lost connection, a store repeats the step and finds its own entry."""
    return list(await store.list_audit(1, entry.number + 1)) == [entry]


def _entry(actor: Actor, action: str, subject: str, team: str, detail: str) -> AuditRecord:
    return AuditRecord(
        number=0,
        time_s=round(time.time(), 3),
        actor=actor.name,
        source=actor.source,
        action=action,
        subject=subject,
        team=team,
        detail=detail,
    )


def _details(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    """What a change is, such as ``rate: 5 -> 10``."""
    rows = [
        f"{name}: {_shown(value)}" if before is None else f"{name}: {_shown(before.get(name))} -> {_shown(value)}"
        for name, value in after.items()
        if name not in HIDDEN and (value is not None if before is None else before.get(name) != value)
    ]
    return "; ".join(rows)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, value)) or "none" if isinstance(value, tuple | list) else str(value)
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}… ({len(text):,} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()})"
