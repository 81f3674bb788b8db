"""Pieces of an answer that came together travel together: from pieces to batches, and back."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from helmdeck_core.domain.chat import ChatDelta, ChatResponse


async def one_by_one(
    batches: AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None],
) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
    """What ``stream`` gives, from what ``batches`` gives; closing it closes the other."""
    async with contextlib.aclosing(batches):
        async for batch in batches:
            if isinstance(batch, ChatResponse):
                yield batch
            else:
                for piece in batch:
                    yield piece
                    del piece  # so that no traceback with variables shows what was said
            del batch


def together(pieces: Iterable[ChatDelta]) -> Iterator[Sequence[ChatDelta]]:
    """One batch of all pieces, or none where there are none; what ``pieces`` raises is raised behind those before it."""
    batch: list[ChatDelta] = []
    try:
        for piece in pieces:
            batch.append(piece)  # what came before a failure counts
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
