"""Bodies that a server compressed, read in pieces of bounded size: a small answer may stand for a very large one."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Protocol

ENCODINGS: Final = "gzip, deflate"
"""What is asked for."""

_PIECE_BYTES = 262_144
_GZIP, _ZLIB, _BARE = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f\x8b"
_KINDS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class DecodingError(ValueError):
    """What came is not what it is said to be, or breaks off."""


class Body(Protocol):
    """Pieces of a body, once."""

    async def __anext__(self) -> bytes:
        """The next one."""
        ...


def decompressed(body: Body, encoding: str) -> AsyncIterator[bytes] | None:
    """The body as it was before it was compressed; ``None`` where it was not, or in a way that nobody asked for.

    Whoever reads finds out whether such a body can be used: some servers only say that they compress.

    Reading one that was compressed several times, which serves nobody but an attacker, is an error.

    :param encoding: the header ``content-encoding``.
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
        self._given = b""
        self._has_begun = False

    def __aiter__(self) -> _Decompressed:
        return self

    async def __anext__(self) -> bytes:
        if len(self._kinds) > 1:
            raise DecodingError(f"the answer is compressed {len(self._kinds)} times")
        while True:
            if self._given and (piece := self._next()):
                return piece
            try:
                self._given += await self._body.__anext__()
            except StopAsyncIteration:
                if rest := self._inflate.flush():
                    return bytes(rest)
                if self._has_begun and not self._inflate.eof:
                    raise DecodingError("the compressed answer breaks off") from None
                raise

    def _next(self) -> bytes:
        """As much of what was given as fits into a piece; empty if more has to come."""
        if self._inflate.eof:  # another one may follow, or something that is to be ignored
            if self._kind != _GZIP or not self._given.startswith(_GZIP_BEGINS):
                self._given = self._given if self._given == _GZIP_BEGINS[:1] else b""
                return b""
            self._inflate = zlib.decompressobj(self._kind)
        try:
            piece: bytes = self._inflate.decompress(self._given, _PIECE_BYTES)
        except zlib.error as exc:
            if self._has_begun or self._kind != _ZLIB:
                raise DecodingError(str(exc)) from None
            # Some mean by this name the bare format, without a head.
            self._kind, self._inflate = _BARE, zlib.decompressobj(_BARE)
            return self._next()
        self._has_begun = True
        self._given = self._inflate.unconsumed_tail or self._inflate.unused_data
        return piece
