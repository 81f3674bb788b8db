"""The pack ``content.ground``: checks the claims of a text against sources."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, PromptVariant, hookimpl
from helmdeck_pack_ground.ground import PACK
from helmdeck_pack_ground.prompts import VARIANTS


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (PACK,)


@hookimpl
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Two prompt variants for each of the three questions; a model's budget selects one."""
    return VARIANTS
