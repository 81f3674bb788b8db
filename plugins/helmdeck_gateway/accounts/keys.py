"""Keys of clients: how they are made, and how the sender of a request is found by one.

A key is ``hd-ID-SECRET``: the id is public and may appear in log lines; the secret has 256 random bits. Stores keep the SHA-256 of
the whole key. A slow hash would add nothing, since 2^256 secrets cannot be tried.
"""

from __future__ import annotations

import collections
import datetime
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

import attrs

from helmdeck_gateway.accounts.local_only import LocalOnly
from helmdeck_gateway.accounts.principals import Authoriser, Principal, key_of
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.records import KeyRecord, TeamRecord
from helmdeck_gateway.stores.store import GatewayStore, TeamStore
from helmdeck_storage import StorageError

T = TypeVar("T")

PREFIX: Final = "hd"
CACHE_S: Final = 0.9
"""Seconds after which a worker looks a key and its teams up again: with the time of the lookup, a change has an effect within one
second."""

MAX_CACHED: Final = 4_096
"""Keys that a worker remembers, unknown ones included."""

_KEY: Final = re.compile(rb"hd-[0-9a-f]{12}-[A-Za-z0-9_-]{43}")


@attrs.frozen(repr=False)
class NewKey:
    """A key with its secret, which is shown once."""

    record: KeyRecord
    secret: str


def new_key(record: KeyRecord) -> NewKey:
    """Return a record with a new secret and its digest.

    :param record: its id is kept, if it has one.
    """
    key_id = record.id or secrets.token_hex(6)
    secret = f"{PREFIX}-{key_id}-{secrets.token_urlsafe(32)}"
    return NewKey(attrs.evolve(record, id=key_id, digest=digest_of(secret.encode())), secret)


def digest_of(key: bytes) -> str:
    """Return what stores keep of a key.

    >>> from helmdeck_gateway import digest_of
    >>> len(digest_of(b"example-key"))
    64
    """
    return hashlib.sha256(key).hexdigest()


