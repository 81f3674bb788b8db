"""Batches of deltas that arrived together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from helmdeck_core import ChatDelta


def together(deltas: Iterable[ChatDelta]) -> Iterator[Sequence[ChatDelta]]:
    """Yield one batch of all deltas, if there are any, also before an exception of ``deltas`` is raised."""
    batch: list[ChatDelta] = []
    try:
        for delta in deltas:
            batch.append(delta)  # deltas before a failure count
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
