"""Prices of tokens."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from helmdeck_core.errors import Usage


@attrs.frozen(kw_only=True)
class PriceSource:
    """A source of prices, for models whose budget has none.

    :ivar cost_usd: takes a model id and the tokens of one call; returns US dollars, or ``None`` for an unknown model. It
        should import its dependencies on first use.
    """

    name: str
    cost_usd: Callable[[str, Usage], float | None]
    order: int = 0
