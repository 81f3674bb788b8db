"""Conversion between deltas and batches of deltas."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from helmdeck_core.domain.chat import ChatDelta, ChatResponse


async def one_by_one(
    batches: AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None],
) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
    """Yield the items of ``stream`` from those of ``batches``; closing it closes ``batches``."""
    async with contextlib.aclosing(batches):
        async for batch in batches:
            if isinstance(batch, ChatResponse):
                yield batch
            else:
                for delta in batch:
                    yield delta
                    del delta  # so that no traceback with variables shows the answer
            del batch


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
