"""Limits of the HTTP endpoint: how much, how often and how long a caller may use it."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

import attrs

MAX_BUCKETS = 1_024
"""Callers and addresses that are remembered; the least recent ones are forgotten."""


@attrs.frozen(kw_only=True)
class HttpLimits:
    """Limits of an HTTP endpoint.

    :ivar max_body_bytes: of one request.
    :ivar body_s: seconds until the body of a request has arrived.
    :ivar send_s: seconds until a client has read a part of a response.
    :ivar call_s: seconds of one call; its request may take a little longer, so that the failure of the call is sent.
    :ivar rate: requests per second and caller; ten times as many may come at once.
    :ivar max_calls: requests under way, of all callers; one of several callers may use half of them.
    :ivar max_sessions: sessions of the older protocol.
    :ivar max_connections: connections, idle ones included.
    """

    max_body_bytes: int = 1_048_576
    body_s: float = 30.0
    send_s: float = 30.0
    call_s: float = 300.0
    rate: float = 50.0
    max_calls: int = 256
    max_sessions: int = 1_000
    max_connections: int = 1_024


class RateLimiter:
    """A token bucket per key.

    :param rate: requests per second.
    :param burst: requests that may come at once.
    :param clock: seconds, never going back.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = max(1.0, burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, key: str) -> float:
        """Count a request; return 0 if it is allowed, else the seconds until the next one is."""
        now_s = self._clock()
        level, then_s = self._buckets.get(key, (self._burst, now_s))
        level = min(self._burst, level + (now_s - then_s) * self._rate)
        is_allowed = level >= 1
        self._buckets[key] = (level - 1 if is_allowed else level, now_s)
        self._buckets.move_to_end(key)
        while len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if is_allowed else max(0.001, (1 - level) / self._rate)


def retry_after(seconds: float) -> bytes:
    """The value of ``Retry-After``: whole seconds, at least one."""
    return str(max(1, math.ceil(seconds))).encode()
