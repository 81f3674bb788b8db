"""Counters of the gateway, in the text format of Prometheus; those of the calls come from the sink ``prometheus``."""

from __future__ import annotations

import collections
from collections.abc import Iterator


class Counters:
    """Requests by endpoint and status.

    :ivar disconnects: requests whose client left before the response was complete.
    """

    def __init__(self) -> None:
        self._requests: collections.Counter[tuple[str, int]] = collections.Counter()
        self.disconnects = 0

    def count(self, endpoint: str, status: int) -> None:
        """Count a request."""
        self._requests[endpoint, status] += 1

    def render(self, under_way: int) -> str:
        """Return the counters as text."""
        return "\n".join(self._lines(under_way)) + "\n"

    def _lines(self, under_way: int) -> Iterator[str]:
        yield "# HELP helmdeck_gateway_requests_total Requests by endpoint and HTTP status."
        yield "# TYPE helmdeck_gateway_requests_total counter"
        for (endpoint, status), count in sorted(self._requests.items()):
            yield f'helmdeck_gateway_requests_total{{endpoint="{endpoint}",status="{status}"}} {count}'
        yield "# HELP helmdeck_gateway_disconnects_total Requests whose client left before the response was complete."
        yield "# TYPE helmdeck_gateway_disconnects_total counter"
        yield f"helmdeck_gateway_disconnects_total {self.disconnects}"
        yield "# HELP helmdeck_gateway_requests_under_way Requests that are being processed."
        yield "# TYPE helmdeck_gateway_requests_under_way gauge"
        yield f"helmdeck_gateway_requests_under_way {under_way}"
