"""Counters of the gateway, in the text format of Prometheus; those of the calls come from the sink ``prometheus``."""

from __future__ import annotations

import collections
from collections.abc import Awaitable, Callable, Iterator

import attrs

from helmdeck_core import LoadedConfig
from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.http_server.shared_metrics import SharedMetrics
from helmdeck_gateway.load.fair_queue import Places
from helmdeck_gateway.load.shedding import Load


@attrs.define
class ConfigState:
    """The configuration that is in effect.

    :ivar generation: 1 for the configuration at the start; each successful reload adds 1.
    :ivar loaded_at: when it was loaded, in seconds since the epoch.
    :ivar reloads: successful and failed reloads.
    :ivar error: why the last reload failed, without any value; empty if it succeeded.
    :ivar loaded: the configuration with its origins; ``None`` for a gateway of an application.
    :ivar former: the one before the last reload.
    :ivar reload: reloads the configuration; returns whether that succeeded.
    """

    generation: int = 1
    loaded_at: float = 0.0
    reloads: collections.Counter[str] = attrs.field(factory=collections.Counter)
    error: str = ""
    loaded: LoadedConfig | None = None
    former: LoadedConfig | None = None
    reload: Callable[[], Awaitable[bool]] | None = None


class Counters:
    """The load of a gateway and its requests by endpoint and status; all configurations of one process share it.

    :ivar under_way: requests that are being processed.
    :ivar is_draining: the server is stopping; new requests are refused.
    :ivar disconnects: requests whose client left before the response was complete.
    :ivar shared: the metrics of the other workers; ``None`` for a single process.
    :ivar store_errors: failed operations of the store for conversations.
    :ivar keys: the counters of single keys.
    :ivar places: the places of requests, and those that wait for one.
    :ivar load: what the requests under way take of the process.
    :ivar sign_ins: tokens by issuer and outcome: ``accepted``, or why they were refused.
    """

    def __init__(self) -> None:
        self._requests: collections.Counter[tuple[str, int]] = collections.Counter()
        self.under_way = 0
        self.is_draining = False
        self.disconnects = 0
        self.store_errors = 0
        self.config: ConfigState = ConfigState()
        self.keys: KeyCounters = KeyCounters()
        self.sign_ins: collections.Counter[tuple[str, str]] = collections.Counter()
        self.shared: SharedMetrics | None = None
        self.places: Places = Places()
        self.load: Load = Load()

    def count(self, endpoint: str, status: int) -> None:
        """Count a request."""
        self._requests[endpoint, status] += 1

    def render(self) -> str:
        """Return the counters as text."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _head("requests_total", "counter", "Requests by endpoint and HTTP status.")
        for (endpoint, status), count in sorted(self._requests.items()):
            yield f'helmdeck_gateway_requests_total{{endpoint="{endpoint}",status="{status}"}} {count}'
        left = "Requests whose client left before the response was complete."
        yield from _single("disconnects_total", "counter", left, self.disconnects)
        failed = "Failed operations of the store for conversations."
        yield from _single("store_errors_total", "counter", failed, self.store_errors)
        yield from _single("requests_under_way", "gauge", "Requests that are being processed.", self.under_way)
        queued = "Requests that wait for a place."
        yield from _single("requests_queued", "gauge", queued, self.places.waiting)
        held = "Bytes of the bodies of requests under way."
        yield from _single("body_bytes", "gauge", held, self.load.body_bytes)
        yield from _head("shed_total", "counter", "Requests that were refused because of the load, by reason.")
        for reason in ("lag", "memory", "queue", "sockets"):
            count = self.places.refused if reason == "queue" else self.load.refused[reason]
            yield f'helmdeck_gateway_shed_total{{reason="{reason}"}} {count}'
        if self.sign_ins:
            yield from _head("sign_ins_total", "counter", "Tokens that were checked, by issuer and outcome.")
            for (issuer, outcome), count in sorted(self.sign_ins.items()):
                yield f'helmdeck_gateway_sign_ins_total{{issuer="{issuer}",outcome="{outcome}"}} {count}'
        config = self.config
        yield from _head("config_reloads_total", "counter", "Reloads of the configuration by outcome.")
        for outcome in ("failed", "successful"):
            yield f'helmdeck_gateway_config_reloads_total{{outcome="{outcome}"}} {config.reloads[outcome]}'
        number = "The number of the configuration that is in effect, from 1."
        yield from _single("config_generation", "gauge", number, config.generation)
        when = "When the configuration that is in effect was loaded."
        yield from _single("config_loaded_timestamp_seconds", "gauge", when, round(config.loaded_at, 3))
        is_ok = "Whether the last reload of the configuration succeeded."
        yield from _single("config_last_reload_successful", "gauge", is_ok, int(not config.error))


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP helmdeck_gateway_{name} {text}"
    yield f"# TYPE helmdeck_gateway_{name} {kind}"


def _single(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    yield from _head(name, kind, text)
    yield f"helmdeck_gateway_{name} {value}"
