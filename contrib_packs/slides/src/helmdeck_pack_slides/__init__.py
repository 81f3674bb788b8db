"""The packs ``slides.outline``, which plans a slide deck from a text, and ``slides.render``, which builds its files."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, PromptVariant, hookimpl
from helmdeck_pack_slides.outline import PACK
from helmdeck_pack_slides.prompts import VARIANTS
from helmdeck_pack_slides.render import render


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The packs."""
    return (PACK, render)


@hookimpl
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Two prompt variants; a model's budget selects one."""
    return VARIANTS
