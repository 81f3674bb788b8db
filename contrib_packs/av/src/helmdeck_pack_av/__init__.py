"""The pack ``av.validate``: checks an audio or video file for silence, loudness and length."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, hookimpl
from helmdeck_pack_av.validate import PACK


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (PACK,)
