"""Counters of keys, in the text format of Prometheus. Labels are names of keys, never keys, and their number is bounded."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Final

from helmdeck_gateway.stores.records import to_usd

MAX_NAMES: Final = 200
OTHER: Final = "other"
"""Label of all keys beyond ``MAX_NAMES``."""


class KeyCounters:
    """Requests, refusals and spend by key, of this process."""

    def __init__(self) -> None:
        self._requests: collections.Counter[str] = collections.Counter()
        self._refusals: collections.Counter[tuple[str, str]] = collections.Counter()
        self._nusd: collections.Counter[str] = collections.Counter()
        self._unpriced: collections.Counter[str] = collections.Counter()
        self._names: set[str] = set()

    def admit(self, key: str) -> None:
        """Count an admitted request."""
        self._requests[self._label(key)] += 1

    def refuse(self, key: str, limit: str) -> None:
        """Count a request beyond a limit."""
        self._refusals[self._label(key), limit] += 1

    def spend(self, key: str, nusd: int, *, unpriced: bool) -> None:
        """Count the cost of a request."""
        self._nusd[self._label(key)] += nusd
        self._unpriced[self._label(key)] += unpriced

    def render(self) -> str:
        """Return the counters as text; empty while no key was used."""
        return "".join(f"{line}\n" for line in self._lines())

    def _label(self, key: str) -> str:
        if key not in self._names and len(self._names) >= MAX_NAMES:
            return OTHER
        self._names.add(key)
        return key

    def _lines(self) -> Iterator[str]:
        if self._requests:
            yield from _head("requests_total", "Requests that were admitted, by the name of the key.")
            yield from (_line("requests_total", key, count) for key, count in sorted(self._requests.items()))
            yield from _head("spend_usd_total", "US dollars of settled requests, by the name of the key.")
            yield from (_line("spend_usd_total", key, to_usd(nusd)) for key, nusd in sorted(self._nusd.items()))
            yield from _head("unpriced_total", "Settled requests of models without a price, by the name of the key.")
            yield from (_line("unpriced_total", key, count) for key, count in sorted(self._unpriced.items()))
        if self._refusals:
            yield from _head("refusals_total", "Requests beyond a limit, by the name of the key and the limit.")
            for (key, limit), count in sorted(self._refusals.items()):
                yield f'helmdeck_gateway_key_refusals_total{{key="{key}",limit="{limit}"}} {count}'


def _head(name: str, text: str) -> Iterator[str]:
    yield f"# HELP helmdeck_gateway_key_{name} {text}"
    yield f"# TYPE helmdeck_gateway_key_{name} counter"


def _line(name: str, key: str, value: float) -> str:
    return f'helmdeck_gateway_key_{name}{{key="{key}"}} {value:.10g}'
