"""The settings of a gateway, from ``[gateway]`` in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import EMPTY, ConfigError, Mistake, SecretRef, above_zero, read_options


@attrs.frozen(kw_only=True)
class GatewaySettings:
    """The keys of ``[gateway]``.

    :ivar models: model ids by the name that clients send; ``*`` for every name without a provider.
    :ivar key: reference to the key that clients send: ``env:NAME`` or ``file:PATH``; left out: none is required.
    :ivar deadline_s: seconds until a request ends; 0 is the deadline of ``[recovery]``.
    :ivar ping_s: seconds without output after which a stream gets a keep-alive, and its headers, if they are not sent yet.
    :ivar max_request_bytes: size of a request body.
    :ivar max_requests: requests under way; more are answered with 429.
    :ivar narrows_tools: tools beyond the catalog limit of the model's budget are left out of a request.
    :ivar max_stored_responses: responses that ``previous_response_id`` can name.
    :ivar drain_s: seconds that requests under way get when the server stops.
    """

    models: Mapping[str, str] = EMPTY
    key: SecretRef | None = None
    deadline_s: float = 0.0
    ping_s: float = attrs.field(default=10.0, validator=above_zero)
    max_request_bytes: int = attrs.field(default=32_000_000, validator=above_zero)
    max_requests: int = attrs.field(default=1_024, validator=above_zero)
    narrows_tools: bool = True
    max_stored_responses: int = attrs.field(default=2_000, validator=above_zero)
    drain_s: float = 30.0

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> GatewaySettings:
        """Read the settings.

        :raises ConfigError: with every mistake.
        """
        settings = read_options(options, cls, "gateway")
        mistakes = [
            Mistake(f"gateway.models.{name}", "not a model id", repr(model), "provider/model")
            for name, model in settings.models.items()
            if "/" not in model.strip("/")
        ]
        if mistakes:
            raise ConfigError(tuple(mistakes))
        return settings
