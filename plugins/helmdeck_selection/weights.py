"""Weights of the shares of history, index and filter, as data; weights of names and descriptions: ``lexical.weights``."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Weight, hookimpl

WEIGHTS = (
    # Share of the best score that an entry approaches with more plans, so that none outranks it by its history alone.
    Weight(name="history.gain", value=1.0),
    # Promoted entries displace the lowest-ranked ones, so only half of the twelve of the smallest selection are promoted.
    Weight(name="history.entries", value=6),
    # The rest is for the details of likely entries, which need more space after an index of bare names.
    Weight(name="index.described_share", value=0.75),
    Weight(name="index.named_share", value=0.5),
    # Weak models returned empty responses for 35,000 bytes.
    Weight(name="listing.min_bytes", value=25_000),
    # The ranked selection does not need it.
    Weight(name="filter.max_time_share", value=0.3),
)


@hookimpl
def helmdeck_weights() -> Sequence[Weight]:
    """The weights of catalog selection."""
    return WEIGHTS
