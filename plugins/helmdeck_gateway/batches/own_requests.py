"""Requests of the gateway to itself, with the limits of their sender as they are now, for batches and responses in the background."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

from helmdeck_core import EMPTY
from helmdeck_gateway.accounts.keys import CACHE_S, KnownTeams, check_active, principal_of
from helmdeck_gateway.accounts.principals import PRINCIPAL, Principal
from helmdeck_gateway.batches.batch import Sender
from helmdeck_gateway.dialects.reply import Dialect
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.store import GatewayStore

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Scope

SPEND_LIMIT: Final = 402
"""The status of requests whose spend limit is used up. Clients are not to wait for its reset, but requests of a queue may."""

_encode = msgspec.json.Encoder().encode


@attrs.frozen
class OwnAnswer:
    """A response."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes

    @property
    def wait_s(self) -> float | None:
        """Seconds until the same request may succeed, also after a spend limit is reset; ``None`` if it is not to be sent again."""
        if self.status == SPEND_LIMIT:
            return self._reset_s
        if self.status not in (429, 503) or self.headers.get(b"x-should-retry") != b"true":
            return None
        text = self.headers.get(b"retry-after", b"")
        return max(1.0, float(text)) if text.isdigit() else 1.0

    @property
    def _reset_s(self) -> float | None:
        """Seconds until the spend limit that is used up is reset."""
        error = msgspec.json.decode(self.body).get("error")
        resets_at = error.get("resets_at") if isinstance(error, dict) else None
        if not isinstance(resets_at, str):
            return None
        return max(1.0, datetime.datetime.fromisoformat(resets_at).timestamp() - time.time())


def refused(problem: Problem, dialect: Dialect) -> OwnAnswer:
    """Return the response to a request whose sender may not send it."""
    headers = {name.encode(): value.encode() for name, value in problem.headers.items()}
    return OwnAnswer(problem.status, headers, _encode(dialect.error(problem)))


async def send_own(
    app: ASGIApp,
    path: str,
    body: bytes,
    principal: Principal,
    request_id: str,
    tags: str,
    *,
    facts: Mapping[str, Any] = EMPTY,
    on_events: Callable[[bytes], None] | None = None,
) -> OwnAnswer:
    """Send a request.

    :param tags: the header of that name.
    :param facts: further entries of the scope.
    :param on_events: takes the events of a stream, which the response leaves out.
    """
    headers = [(b"content-type", b"application/json"), (b"x-request-id", request_id.encode())]
    if tags:
        headers.append((b"x-helmdeck-tags", tags.encode("latin-1")))
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"",
        "headers": headers, "client": None, "server": None, PRINCIPAL: principal, **facts,
    }  # fmt: skip
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    parts: list[bytes] = []
    start: dict[str, Any] = {}

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif on_events is not None and start["status"] == 200:
            on_events(message.get("body", b""))
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return OwnAnswer(start["status"], dict(start["headers"]), b"".join(parts))


class Senders:
    """The senders of such requests, as they are now."""

    def __init__(self, find_store: Callable[[], GatewayStore | None]) -> None:
        self._known: dict[str, tuple[Principal, float]] = {}
        self._teams = KnownTeams(find_store)

    async def principal(self, store: GatewayStore, sender: Sender) -> Principal:
        """Return a sender.

        :raises Problem: its key or a team above it is revoked, or the key has expired.
        """
        if not sender.key_id:
            models = None if sender.models is None else frozenset(sender.models)
            return Principal(caller=sender.caller, models=models, narrows_tools=sender.narrows_tools)
        known = self._known.get(sender.key_id)
        if known is None or known[1] <= time.monotonic():
            record = await store.find_key(sender.digest) if sender.digest else None
            if record is None or record.id != sender.key_id:  # the key was rotated, or replaced under its name
                record = next((each for each in await store.list_keys() if each.id == sender.key_id), None)
            if record is None:
                raise Problem(
                    message=f"the key {sender.key_name!r} does not exist any more",
                    status=401, kind="authentication_error", code="invalid_api_key",
                )  # fmt: skip
            teams, _ = await self._teams.find(record.team)
            known = self._known[sender.key_id] = (principal_of(record, teams), time.monotonic() + CACHE_S)
        check_active(known[0], time.time())
        return known[0]
