"""Who may see and change what: sign-in with a key, sessions on the server, roles, and tokens that protect forms.

A session is a document of the gateway's store, so that sign-out ends it for all workers. The key is looked up for every page: a
session ends when its key is revoked, expires, or loses its role.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

import attrs
import msgspec

from helmdeck_gateway import Authoriser, GatewayStore, KeyRecord, LocalOnly, Problem, digest_of, open_store

COOKIE: Final = "helmdeck_console"
KIND: Final = "console"
"""The kind of the documents that hold sessions, and the owner of all documents of the console."""

FAILURES: Final = "console-failures"
"""The kind of the documents that hold the times of failed sign-ins, by client."""

LIFE_S: Final = 12 * 3_600.0
"""Seconds after which an operator signs in again."""

IDLE_S: Final = 3_600.0
"""Seconds without a page after which a session ends."""

ROTATE_S: Final = 900.0
"""Seconds after which a session gets a new id."""

OVERLAP_S: Final = 30.0
"""Seconds for which the former id is valid, for pages that were requested before."""

ATTEMPTS: Final = 5
"""Failed sign-ins of a client in ``WINDOW_S`` after which the next ones are refused."""

WINDOW_S: Final = 60.0


class Refused(Exception):
    """A visitor is refused; the message says why.

    :ivar status: the HTTP status.
    """

    def __init__(self, message: str, status: int, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


@attrs.frozen(kw_only=True)
class Visitor:
    """The reader of a page.

    :ivar name: the name of the key.
    :ivar role: ``viewer`` reads, ``admin`` also changes.
    :ivar team: the only team whose data is visible; empty for all.
    :ivar session: the id of the session, which is secret.
    :ivar form_secret: the secret of its forms, which stays when the id changes, so that open pages stay valid.
    :ivar signed_in: whether there is a session to sign out of.
    :ivar new_cookie: the session has a new id, which the response sets.
    :ivar key: the key; ``None`` for an operator without one.
    """

    name: str
    role: str
    team: str = ""
    session: str = ""
    form_secret: str = ""
    signed_in: bool = False
    new_cookie: bool = False
    key: KeyRecord | None = None

    @property
    def is_admin(self) -> bool:
        """Whether it may change anything."""
        return self.role == "admin"

    @property
    def token(self) -> str:
        """The token that its forms carry: pages of other sites know neither it nor its secret."""
        return hmac.new(self.form_secret.encode(), b"helmdeck console form", hashlib.sha256).hexdigest()


class Session(msgspec.Struct):
    """A session, as it is stored."""

    digest: str
    created_s: float
    rotated_s: float
    role: str = ""
    form_secret: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(32))


class Request(Protocol):
    """The parts of a request that access depends on."""

    @property
    def headers(self) -> Any: ...  # noqa: D102
    @property
    def cookies(self) -> Any: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102


class Access:
    """The check of visitors.

    :param find_store: returns the store of keys and sessions.
    :param hosts: names that the header ``Host`` may have of visitors without a session; see ``[gateway] hosts``.
    :param open_role: the role of visitors without a session while the store has no key; empty: all sign in.
    :param is_always_open: ``open_role`` also applies when there are keys, as in the demo.
    :param tokens: checks tokens of issuers, which sign in as keys do.
    :param link_token: signs in as an operator with a link, as for a console on the operator's own machine.
    """

    def __init__(
        self,
        find_store: Callable[[], GatewayStore | None],
        *,
        hosts: Collection[str] = (),
        open_role: str = "",
        is_always_open: bool = False,
        tokens: Authoriser | None = None,
        link_token: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._find_store = find_store
        self._own = open_store("memory:")
        self._local = LocalOnly(hosts)
        self._open_role = open_role
        self._is_always_open = is_always_open
        self._tokens = tokens
        self._link_token = link_token
        self._now = now

    async def visitor(self, request: Request) -> Visitor | None:
        """Return the reader of a page; ``None`` if it has to sign in.

        :raises Refused: the page was requested under the name of another host.
        """
        cookie = request.cookies.get(COOKIE, "")
        if cookie and (found := await self._of_session(cookie, request.method)) is not None:
            return found
        if not self._open_role or not (self._is_always_open or await self._has_no_keys()):
            return None
        try:
            self._local.check({b"host": request.headers.get("host", "").encode("latin-1", "replace")})
        except Problem as exc:
            raise Refused(str(exc.message), 403) from exc
        is_known = cookie.startswith("open-") and len(cookie) == 48
        session = cookie if is_known else f"open-{secrets.token_urlsafe(32)}"
        return Visitor(
            name="local", role=self._open_role, session=session, form_secret=session, new_cookie=not is_known
        )

    async def sign_in(self, key: str, client: str) -> str:
        """Return the id of a new session for a key or token with a role.

        :param client: the IP address, whose failures are counted.
        :raises Refused: the key has no role, or there were too many attempts.
        """
        await self._check_attempts(client)
        store, digest = self._find_store(), digest_of(key.strip().encode())
        record = await store.find_key(digest) if store is not None and key.strip() else None
        if record is None and (record := await self._account_of(key.strip().encode())) is not None:
            digest = record.digest
        if store is None or record is None or not await self._is_usable(store, record, digest):
            await self._failed(client)
            raise Refused("This key cannot sign in. A key with a role can: helmdeck keys create NAME --role admin", 403)
        return await self._new_session(Session(digest, self._now(), self._now()))

    async def _account_of(self, token: bytes) -> KeyRecord | None:
        """The account of a token; ``None`` if it is none, or is refused."""
        if self._tokens is None:
            return None
        with contextlib.suppress(Problem):  # its reason is for the holder of the token, and in the metrics
            return (await self._tokens.authorise({b"authorization": b"Bearer " + token})).key
        return None

    async def sign_in_by_link(self, token: str, client: str) -> str:
        """Return the id of a new session for the token of a link.

        :raises Refused: the token is another one.
        """
        await self._check_attempts(client)
        if not self._link_token or not hmac.compare_digest(token.encode(), self._link_token.encode()):
            await self._failed(client)
            raise Refused("This link is not valid. The command that started the console shows the current one.", 403)
        return await self._new_session(Session("", self._now(), self._now(), role="admin"))

    async def sign_out(self, session: str) -> None:
        """End a session."""
        await self._sessions.delete(KIND, _hashed(session), KIND)

    def check_form(self, visitor: Visitor, request: Request, token: str) -> None:
        """Check that a form comes from a page of this console.

        :raises Refused: it does not.
        """
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or not hmac.compare_digest(visitor.token.encode(), token.encode()):
            raise Refused("The form is out of date or comes from another site. Load the page again, and repeat.", 403)

    # -- sessions ----------------------------------------------------------------------------------------------

    @property
    def _sessions(self) -> GatewayStore:
        return self._find_store() or self._own

    async def _new_session(self, session: Session) -> str:
        name = secrets.token_urlsafe(32)
        await self._put(name, session, IDLE_S)
        return name

    async def _put(self, name: str, session: Session, ttl_s: float) -> None:
        await self._sessions.put(KIND, _hashed(name), KIND, msgspec.json.encode(session), ttl_s)

    async def _of_session(self, name: str, method: str) -> Visitor | None:
        data = await self._sessions.get(KIND, _hashed(name), KIND)
        if data is None:
            return None
        session, now = msgspec.json.decode(data, type=Session), self._now()
        if now >= session.created_s + LIFE_S:
            await self.sign_out(name)
            return None
        visitor = await self._of_key(session)
        if visitor is None:
            await self.sign_out(name)
            return None
        visitor = attrs.evolve(visitor, form_secret=session.form_secret)
        if now < session.rotated_s + ROTATE_S or method != "GET":
            return attrs.evolve(visitor, session=name)
        renewed = await self._new_session(msgspec.structs.replace(session, rotated_s=now))
        await self._put(name, msgspec.structs.replace(session, rotated_s=now), OVERLAP_S)
        return attrs.evolve(visitor, session=renewed, new_cookie=True)

    async def _of_key(self, session: Session) -> Visitor | None:
        if session.role:
            return Visitor(name="local", role=session.role, signed_in=True)
        store = self._find_store()
        record = await store.find_key(session.digest) if store is not None else None
        if store is None or record is None or not await self._is_usable(store, record, session.digest):
            return None
        return Visitor(name=record.name, role=record.role, team=record.team, signed_in=True, key=record)

    async def _is_usable(self, store: GatewayStore, record: KeyRecord, digest: str) -> bool:
        is_expired = record.expires_s is not None and record.expires_s <= self._now()
        if record.role not in ("viewer", "admin") or record.revoked_s is not None or is_expired:
            return False
        teams = await store.find_teams(record.team) if record.team else ()
        return record.accepts(digest, self._now()) and all(team.revoked_s is None for team in teams)

    async def _has_no_keys(self) -> bool:
        store = self._find_store()
        return store is None or not await store.list_keys()

    # -- failed attempts ---------------------------------------------------------------------------------------

    async def _check_attempts(self, client: str) -> None:
        recent = await self._recent(client)
        if len(recent) >= ATTEMPTS:
            wait_s = int(recent[-ATTEMPTS] + WINDOW_S - self._now()) + 1
            raise Refused(f"There were too many attempts. Try again in {wait_s} s.", 429, wait_s)

    async def _failed(self, client: str) -> None:
        recent = [*await self._recent(client), self._now()][-ATTEMPTS:]
        await self._sessions.put(FAILURES, _hashed(client), KIND, msgspec.json.encode(recent), WINDOW_S)

    async def _recent(self, client: str) -> list[float]:
        """The times of the failures of a client, in all processes that share the store."""
        data = await self._sessions.get(FAILURES, _hashed(client), KIND)
        times = msgspec.json.decode(data, type=list[float]) if data is not None else []
        return [each for each in times if each > self._now() - WINDOW_S]


def _hashed(session: str) -> str:
    """The name under which a session is stored; a copy of the store does not sign in."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
