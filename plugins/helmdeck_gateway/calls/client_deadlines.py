"""Deadlines of clients: SDKs send their timeout in a header, so a whole response can end before its client stops waiting.

A streamed response needs none: its keep-alives reset the timeout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

HEADERS: Final = (b"x-stainless-read-timeout", b"x-stainless-timeout")
"""Seconds; the first is sent by the Python SDKs of OpenAI and Anthropic, the second by those in JavaScript."""
SHARE: Final = 0.95
"""The share of the client's timeout that a call may take; the rest is for the connection."""


def client_deadline_s(headers: Mapping[bytes, bytes]) -> float | None:
    """Return the seconds that a call may take so that its client still reads the response; ``None`` if it sends no timeout."""
    timeouts = [seconds for name in HEADERS if (seconds := _seconds(headers.get(name))) is not None]
    return min(timeouts) * SHARE if timeouts else None


def lowest(*deadlines_s: float | None) -> float | None:
    """Return the lowest deadline; ``None`` and 0 are no limit."""
    return min((each for each in deadlines_s if each), default=None)


def _seconds(value: bytes | None) -> float | None:
    try:
        seconds = float(value or b"")
    except ValueError:
        return None
    return seconds if 0 < seconds < math.inf else None
