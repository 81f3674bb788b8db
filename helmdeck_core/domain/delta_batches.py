"""Conversion of batches of deltas into deltas."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence

from helmdeck_core.domain.chat import ChatDelta, ChatResponse


async def one_by_one(
    batches: AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None],
) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
    """Yield the items of ``stream`` from those of ``batches``; closing it closes ``batches``.

    >>> import asyncio
    >>> from helmdeck_core import ChatDelta, one_by_one
    >>> async def batches():
    ...     yield [ChatDelta("one "), ChatDelta("two")]
    >>> async def texts():
    ...     return [chunk.text async for chunk in one_by_one(batches())]
    >>> asyncio.run(texts())
    ['one ', 'two']
    """
    async with contextlib.aclosing(batches):
        async for batch in batches:
            if isinstance(batch, ChatResponse):
                yield batch
            else:
                for delta in batch:
                    yield delta
                    del delta  # so that no traceback with variables shows the answer
            del batch
