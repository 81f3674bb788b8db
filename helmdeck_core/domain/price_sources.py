"""The types of a price source: a function that prices a call, and the figures that it lists for a model.

The built-in source is ``helmdeck_providers.price_lists``; ``resolve.call_costs`` computes costs.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from helmdeck_core.errors import Usage


@attrs.frozen(kw_only=True)
class ModelFigures:
    """What a source lists for a model; the fields are those of ``Budget``, and ``None`` where they are unknown.

    :ivar listed_as: the source's name for the model; shown with its figures.

    >>> from helmdeck_core import ModelFigures
    >>> ModelFigures(listed_as="large-2", input_cost_usd_per_mtok=0.4).input_cost_usd_per_mtok
    0.4
    """

    listed_as: str
    input_tokens: int | None = None
    input_cost_usd_per_mtok: float | None = None
    output_cost_usd_per_mtok: float | None = None
    cached_input_cost_usd_per_mtok: float | None = None


@attrs.frozen(kw_only=True)
class PriceSource:
    """A source of prices, for models whose budget has none.

    :ivar cost_usd: takes a model id and the tokens of one call; returns US dollars, or ``None`` for an unknown model. It
        should import its dependencies on first use.
    :ivar figures: takes a model id, or the prefix of a budget row; returns what is listed for it, or ``None``. The prices are
        only shown; the context window also applies to calls of models without a row. ``None`` if the source lists nothing.
    """

    name: str
    cost_usd: Callable[[str, Usage], float | None]
    figures: Callable[[str], ModelFigures | None] | None = None
    order: int = 0
