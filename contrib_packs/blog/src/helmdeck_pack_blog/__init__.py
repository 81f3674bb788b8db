"""The pack ``blog.rewrite_for_audience``: rewrites a post for another audience."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, PromptVariant, hookimpl
from helmdeck_pack_blog.prompts import VARIANTS
from helmdeck_pack_blog.rewrite import PACK


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (PACK,)


@hookimpl
def helmdeck_prompt_variants() -> Sequence[PromptVariant]:
    """Two prompt variants; a model's budget selects one."""
    return VARIANTS
