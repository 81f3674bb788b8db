"""The pack ``blog.rewrite_for_audience``: an existing post, written again for another group of readers."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, PromptVariant, hookimpl
from helmdeck_pack_blog.prompts import VARIANTS
from helmdeck_pack_blog.rewrite import PACK


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The one pack."""
    return (PACK,)


@hookimpl
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Two ways to ask for a rewrite; a model's budget chooses between them."""
    return VARIANTS
