"""Who sends a request: the place where keys of clients are checked."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Protocol

import attrs

from helmdeck_core import SecretRef
from helmdeck_gateway.problems import Problem

ANYONE = "local"
"""The caller of a gateway without keys."""


@attrs.frozen(kw_only=True)
class Principal:
    """The sender of a request.

    :ivar caller: the caller of the deck, for events, traces and history.
    :ivar models: model names that it may use, before aliases are resolved; ``None`` for all.
    :ivar narrows_tools: overrides the setting of the gateway.
    """

    caller: str = ANYONE
    models: frozenset[str] | None = None
    narrows_tools: bool | None = None

    def check_model(self, name: str) -> None:
        """Check whether it may use a model.

        :raises Problem: it may not.
        """
        if self.models is not None and name not in self.models:
            raise Problem(
                message=f"this key may not use the model {name!r}; its models: {', '.join(sorted(self.models)) or 'none'}",
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

    :raises ValueError: the key cannot be read, or is too short.
    """

    MIN_CHARS = 16

    def __init__(self, reference: SecretRef) -> None:
        key = reference.read()
        if key is None or len(key) < self.MIN_CHARS:
            problem = "cannot be read" if key is None else f"has fewer than {self.MIN_CHARS} characters"
            raise ValueError(f"gateway.key: {reference} {problem}")
        self._digest = hashlib.sha256(key.encode()).digest()

    async def authorise(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Implement ``Authoriser.authorise``."""
        if hmac.compare_digest(hashlib.sha256(key_of(headers)).digest(), self._digest):
            return _ANY
        raise Problem(
            message="the key is missing or wrong; send it as Authorization: Bearer KEY, or as x-api-key",
            status=401,
            kind="authentication_error",
            code="invalid_api_key",
        )


def key_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the key of a request; empty without one."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return token.strip()
    return headers.get(b"x-api-key", b"").strip()
