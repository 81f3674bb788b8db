"""The endpoints of accounts: what a key may use and has left, and the changes of keys and teams by keys with the role ``admin``."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from helmdeck_core.log import logger
from helmdeck_gateway.accounts import changes
from helmdeck_gateway.accounts.endpoint_names import ENDPOINTS
from helmdeck_gateway.accounts.keys import answered, unavailable
from helmdeck_gateway.accounts.node_fields import (
    FieldMistakes,
    key_data,
    left_data,
    team_data,
    usage_data,
    with_fields,
)
from helmdeck_gateway.accounts.node_kinds import KEYS, TEAMS, NodeKind, Record
from helmdeck_gateway.accounts.visibility import audit_entries
from helmdeck_gateway.endpoints.bodies import decode_object, read_in_time
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.stores import GatewayStore
from helmdeck_gateway.stores.records import KeyRecord, TeamRecord
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.requests import Request

    from helmdeck_gateway.accounts.principals import Principal

Serve = Callable[["Request"], Awaitable[Response]]
MAX_BYTES: Final = 100_000
MAX_ENTRIES: Final = 1_000
MAX_GRACE_S: Final = 31 * 86_400
_encode = msgspec.json.Encoder().encode


class AdminEndpoints:
    """The endpoints of accounts.

    :param find_store: returns the store of keys and teams; ``None`` while there is none.
    :param endpoints: the names to which keys and teams can be limited.
    :param body_s: seconds until the body of a request must be complete.
    """

    def __init__(
        self, find_store: Callable[[], GatewayStore | None], endpoints: Sequence[str] = ENDPOINTS, *, body_s: float
    ) -> None:
        self._find_store = find_store
        self._endpoints = endpoints
        self._body_s = body_s

    def routes(self, checked: Callable[[Serve], Serve]) -> Sequence[Route]:
        """Return the routes.

        :param checked: wraps an endpoint, so that the sender is known and a ``Problem`` becomes a response.
        """
        rows: Sequence[tuple[str, str, Serve]] = (
            ("/v1/me", "GET", self.me),
            ("/v1/admin/keys", "POST", self.create_key),
            ("/v1/admin/keys/{name}/rotate", "POST", self.rotate_key),
            ("/v1/admin/keys/{name}/restore", "POST", self.restore_key),
            ("/v1/admin/teams", "POST", self.create_team),
            ("/v1/admin/audit", "GET", self.audit),
            *self._rows(KEYS),
            *self._rows(TEAMS),
        )
        found: dict[str, dict[str, Serve]] = {}
        for path, method, serve in rows:
            found.setdefault(path, {})[method] = serve
        return [
            Route(path, checked(_by_method(by_method)), methods=list(by_method)) for path, by_method in found.items()
        ]

    def _rows(self, kind: NodeKind[Record]) -> Iterator[tuple[str, str, Serve]]:
        path = f"/v1/admin/{kind.word}s"
        yield path, "GET", functools.partial(self._list, kind)
        for method, serve in (("GET", self._show), ("PATCH", self._edit), ("DELETE", self._revoke)):
            yield f"{path}/{{name}}", method, functools.partial(serve, kind)

    # -- one's own account -------------------------------------------------------------------------------------

    async def me(self, request: Request) -> Response:
        """Return the sender's key, the teams above it, their limits, use, and what is left."""
        principal: Principal = request.state.principal
        key = principal.key
        if key is None:
            return _json({"key": None, "team": None, "nodes": []})
        store = self._store()
        nodes: list[KeyRecord | TeamRecord] = [key, *principal.teams]
        usages = await answered(_gathered([store.usage(each.id) for each in nodes]))
        rows = []
        for node, usage in zip(nodes, usages, strict=True):
            data = key_data(node) if isinstance(node, KeyRecord) else team_data(node)
            kind = "key" if isinstance(node, KeyRecord) else "team"
            rows.append({"kind": kind, **data, **usage_data(usage), "left": left_data(node.limits, usage)})
        return _json({"key": key.name, "team": key.team or None, "role": key.role or None, "nodes": rows})

    # -- keys and teams ----------------------------------------------------------------------------------------

    async def _list(self, kind: NodeKind[Record], request: Request) -> Response:
        """Return the keys or teams that the sender may see."""
        actor, store = self._admitted(request)
        return _json({f"{kind.word}s": [kind.data(each) for each in await answered(kind.visible(store, actor.team))]})

    async def _show(self, kind: NodeKind[Record], request: Request) -> Response:
        """Return a key or team with its use."""
        record, _, store = await self._node(kind, request)
        usage = await answered(store.usage(record.id))
        return _json({**kind.data(record), **usage_data(usage), "left": left_data(record.limits, usage)})

    async def _edit(self, kind: NodeKind[Record], request: Request) -> Response:
        """Change fields of a key or team."""
        record, actor, store = await self._node(kind, request)
        fields = await self._fields(request)
        edited = await kind.edit(store, record.name, lambda stored: with_fields(stored, fields, self._endpoints), actor)
        _log(actor, f"{kind.word} edited", record.name)
        return _json(kind.data(edited))

    async def _revoke(self, kind: NodeKind[Record], request: Request) -> Response:
        """Revoke a key; or a team, and with it the keys in it and below it."""
        record, actor, store = await self._node(kind, request)
        revoked = await kind.revoke(store, record.name, None, actor)
        _log(actor, f"{kind.word} revoked", record.name)
        return _json(kind.data(revoked))

    async def create_key(self, request: Request) -> Response:
        """Create a key; the response has it once."""
        actor, store = self._admitted(request)
        fields = await self._fields(request)
        name = fields.get("name")
        blank = KeyRecord(name="", id="", digest="", caller="", created_s=time.time(), team=actor.team)
        record = with_fields(blank, {"name": name, "caller": name, **fields}, self._endpoints)
        made = await changes.create_key(store, record, actor)
        _log(actor, "key created", record.name)
        return _json({**key_data(made.record), "key": made.secret}, 201)

    async def create_team(self, request: Request) -> Response:
        """Create a team."""
        actor, store = self._admitted(request)
        fields = await self._fields(request)
        blank = TeamRecord(name="", id="", parent=actor.team, created_s=time.time())
        record = with_fields(blank, {"name": None, **fields}, self._endpoints)
        made = await changes.create_team(store, record, actor)
        _log(actor, "team created", record.name)
        return _json(team_data(made), 201)

    async def rotate_key(self, request: Request) -> Response:
        """Give a key a new secret; the response has it once."""
        record, actor, store = await self._node(KEYS, request)
        fields = await self._fields(request)
        grace_s = fields.pop("grace_s", 0)
        is_number = isinstance(grace_s, int | float) and not isinstance(grace_s, bool)
        if fields or not is_number or not 0 <= grace_s <= MAX_GRACE_S:
            raise invalid(f"expected a number of seconds up to {MAX_GRACE_S:,}, and no other field", "grace_s")
        made = await changes.rotate_key(store, record.name, actor, grace_s=grace_s)
        _log(actor, "key rotated", record.name)
        return _json({**key_data(made.record), "key": made.secret})

    async def restore_key(self, request: Request) -> Response:
        """Accept the tokens of a revoked account again."""
        record, actor, store = await self._node(KEYS, request)
        restored = await changes.restore_key(store, record.name, actor)
        _log(actor, "key restored", record.name)
        return _json(key_data(restored))

    # -- the audit log -----------------------------------------------------------------------------------------

    async def audit(self, request: Request) -> Response:
        """Return the last entries about the sender's team and those below it."""
        actor, store = self._admitted(request)
        limit, before = _number(request, "limit", 100), _number(request, "before", 0)
        rows = await answered(audit_entries(store, min(limit, MAX_ENTRIES), before or None, actor.team))
        return _json({"entries": [msgspec.json.decode(each.to_json()) for each in rows]})

    # -- what the endpoints need -------------------------------------------------------------------------------

    async def _fields(self, request: Request) -> dict[str, Any]:
        data = await read_in_time(request.scope, request.receive, MAX_BYTES, self._body_s)
        return decode_object(data) if data.strip() else {}

    def _store(self) -> GatewayStore:
        store = self._find_store()
        if store is None:
            raise unavailable(StorageError("no store is configured"))
        return store

    def _admitted(self, request: Request) -> tuple[changes.Actor, GatewayStore]:
        """The sender, who may change keys, and the store.

        :raises Problem: the sender may not.
        """
        key = request.state.principal.key
        if key is None or key.role != "admin":
            raise Problem(
                message="this needs a key with the role admin: helmdeck keys create NAME --role admin",
                status=403, kind="permission_error", code="role_required",
            )  # fmt: skip
        return _actor(request), self._store()

    async def _node(self, kind: NodeKind[Record], request: Request) -> tuple[Record, changes.Actor, GatewayStore]:
        """The key or team of the path; one of another team does not exist for the sender."""
        actor, store = self._admitted(request)
        name = request.path_params["name"]
        record = await answered(kind.find(store, actor.team, name))
        if record is None:
            raise Problem(
                message=f"there is no {kind.word} {name[:80]!r}",
                status=404, kind="not_found_error", code=f"{kind.word}_not_found",
            )  # fmt: skip
        return record, actor, store


