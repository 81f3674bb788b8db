"""Amounts of money as text. All prices and costs are US dollars; this is the place to print another currency."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helmdeck_core.errors import Attempt

CURRENCY = "US dollars"


def usd_text(usd: float) -> str:
    """A cost with its currency.

    >>> from helmdeck_core.cli import usd_text
    >>> usd_text(0.0123), usd_text(2.5)
    ('0.012300 US dollars', '2.500000 US dollars')
    """
    return f"{usd:.6f} {CURRENCY}"


def cost_text(usd: float, attempts: Iterable[Attempt]) -> str:
    """A cost with its currency; ``about`` if part of it is estimated.

    >>> from helmdeck_core.cli import cost_text
    >>> cost_text(0.0123, ())
    '0.012300 US dollars'
    """
    return f"{'about ' if any(attempt.is_estimated for attempt in attempts) else ''}{usd_text(usd)}"
