"""The interface of stores: documents with an owner and an end, keys of clients, their teams and accounts, and the audit log.

Every operation is one atomic step, also across processes and hosts, and does not block the event loop. A store belongs to the
event loop that uses it first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from helmdeck_gateway.stores.records import (
    Admission,
    AuditRecord,
    KeyRecord,
    Node,
    Open,
    Period,
    Refusal,
    TeamRecord,
    Usage,
)
from helmdeck_gateway.stores.rows import RowStore
from helmdeck_storage import StorageError

MAX_DOCUMENTS = 10_000
"""Documents that are kept of each kind; the oldest ones are removed first."""

MAX_KIND_BYTES = 1_000_000_000
"""Bytes of all documents of a kind in a database; the oldest ones are removed first. Redis has a limit of its own, ``maxmemory``."""

ACCOUNTS_AT_ONCE = 1_000
"""Accounts that one step reads."""

MAX_DOCUMENT_BYTES = 8_000_000
"""A larger document is not stored."""


class DocumentStore(Protocol):
    """Documents: bytes under a kind and a key, for one owner.

    Owners are separate: two of them may use the same key, and neither sees the other's document.
    """

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Store a document in place of the owner's earlier one.

        :param kind: a short constant, such as ``response``.
        :param key: any string; keys may come from clients.
        :param ttl_s: seconds after which the document is gone.
        :raises StorageError: the store does not answer, or the document is larger than ``MAX_DOCUMENT_BYTES``.
        """
        ...

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Return a document; ``None`` if the owner has none under the key.

        :raises StorageError: the store does not answer.
        """
        ...

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Delete a document; return whether there was one.

        :raises StorageError: the store does not answer.
        """
        ...


class KeyStore(Protocol):
    """The keys of clients: their names, limits and hashes, never the secrets."""

    async def save_key(self, record: KeyRecord, entry: AuditRecord | None = None) -> bool:
        """Store a key in place of the previous version of its name, and add an entry to the audit log, in one step.

        :returns: ``False``, and nothing is stored, if the stored version is not ``record.version - 1`` (0: no key of the name), or
            the number of the last entry is not ``entry.number - 1``.
        :raises StorageError: the store does not answer.
        """
        ...

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Return the key with the digest, revoked or not; ``KeyRecord.accepts`` reports whether an old digest is still accepted.

        :raises StorageError: the store does not answer.
        """
        ...

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Return all keys by name, revoked ones included.

        :raises StorageError: the store does not answer.
        """
        ...


class TeamStore(Protocol):
    """The teams of keys."""

    async def save_team(self, record: TeamRecord, entry: AuditRecord | None = None) -> bool:
        """Store a team in place of the previous version of its name, as ``save_key`` does.

        :raises StorageError: the store does not answer.
        """
        ...

    async def find_teams(self, name: str) -> Sequence[TeamRecord]:
        """Return a team and those above it, from the bottom; at most ``MAX_TEAMS``, and empty if there is no team of the name.

        :raises StorageError: the store does not answer.
        """
        ...

    async def list_teams(self) -> Sequence[TeamRecord]:
        """Return all teams by name, revoked ones included.

        :raises StorageError: the store does not answer.
        """
        ...


class AuditStore(Protocol):
    """The audit log. Entries are only added, by ``save_key``, ``save_team`` and ``add_audit``; no method changes or removes one."""

    async def add_audit(self, entry: AuditRecord) -> bool:
        """Add an entry.

        :returns: ``False``, and nothing is stored, if the number of the last entry is not ``entry.number - 1``.
        :raises StorageError: the store does not answer.
        """
        ...

    async def list_audit(self, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
        """Return the last entries, the newest first.

        :param before: only entries with a lower number.
        :raises StorageError: the store does not answer.
        """
        ...


class AccountStore(Protocol):
    """The accounts of keys and teams: calls under way, and requests and spend per day and month in UTC.

    A call is admitted with an upper estimate of its cost, which is held until the call is settled with its cost. The lease of a
    call is renewed while it runs. If its process is killed, the lease ends: the call no longer counts as under way, and what was
    held counts as spent, so that spend is never too low.
    """

    async def admit(
        self, nodes: Sequence[Node], call: Open, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Admit a call if all limits of all nodes allow it, and hold its estimated cost in each of their accounts.

        A spend or token limit refuses calls once what is used and held has reached it. So the limit is exceeded at most by the
        estimate of one call, or by what calls cost beyond their estimates. A refused call does not count against the rate.

        :param nodes: the account of the key, and those of the teams above it, each with its limits.
        :param call: its id is unique: a call that is under way is admitted again without a change.
        :param lease_s: seconds until the call counts as lost, unless it is renewed.
        :param now_s: seconds since 1970; by default the clock of the store.
        :raises StorageError: the store does not answer.
        """
        ...

    async def renew(
        self, accounts: Sequence[str], calls: Sequence[Open], lease_s: float, *, now_s: float | None = None
    ) -> None:
        """Renew the leases of calls that are under way, and raise the held amounts where they are lower than the given ones.

        :param accounts: those with which all of the calls were admitted.
        :raises StorageError: the store does not answer.
        """
        ...

    async def settle(
        self, accounts: Sequence[str], call_id: str, cost_nusd: int, tokens: int = 0, *, unpriced: bool = False
    ) -> bool:
        """End a call: its cost counts as spent in place of what was held, on the day on which it was admitted.

        :param accounts: those with which the call was admitted.
        :param tokens: input and output tokens, which count in place of those that were held.
        :param unpriced: the price of a model is unknown, so the cost is too low.
        :returns: whether the call was not settled yet. A call whose lease had ended is corrected.
        :raises StorageError: the store does not answer.
        """
        ...

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Return what an account has used.

        :raises StorageError: the store does not answer.
        """
        ...

    async def usages(self, accounts: Sequence[str], *, now_s: float | None = None) -> Sequence[Usage]:
        """Return what several accounts have used, in their order.

        :param accounts: about ``ACCOUNTS_AT_ONCE``, as other operations wait for this one.
        :raises StorageError: the store does not answer.
        """
        ...

    async def spend(
        self, accounts: Sequence[str], periods: Sequence[str], *, now_s: float | None = None
    ) -> Mapping[str, Period]:
        """Return the sums of several days and months, of each account that was used in one of them; all accounts at one time.

        :param accounts: about ``ACCOUNTS_AT_ONCE``.
        :param periods: such as ``2026-11-22`` and ``2026-11``.
        :raises StorageError: the store does not answer.
        """
        ...


class GatewayStore(DocumentStore, KeyStore, TeamStore, AuditStore, AccountStore, RowStore, Protocol):
    """The state of a gateway."""

    async def aclose(self) -> None:
        """Close all connections; idempotent."""
        ...


def document_id(kind: str, key: str, owner: str) -> str:
    """Return the id under which a document is stored: a hash, since keys of clients may have any length and characters."""
    return hashlib.sha256(ascii((kind, key, owner)).encode()).hexdigest()


def checked(data: bytes) -> bytes:
    """Return the data.

    :raises StorageError: it is too large.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise StorageError(
            f"a document of {len(data):,} bytes is not stored; the limit is {MAX_DOCUMENT_BYTES:,} bytes"
        )
    return data
