"""The pack ``chart.plot``, drawn with matplotlib: it replaces the built-in one, and draws PNG as well as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, hookimpl
from helmdeck_pack_charts.plot import plot


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (plot,)
