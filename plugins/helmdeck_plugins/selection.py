"""The weights of catalog selection, as data."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Weight, hookimpl

WEIGHTS = (
    # Enough to outrank weak matches, too little to outrank an entry that the request names.
    Weight(name="history.gain", value=0.25),
    # Promoted entries displace the lowest-ranked ones, so at most three are promoted.
    Weight(name="history.entries", value=3),
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
