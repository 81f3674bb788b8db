"""Who sends a request: the place where keys of clients are checked."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import attrs

from helmdeck_core import MAX_MODEL_CHARS, ConfigError, Mistake, SecretRef
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.stores.records import KeyRecord, TeamRecord

KEY = re.compile("hd-[0-9a-f]{12}-[A-Za-z0-9_-]{20,}")
"""Matches keys of clients anywhere in a text."""

TAGS = b"x-helmdeck-tags"
MAX_TAGS = 16
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
"""Matches the tags of requests."""

PRINCIPAL = "helmdeck.principal"
"""The key of a scope that has the sender of a request which the gateway sends to itself; no client can set it."""

ANYONE = "local"
"""The caller of requests without a key of the store: those with the key of ``[gateway] key``, and of a gateway without keys."""

RESERVED_CALLERS = frozenset((ANYONE, "console"))
"""Callers that no key may have: it would have the files, responses and history of requests without a key, or of the console."""


@attrs.frozen(kw_only=True)
class Principal:
    """The sender of a request.

    :ivar caller: the caller of the deck, for events, traces and history.
    :ivar models: model names that it may use, before aliases are resolved; ``*`` at the end of a name matches every rest.
        ``None`` for all.
    :ivar narrows_tools: overrides the setting of the gateway.
    :ivar key: its key, whose limits apply; ``None`` for a sender without limits.
    :ivar teams: the teams above the key, from the bottom, whose limits apply as well.
    """

    caller: str = ANYONE
    models: frozenset[str] | None = None
    narrows_tools: bool | None = None
    key: KeyRecord | None = None
    teams: tuple[TeamRecord, ...] = ()

    @property
    def has_model_limit(self) -> bool:
        """Whether it may use some models only."""
        return self.models is not None or any(team.models is not None for team in self.teams)

    def may_use(self, name: str) -> bool:
        """Return whether it may use a model: its key and all teams above it allow it."""
        if self.models is not None and not _matches(self.models, name):
            return False
        return not self.teams or all(team.models is None or _matches(team.models, name) for team in self.teams)

    def check_endpoint(self, name: str, tags: Sequence[str] = ()) -> None:
        """Check whether it may use an endpoint, and send requests with tags.

        :param name: such as ``chat``.
        :raises Problem: it may not.
        """
        if self.key is None:
            return
        nodes: tuple[KeyRecord | TeamRecord, ...] = (self.key, *self.teams)
        for node in nodes:
            if node.dialects is not None and name not in node.dialects:
                raise _not_allowed(
                    node, f"use the endpoint {name!r}", "endpoints", node.dialects, "endpoint_not_allowed"
                )
            if node.tags is not None and (wrong := [tag for tag in tags if tag not in node.tags]):
                raise _not_allowed(node, f"send the tag {wrong[0][:80]!r}", "tags", node.tags, "tag_not_allowed")

    def check_model(self, name: str) -> None:
        """Check whether it may use a model.

        :raises Problem: it may not, or the name is none: it is too long, or has a control character or a key in it, which would
            become public in metrics and traces.
        """
        if len(name) > MAX_MODEL_CHARS or not name.isprintable():
            is_long = len(name) > MAX_MODEL_CHARS
            problem = f"at most {MAX_MODEL_CHARS} characters are allowed, found {len(name):,}"
            raise invalid(problem if is_long else f"{name!r} has a control character", "model")
        if "hd-" in name and KEY.search(name) is not None:
            raise Problem(
                message="model: expected the name of a model, found a key", param="model", code="key_as_model"
            )
        if not self.may_use(name):
            raise self._model_problem(name)

    def _model_problem(self, name: str) -> Problem:
        owner, models = "this key", self.models
        if models is None or _matches(models, name):
            team = next(team for team in self.teams if team.models is not None and not _matches(team.models, name))
            owner, models = f"the team {team.name!r} of this key", frozenset(team.models or ())
        return Problem(
            message=f"{owner} may not use the model {name[:200]!r}; its models: {', '.join(sorted(models)) or 'none'}",
            status=403,
            kind="permission_error",
            code="model_not_allowed",
            param="model",
        )


def _matches(models: Collection[str], name: str) -> bool:
    return name in models or any(each.endswith("*") and name.startswith(each[:-1]) for each in models)


def _not_allowed(node: KeyRecord | TeamRecord, action: str, what: str, allowed: Sequence[str], code: str) -> Problem:
    owner = f"the team {node.name!r} of this key" if isinstance(node, TeamRecord) else "this key"
    return Problem(
        message=f"{owner} may not {action}; its {what}: {', '.join(allowed) or 'none'}",
        status=403,
        kind="permission_error",
        code=code,
    )


class Authoriser(Protocol):
    """Identifies the sender of a request."""

    async def authorise(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Return the sender.

        :param headers: the headers by lower-case name.
        :raises Problem: it is unknown, or over a limit.
        """
        ...


class NoKeys:
    """Accepts every request."""

    async def authorise(self, headers: Mapping[bytes, bytes]) -> Principal:  # noqa: ARG002
        """Implement ``Authoriser.authorise``."""
        return _ANY


_ANY = Principal()


class SharedKey:
    """Accepts requests with one key; only its hash is kept.

    :param setting: the setting that has the reference.
    :raises ConfigError: the key cannot be read, or is too short.
    """

    MIN_CHARS = 16

    def __init__(self, reference: SecretRef, setting: str = "gateway.key") -> None:
        key = reference.read()
        if key is None or len(key) < self.MIN_CHARS:
            problem = "cannot be read" if key is None else f"the key has fewer than {self.MIN_CHARS} characters"
            raise ConfigError((Mistake(setting, problem, str(reference)),))
        self._digest = hashlib.sha256(key.encode()).digest()

    async def authorise(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Implement ``Authoriser.authorise``."""
        if hmac.compare_digest(hashlib.sha256(key_of(headers)).digest(), self._digest):
            return _ANY
        raise Problem(
            message="the key is missing or wrong; send one key, as Authorization: Bearer KEY or as x-api-key",
            status=401,
            kind="authentication_error",
            code="invalid_api_key",
        )


def headers_by_name(raw: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the headers of a request by lower-case name.

    A request with two different keys has none: proxies and clients could disagree about which of them counts.
    """
    headers = dict(raw)
    if len(headers) != len(raw) or (b"authorization" in headers and b"x-api-key" in headers):
        keys = {key_of({name: value}) for name, value in raw if name in (b"authorization", b"x-api-key")}
        if len(keys) > 1:
            headers.pop(b"authorization", None)
            headers.pop(b"x-api-key", None)
    return headers


def tags_of(headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """Return the tags of a request: the names in its header ``x-helmdeck-tags``.

    :raises Problem: a tag is malformed, or there are too many.
    """
    text = headers.get(TAGS)
    if text is None:
        return ()
    tags = tuple(dict.fromkeys(tag for each in text.decode("latin-1").split(",") if (tag := each.strip())))
    if len(tags) > MAX_TAGS or not all(TAG.fullmatch(tag) for tag in tags):
        raise invalid(
            f"at most {MAX_TAGS} tags of 1 to 64 letters, digits, '.', '_', ':' and '-' are allowed", TAGS.decode()
        )
    return tags


def key_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the key of a request; empty without one."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return token.strip()
    return headers.get(b"x-api-key", b"").strip()
