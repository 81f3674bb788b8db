"""The pack ``slides.outline``: plans a slide deck from a text."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, PromptVariant, hookimpl
from helmdeck_pack_slides.outline import PACK
from helmdeck_pack_slides.prompts import VARIANTS


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (PACK,)


@hookimpl
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Two prompt variants; a model's budget selects one."""
    return VARIANTS
