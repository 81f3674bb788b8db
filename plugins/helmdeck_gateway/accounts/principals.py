"""Who sends a request: the place where keys of clients are checked."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from helmdeck_core import MAX_MODEL_CHARS, ConfigError, Mistake, SecretRef
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_gateway.stores.records import KeyRecord

KEY = re.compile("hd-[0-9a-f]{12}-[A-Za-z0-9_-]{20,}")
"""Matches keys of clients anywhere in a text."""

ANYONE = "local"
"""The caller of a gateway without keys."""


@attrs.frozen(kw_only=True)
class Principal:
    """The sender of a request.

    :ivar caller: the caller of the deck, for events, traces and history.
    :ivar models: model names that it may use, before aliases are resolved; ``*`` at the end of a name matches every rest.
        ``None`` for all.
    :ivar narrows_tools: overrides the setting of the gateway.
    :ivar key: its key, whose limits apply; ``None`` for a sender without limits.
    """

    caller: str = ANYONE
    models: frozenset[str] | None = None
    narrows_tools: bool | None = None
    key: KeyRecord | None = None

    def may_use(self, name: str) -> bool:
        """Return whether it may use a model."""
        models = self.models
        if models is None or name in models:
            return True
        return any(each.endswith("*") and name.startswith(each[:-1]) for each in models)

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
            names = ", ".join(sorted(self.models or ())) or "none"
            raise Problem(
                message=f"this key may not use the model {name[:200]!r}; its models: {names}",
                status=403,
                kind="permission_error",
                code="model_not_allowed",
                param="model",
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


def key_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the key of a request; empty without one."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return token.strip()
    return headers.get(b"x-api-key", b"").strip()
