"""Finds the sender of a request by a token of an issuer. A token is verified once, and remembered until it expires."""

from __future__ import annotations

import collections
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from helmdeck_gateway.accounts.keys import CACHE_S, KnownTeams, answered, check_teams, principal_of, unavailable
from helmdeck_gateway.accounts.principals import Authoriser, Principal, key_of
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.sign_in.identity import record_of
from helmdeck_gateway.sign_in.key_set import KeySet
from helmdeck_gateway.sign_in.settings import SignInSettings
from helmdeck_gateway.sign_in.tokens import BadToken, Verified, is_token, unverified, verify
from helmdeck_gateway.stores.records import KeyRecord, TeamRecord
from helmdeck_gateway.stores.store import GatewayStore
from helmdeck_storage import StorageError

MAX_REMEMBERED: Final = 4_096
"""Verified tokens that a process remembers."""

KeySets = dict[tuple[str, str], KeySet]
"""The keys of issuers by their URLs; they outlive a reload of the configuration."""


@attrs.define(eq=False)
class _Known:
    """A verified token and its sender.

    :ivar until_s: when the account and its teams are looked up again.
    """

    token: Verified
    keys: KeySet
    principal: Principal
    until_s: float


class SignedTokens:
    """The check of tokens.

    :param issuers: the settings by name.
    :param find_store: returns the store that has the accounts.
    :param otherwise: checks requests without a token.
    :param key_sets: the keys of issuers that are known already.
    :param outcomes: counts tokens by issuer and outcome; those that were remembered are not counted again.
    """

    def __init__(
        self,
        issuers: Mapping[str, SignInSettings],
        find_store: Callable[[], GatewayStore | None],
        otherwise: Authoriser | None = None,
        *,
        key_sets: KeySets | None = None,
        outcomes: collections.Counter[tuple[str, str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._find_store = find_store
        self._otherwise = otherwise
        self._outcomes = collections.Counter[tuple[str, str]]() if outcomes is None else outcomes
        self._clock, self._now = clock, now
        self._teams = KnownTeams(find_store, clock)
        self._known: collections.OrderedDict[bytes, _Known] = collections.OrderedDict()
        self._issuers: dict[str, tuple[str, SignInSettings, KeySet]] = {}
        sets: KeySets = {} if key_sets is None else key_sets
        for name, settings in issuers.items():
            keys = sets.setdefault((settings.issuer, settings.jwks_url), KeySet(name, settings))
            self._issuers[settings.issuer] = name, settings, keys

    async def authorise(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Implement ``Authoriser.authorise``."""
        token = key_of(headers)
        if not is_token(token):
            if self._otherwise is not None:
                return await self._otherwise.authorise(headers)
            raise Problem(
                message="the key or token is missing or wrong; send one, as Authorization: Bearer KEY",
                status=401, kind="authentication_error", code="invalid_api_key",
            )  # fmt: skip
        digest = hashlib.sha256(token).digest()
        known = self._known.get(digest)
        if known is None:
            known = await self._verified(token)
            self._known[digest] = known
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        elif (problem := await self._recheck(known)) is not None:
            self._known.pop(digest, None)
            raise problem
        check_teams(known.principal.teams)
        return known.principal

    async def _verified(self, token: bytes) -> _Known:
        name = "unknown"
        try:
            issuer = unverified(token)[1].get("iss")
            if not isinstance(issuer, str) or issuer not in self._issuers:
                raise BadToken("issuer", "its issuer is unknown to the gateway")
            name, settings, keys = self._issuers[issuer]
            # A configuration that was read and cannot be used changes nothing, so its settings are not taken over before.
            keys.name, keys.settings = name, settings
            verified = await verify(token, settings, keys, self._now())
            record = record_of(verified.claims, name, settings)
            teams, until_s = await self._teams_of(record)
            record = await self._stored(record)
        except BadToken as exc:
            self._outcomes[name, exc.reason] += 1
            raise exc.problem() from None
        if record.revoked_s is not None:
            raise _revoked(record)
        self._outcomes[name, "accepted"] += 1
        return _Known(token=verified, keys=keys, principal=principal_of(record, teams), until_s=until_s)

    async def _recheck(self, known: _Known) -> Problem | None:
        """Why a token that was valid is refused now; ``None`` if it is not."""
        if self._now() >= known.token.expires_s:
            return BadToken("expired", "it has expired; sign in again for a new one").problem()
        await known.keys.refresh()
        if not known.keys.has(known.token.key):
            return BadToken("key", "it is signed by a key that the issuer has withdrawn").problem()
        record = known.principal.key
        if record is not None and self._clock() >= known.until_s:
            known.until_s = self._clock() + CACHE_S  # the other requests of this moment need not look it up as well
            if (stored := await self._find(record)) is not None and stored.revoked_s is not None:
                return _revoked(record)
            try:
                teams, _ = await self._teams_of(record)
            except BadToken as exc:
                return exc.problem()
            known.principal = principal_of(record, teams)
        return None

    async def _teams_of(self, record: KeyRecord) -> tuple[tuple[TeamRecord, ...], float]:
        """The team of an account and those above it, as ``KnownTeams.find`` returns them.

        :raises BadToken: the store has teams, and none of the name: no limit of a team would apply.
        """
        found, store = await self._teams.find(record.team), self._find_store()
        if record.team and not found[0] and store is not None and len(await answered(store.list_teams())):
            raise BadToken("team", "its team does not exist in the gateway")
        return found

    async def _find(self, record: KeyRecord) -> KeyRecord | None:
        store = self._find_store()
        if store is None:
            raise unavailable(StorageError("no store is configured"))
        return await answered(store.find_key(record.digest))

    async def _stored(self, record: KeyRecord) -> KeyRecord:
        """Store the account of a token, so that commands and bills show it, and revoking it takes effect.

        The name stays as it was at the first sign-in; another account that has it already makes this one's longer.
        """
        stored = await self._find(record)
        store = self._find_store()
        assert store is not None
        try:
            if stored is None:
                record = attrs.evolve(record, created_s=self._now())
                for name in (record.name, f"{record.name}~{record.id[-8:]}"):
                    await store.save_key(attrs.evolve(record, name=name))
                    # Another process may have been faster.
                    if (stored := await store.find_key(record.digest)) is not None:
                        break
                else:
                    raise unavailable(StorageError(f"the account {record.name!r} could not be stored"))
            current = attrs.evolve(record, **{each: getattr(stored, each) for each in _KEPT}).moved_from(stored)
            if current != stored and stored.revoked_s is None:
                await store.save_key(attrs.evolve(current, version=stored.version + 1))
        except StorageError as exc:
            raise unavailable(exc) from exc
        return current

    def state(self) -> Mapping[str, Any]:
        """Return the number and the age of the keys of each issuer, and whether the last fetch succeeded; ``None`` before one."""
        return {
            name: {
                "keys": len(keys),
                "age_s": None if keys.age_s is None else round(keys.age_s),
                "is_reachable": not keys.error if keys.fetches else None,
            }
            for name, _, keys in self._issuers.values()
        }


_KEPT: Final = ("name", "version", "created_s", "revoked_s")
"""What the store decides; the rest of an account follows from the token."""


def _revoked(record: KeyRecord) -> Problem:
    return Problem(
        message=f"the account {record.name!r} was revoked",
        status=401, kind="authentication_error", code="account_revoked",
    )  # fmt: skip
