"""Takes the bytes of an AWS event stream apart into frames, in whatever pieces they come.

Both checksums of a frame are checked, and its lengths before anything is waited for: damage is an error at once, and never
text of the model.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from zlib import crc32

MAX_FRAME_BYTES = 25 * 2**20
"""The format allows a payload of 24 MB and 128 KB of headers; a frame of Converse has some hundred bytes."""

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_EMPTY_FRAME_BYTES = _PRELUDE.size + _CRC.size
_WIDTHS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of the header values that have a fixed width, by their type."""
_BYTES, _TEXT = 6, 7


class DamagedFrame(ValueError):
    """The bytes are no frame; the text says what is wrong with them."""


class Frame(NamedTuple):
    """One message of the stream.

    :ivar headers: those whose values are texts.
    """

    headers: Mapping[str, str]
    payload: bytes


class FrameReader:
    """Collects bytes until a frame is whole."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_frame_bytes
        self._held = bytearray()
        # Pieces of an answer have the same headers, one frame after the other.
        self._headers = b""
        self._read: Mapping[str, str] = {}

    @property
    def held_bytes(self) -> int:
        """How much of a frame that is not yet whole has come."""
        return len(self._held)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Give the frames that are now whole.

        :raises DamagedFrame: the stream cannot be read any further.
        """
        self._held += data
        start = 0
        try:
            while len(self._held) - start >= _PRELUDE.size:
                total, headers = self._lengths(start)
                if len(self._held) - start < total:
                    break
                frame = bytes(self._held[start : start + total])
                start += total
                yield self._frame(frame, headers)
        finally:
            del self._held[:start]

    def _lengths(self, start: int) -> tuple[int, int]:
        total, headers, crc = _PRELUDE.unpack_from(self._held, start)
        if crc32(self._held[start : start + 8]) != crc:
            raise DamagedFrame("the checksum of a frame's beginning is wrong")
        if total > self._max_bytes:
            raise DamagedFrame(f"a frame of {total:,} bytes, the limit is {self._max_bytes:,}")
        if total < _EMPTY_FRAME_BYTES + headers:
            raise DamagedFrame(f"a frame of {total:,} bytes with {headers:,} bytes of headers")
        return total, headers

    def _frame(self, data: bytes, headers_bytes: int) -> Frame:
        (crc,) = _CRC.unpack_from(data, len(data) - _CRC.size)
        if crc32(data[: -_CRC.size]) != crc:
            raise DamagedFrame("the checksum of a frame is wrong")
        end = _PRELUDE.size + headers_bytes
        headers = data[_PRELUDE.size : end]
        if headers != self._headers:
            self._headers, self._read = headers, _headers(headers)
        return Frame(self._read, data[end : -_CRC.size])


def _headers(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            name_bytes = data[place]
            name = data[place + 1 : place + 1 + name_bytes]
            place += 1 + name_bytes
            kind = data[place]
            place += 1
            if kind in (_BYTES, _TEXT):
                (width,) = struct.unpack_from(">H", data, place)
                place += 2
            else:
                width = _WIDTHS[kind]
            if place + width > len(data):
                raise DamagedFrame("a header is longer than all headers")
            if kind == _TEXT:
                found[name.decode()] = data[place : place + width].decode()
            place += width
    except (IndexError, KeyError, UnicodeDecodeError, struct.error) as exc:
        raise DamagedFrame("the headers of a frame cannot be read") from exc
    return found
