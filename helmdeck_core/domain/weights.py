"""Weights of the core; plugins contribute their values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "history.gain": 0,
        "history.entries": 0,
        "index.described_share": 0,
        "index.named_share": 0,
        "listing.min_bytes": 0,
        "filter.max_time_share": 1,
        "continuation.max_thought_share": 1,
        "continuation.own_limit_share": 1,
        "cooldown.provider_models": 0,
        "bounds.items": 1_000_000,
        "bounds.chars": 1_000_000,
    }
)
"""Every weight by name, with its default: the value without effect."""


@attrs.frozen(kw_only=True)
class Weight:
    """The value of one weight.

    :ivar name: which weight; contributing the same name again replaces the value.

        - ``history.gain``: score that an entry gains when the caller's earlier plans used it, as a share of the best score.
        - ``history.entries``: number of entries that gain it, the most frequently planned first.
        - ``index.described_share``, ``index.named_share``: share of the catalog limit that a cached index of all entries may
          take, with descriptions and without; the rest is for the details of likely entries. 0 disables the index.
        - ``listing.min_bytes``: UTF-8 bytes that a list of all entries may always take, also where the catalog limit of the
          model is smaller.
        - ``filter.max_time_share``: share of an attempt's time that a filter call may take.
        - ``continuation.max_thought_share``: an answer with a schema is not continued when more of its output tokens than
          this share were reasoning.
        - ``continuation.own_limit_share``: share of an output limit of the caller's own at which a response has reached it.
        - ``cooldown.provider_models``: models of a provider in cooldown that put the provider in cooldown; 0 is never.
        - ``bounds.items``, ``bounds.chars``: items of a list and characters of a string that a retry with bounded values may have at
          most; see ``RequestChanges``.
    :ivar value: 0 or more.
    """

    name: str
    value: float
    order: int = 0

    @property
    def problem(self) -> str:
        """Why the weight cannot be used; empty where it can."""
        if self.name not in WEIGHTS:
            return f"unknown weight; allowed: {', '.join(WEIGHTS)}"
        return "" if 0 <= self.value < float("inf") else f"found {self.value}; allowed: a finite number from 0"