class StoredKeys:
    """Finds the sender of a request by a key of the store.

    :param find_store: returns the store; ``None`` while there is none, such as before the first key is created.
    :param shared: the check of the shared key, if there is one.
    :param local: the check of requests where no key is needed.
    :param is_required: a request needs a key even if the store has none; else the first key of the store closes the gateway.
    """

    def __init__(
        self,
        find_store: Callable[[], GatewayStore | None],
        shared: Authoriser | None = None,
        *,
        local: LocalOnly | None = None,
        is_required: bool = False,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._find_store = find_store
        self._shared = shared
        self._local = local or LocalOnly()
        self._is_required = is_required or shared is not None
        self._clock = clock
        self._now = now
        self.teams: KnownTeams = KnownTeams(find_store, clock)
        self._known: collections.OrderedDict[str, tuple[Principal | None, float]] = collections.OrderedDict()
        self._checked_s = -CACHE_S

    async def authorise(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Implement ``Authoriser.authorise``."""
        key = key_of(headers)
        if _KEY.fullmatch(key) and (principal := await self._principal(key)) is not None:
            return principal
        if self._shared is not None:
            return await self._shared.authorise(headers)
        if not await self._needs_key():
            self._local.check(headers)
            return Principal()
        raise _rejected("the key is missing or wrong; send one key, as Authorization: Bearer KEY or as x-api-key")

    async def _principal(self, key: bytes) -> Principal | None:
        """The sender that a key stands for; ``None`` for an unknown key.

        :raises Problem: the key or a team above it is revoked, or the key has expired.
        """
        digest, now = digest_of(key), self._clock()
        known = self._known.get(digest)
        if known is None or known[1] <= now:
            store = self._find_store()
            record = await answered(store.find_key(digest)) if store is not None else None
            principal, until_s = None, now + CACHE_S
            if record is not None:
                teams, teams_until_s = await self.teams.find(record.team)
                principal, until_s = principal_of(record, teams), min(until_s, teams_until_s)
            known = self._known[digest] = (principal, until_s)
            self._known.move_to_end(digest)
            while len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
        principal = known[0]
        if principal is None or (record := principal.key) is None:
            return None
        now_s = self._now()
        if not record.accepts(digest, now_s):
            if record.old_digest and hmac.compare_digest(record.old_digest, digest):
                raise _rejected(
                    f"the key {record.name!r} was rotated, and this one was valid until {utc(record.old_until_s)}"
                )
            return None
        check_active(principal, now_s)
        return principal

    async def _needs_key(self) -> bool:
        """Whether requests need a key; once they do, they always will."""
        if not self._is_required and self._clock() >= self._checked_s + CACHE_S:
            store = self._find_store()
            self._is_required = store is not None and bool(await answered(store.list_keys()))
            self._checked_s = self._clock()
        return self._is_required


class KnownTeams:
    """The teams of a store, which are looked up again after ``CACHE_S``.

    :param find_store: returns the store; ``None`` while there is none.
    """

    def __init__(self, find_store: Callable[[], TeamStore | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._find_store = find_store
        self._clock = clock
        self._known: collections.OrderedDict[str, tuple[tuple[TeamRecord, ...], float]] = collections.OrderedDict()

    async def find(self, name: str) -> tuple[tuple[TeamRecord, ...], float]:
        """Return a team and those above it, from the bottom, and the time at which they are looked up again.

        :param name: of a team; without one, and for a team that the store does not have, there are none.
        :raises Problem: the store does not answer.
        """
        now = self._clock()
        if not name or (store := self._find_store()) is None:
            return (), now + CACHE_S
        known = self._known.get(name)
        if known is None or known[1] <= now:
            known = self._known[name] = (tuple(await answered(store.find_teams(name))), now + CACHE_S)
            self._known.move_to_end(name)
            while len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
        return known


def check_active(principal: Principal, now_s: float) -> None:
    """Check that the key of a sender and the teams above it may be used.

    :raises Problem: the key or a team is revoked, or the key has expired.
    """
    if (record := principal.key) is not None:
        if record.revoked_s is not None:
            raise _rejected(f"the key {record.name!r} was revoked")
        if record.expires_s is not None and record.expires_s <= now_s:
            raise _rejected(f"the key {record.name!r} expired at {utc(record.expires_s)}", "key_expired")
    check_teams(principal.teams)


def check_teams(teams: Sequence[TeamRecord]) -> None:
    """Check that no team is revoked.

    :raises Problem: one is.
    """
    for team in teams:
        if team.revoked_s is not None:
            raise _rejected(f"the team {team.name!r} of this key was revoked", "team_revoked")


async def answered(lookup: Awaitable[T]) -> T:
    """Return the result of a lookup in the store.

    :raises Problem: the store does not answer.
    """
    try:
        return await lookup
    except StorageError as exc:
        raise unavailable(exc) from exc


def unavailable(error: StorageError) -> Problem:
    """Return the error for a request that cannot be checked; without its store, a gateway with keys serves no client."""
    return Problem(
        message=f"the gateway cannot check the limits of the key: {error}",
        status=503, kind="overloaded_error", code="store_unavailable", retry_after_s=1, is_worth_retrying=True,
    )  # fmt: skip


def _rejected(message: str, code: str = "invalid_api_key") -> Problem:
    return Problem(message=message, status=401, kind="authentication_error", code=code)


def principal_of(record: KeyRecord, teams: tuple[TeamRecord, ...] = ()) -> Principal:
    """Return the sender that a key stands for.

    :param teams: those above it, from the bottom.
    """
    return Principal(
        caller=record.caller,
        models=None if record.models is None else frozenset(record.models),
        narrows_tools=record.narrows_tools,
        key=record,
        teams=teams,
    )


def utc(time_s: float) -> str:
    """Return a time, such as ``2026-11-22 12:00 UTC``."""
    return datetime.datetime.fromtimestamp(time_s, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
