"""The response cache ``semantic``: answers to questions that are similar to an earlier one of the same tenant."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import CacheSetup, ResponseCache, ResponseCacheSpec, above_zero, hookimpl, zero_to_one


@attrs.frozen(kw_only=True)
class SemanticOptions:
    """The options of the cache: ``[cache.options.semantic]``.

    :ivar threshold: least cosine similarity of two questions, 0 to 1.
    :ivar checks_facts: both questions must have the same words in the same order; case, articles, greetings and openings such as "how can I"
        may differ.
    :ivar max_answers: answers in memory; the least recently used ones are removed.
    :ivar max_chars: characters of a question; longer ones are neither searched nor stored.
    """

    threshold: float = attrs.field(default=0.875, validator=zero_to_one)
    checks_facts: bool = True
    max_answers: int = attrs.field(default=2_000, validator=above_zero)
    max_chars: int = attrs.field(default=1_000, validator=above_zero)


@hookimpl
def helmdeck_response_caches() -> Sequence[ResponseCacheSpec]:
    """The semantic cache."""
    return (
        ResponseCacheSpec(
            name="semantic",
            open=_open,
            options_type=SemanticOptions,
            summary="answers to questions that are worded alike",
            order=10,
        ),
    )


def _open(setup: CacheSetup) -> ResponseCache:
    from helmdeck_cache_semantic.cache import SemanticCache
    from helmdeck_cache_semantic.encoder import encode

    encode([""])  # loads the model, which the first call would wait for
    return SemanticCache(encode, setup.options, setup.settings.ttl_s, setup.settings.max_entry_bytes)
