"""How a selection of catalog entries weighs one thing against another, as data."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Weight, hookimpl

WEIGHTS = (
    # Enough to come before entries that match a little, too little to pass an entry that the request asks for.
    Weight(name="history.gain", value=0.25),
    # Promoted entries displace the lowest-ranked ones, so at most three are promoted.
    Weight(name="history.entries", value=3),
    # The rest is for the details of likely entries; behind an index of bare names they need more.
    Weight(name="index.described_share", value=0.75),
    Weight(name="index.named_share", value=0.5),
    # Weak models were seen to answer nothing to 35,000 bytes.
    Weight(name="listing.min_bytes", value=25_000),
    # The selection by rank is there without it.
    Weight(name="filter.max_time_share", value=0.3),
)


@hookimpl
def helmdeck_weights() -> Sequence[Weight]:
    """The weights of a selection."""
    return WEIGHTS
