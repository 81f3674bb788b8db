"""Conversion between single deltas of a response and batches of deltas."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from helmdeck_core.domain.chat import ChatDelta, ChatResponse


async def one_by_one(
    batches: AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None],
) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
    """Yield the deltas of ``batches`` one by one, as ``stream`` does. Closing it closes ``batches``."""
    async with contextlib.aclosing(batches):
        async for batch in batches:
            if isinstance(batch, ChatResponse):
                yield batch
            else:
                for delta in batch:
                    yield delta
                    del delta  # keep responses out of tracebacks that show variables
            del batch


def together(deltas: Iterable[ChatDelta]) -> Iterator[Sequence[ChatDelta]]:
    """Yield all deltas as one batch, if there are any. Exceptions of ``deltas`` are raised after the batch."""
    batch: list[ChatDelta] = []
    try:
        for delta in deltas:
            batch.append(delta)
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
