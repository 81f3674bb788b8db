"""The pack ``swe.solve``: works on a programming task in a copy of a repository and returns a patch."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, hookimpl
from helmdeck_pack_swe.solve import PACK


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (PACK,)
