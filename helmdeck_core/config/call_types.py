"""The configuration of calls: recovery, and the order of chains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.redaction import hidden


@attrs.frozen(kw_only=True)
class RecoveryConfig:
    """Limits of recovery. Rules of plugins decide what is done about each cause.

    :ivar max_attempts: maximum number of attempts of one call.
    :ivar deadline_s: seconds until a call ends; 0 is no limit.
    :ivar max_cost_usd: cost limit of a call. After it is reached, only models that are known to be free are called; a request
        whose input alone would exceed it is not sent. A single answer may exceed it. Left out: no limit.
    :ivar backoff_s: seconds before the first retry if the provider sends no ``Retry-After``; doubles with every retry.
    :ivar max_wait_s: maximum ``Retry-After`` that is honoured, in seconds.
    :ivar patience_s: seconds that a call waits for the model it was sent to, after a single failure or a rate limit, while a
        fallback model remains; without one, it is ``max_wait_s``.
    :ivar retry_share: retries of a model as a share of the calls to it within the same second, 0 to 1; further calls are not
        retried, but go to the fallback model. Retries with another request, and without a wait, are not counted.
    :ivar retry_minimum: retries of a model within ten seconds that are allowed however few calls there are.
    :ivar attempt_share: share of the remaining deadline that an attempt may use while fallback models remain, 0 to 1.
    :ivar think_share: share of its time and of its output limit that a model may use for reasoning before the first visible
        text, 0 to 1.
    :ivar drop_turns: whether the oldest turns of a conversation are removed if it does not fit the context window.
    :ivar fallback_on: the causes after which a fallback model is called; left out: as the rules say.
    :ivar cool_down_after: consecutive failed calls that open the circuit of a model; 0 is never.
    :ivar cool_down_s: seconds of the cooldown; then one call tests the model.
    """

    max_attempts: int = 8
    deadline_s: float = 300.0
    max_cost_usd: float | None = None
    backoff_s: float = 0.5
    max_wait_s: float = 60.0
    patience_s: float = 2.0
    retry_share: float = 0.1
    retry_minimum: int = 10
    attempt_share: float = 0.6
    think_share: float = 0.8
    drop_turns: bool = True
    fallback_on: tuple[str, ...] | None = None
    # Of models (calls.model_cooldowns); those of keys and servers are data of helmdeck_providers.routing.key_cooldowns.
    cool_down_after: int = 3
    cool_down_s: float = 8.0


@attrs.frozen(kw_only=True)
class ChainsConfig:
    """The order of the models of fallback chains.

    :ivar policy: a chain policy, such as ``fixed``, ``advise`` or ``adaptive``; left out: the configured order.
    :ivar options: the options of the policy.
    """

    policy: str | None = None
    options: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)