def _by_method(serves: Mapping[str, Serve]) -> Serve:
    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        try:
            return await serves[method](request)
        except StorageError as exc:
            raise unavailable(exc) from exc
        except FieldMistakes as exc:
            raise invalid(str(exc)) from None
        except changes.KeyNameTaken as exc:
            raise _conflict(
                f"there is an active key named {str(exc)!r}; edit or rotate it, or revoke it first"
            ) from None
        except changes.TeamNameTaken as exc:
            raise _conflict(
                f"the team name {str(exc)!r} is taken; the names of revoked teams are not used again"
            ) from None
        except changes.KeyUnknown:
            raise _conflict("the key is revoked already") from None
        except changes.TeamUnknown as exc:
            raise invalid(
                f"there is no active team named {exc.args[0]!r}; teams: {exc.args[1][:400] or 'none'}"
            ) from None
        except changes.ChangeRefused as exc:
            raise Problem(message=str(exc), status=403, kind="permission_error", code="change_refused") from None

    return serve


def _actor(request: Request) -> changes.Actor:
    key = request.state.principal.key
    return changes.Actor(name=key.name, source="api", team=key.team)


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise invalid("expected a number", name)
    return int(text)


async def _gathered(lookups: Sequence[Awaitable[Any]]) -> Sequence[Any]:
    return await asyncio.gather(*lookups)


def _log(actor: changes.Actor, action: str, subject: str) -> None:
    logger().bind(actor=actor.name, subject=subject).info("api: {}", action)


def _conflict(message: str) -> Problem:
    return Problem(message=message, status=409, code="conflict")


def _json(data: Any, status: int = 200) -> Response:
    return Response(_encode(data), status, {"cache-control": "no-store"}, "application/json")
