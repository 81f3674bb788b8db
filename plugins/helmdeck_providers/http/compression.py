"""Decompresses response bodies in chunks of bounded size, because a small body may decompress to a very large one."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Protocol

ENCODINGS: Final = "gzip, deflate"
"""The value of ``Accept-Encoding``."""

_MAX_CHUNK_BYTES = 262_144
_MAX_EMPTY_MEMBERS = 100
_GZIP, _ZLIB, _BARE = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f\x8b"
_KINDS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class DecodingError(ValueError):
    """The body is truncated, or does not have its declared encoding."""


class Body(Protocol):
    """The chunks of a body."""

    async def __anext__(self) -> bytes:
        """Return the next chunk."""
        ...


def decompressed(body: Body, encoding: str) -> AsyncIterator[bytes] | None:
    """Return the chunks of the decompressed body; ``None`` for an encoding that was not requested.

    The reader decides whether such a body is usable: some servers declare an encoding that they do not use. Reading a body
    that is compressed several times is an error, because only an attack does that.

    :param encoding: the header ``Content-Encoding``.

    >>> import asyncio, gzip
    >>> from helmdeck_providers import decompressed
    >>> async def body():
    ...     yield gzip.compress(b'{"id": "a"}')
    >>> async def text():
    ...     return b"".join([chunk async for chunk in decompressed(body(), "gzip")])
    >>> asyncio.run(text())
    b'{"id": "a"}'
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    kinds = [_KINDS[name] for name in names if name in _KINDS]
    return _Decompressed(body, kinds) if len(kinds) == len(names) else None


class _Decompressed:
    def __init__(self, body: Body, kinds: Sequence[int]) -> None:
        self._body = body
        self._kinds = kinds
        self._kind = kinds[0]
        self._inflate: Any = zlib.decompressobj(self._kind)
        self._pending = b""
        self._has_begun = False

    def __aiter__(self) -> _Decompressed:
        return self

    async def __anext__(self) -> bytes:
        if len(self._kinds) > 1:
            raise DecodingError(f"the body is compressed {len(self._kinds)} times")
        while True:
            for _ in range(_MAX_EMPTY_MEMBERS):
                before = len(self._pending)
                if self._pending and (chunk := self._next()):
                    return chunk
                if len(self._pending) in (0, before):
                    break
            else:
                raise DecodingError("the compressed body has too many empty parts")
            try:
                self._pending += await self._body.__anext__()
            except StopAsyncIteration:
                if rest := self._inflate.flush():
                    return bytes(rest)
                if self._has_begun and not self._inflate.eof:
                    raise DecodingError("the compressed body is truncated") from None
                raise

    def _next(self) -> bytes:
        """Return one decompressed chunk; empty if more input is needed."""
        if self._inflate.eof:  # another member may follow, or trailing bytes to ignore
            if self._kind != _GZIP or not self._pending.startswith(_GZIP_BEGINS):
                self._pending = self._pending if self._pending == _GZIP_BEGINS[:1] else b""
                return b""
            self._inflate = zlib.decompressobj(self._kind)
        try:
            chunk: bytes = self._inflate.decompress(self._pending, _MAX_CHUNK_BYTES)
        except zlib.error as exc:
            if self._has_begun or self._kind != _ZLIB:
                raise DecodingError(str(exc)) from None
            # Some servers send raw deflate without the zlib header under this name.
            self._kind, self._inflate = _BARE, zlib.decompressobj(_BARE)
            return self._next()
        self._has_begun = True
        self._pending = self._inflate.unconsumed_tail or self._inflate.unused_data
        return chunk
