"""Splits the bytes of an AWS event stream into frames, whatever the chunk boundaries.

Both checksums are verified, and lengths are checked before more data is awaited: damaged data is an error immediately, and
never becomes text of the model.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from zlib import crc32

MAX_FRAME_BYTES = 25 * 2**20
"""The format allows a payload of 24 MB and 128 KB of headers; a frame of Converse has some hundred bytes."""

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_LENGTHS_BYTES = 8
_EMPTY_FRAME_BYTES = _PRELUDE.size + _CRC.size
_WIDTHS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Width of header values with a fixed size, by type."""
_BYTES, _TEXT = 6, 7


class DamagedFrame(ValueError):
    """Invalid frame data; the message describes the problem."""


class Frame(NamedTuple):
    """One message of the stream.

    :ivar headers: headers with string values.
    """

    headers: Mapping[str, str]
    payload: bytes


_frame = functools.partial(tuple.__new__, Frame)
"""Makes a frame in a third of the time of its constructor."""


class FrameReader:
    """Buffers bytes until a frame is complete."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._next_bytes = _PRELUDE.size
        # Consecutive frames of a response have the same headers.
        self._headers = b""
        self._parsed_headers: Mapping[str, str] = {}

    @property
    def held_bytes(self) -> int:
        """Number of buffered bytes of an incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are now complete.

        :raises DamagedFrame: the stream is damaged.
        """
        self._buffer += data
        if len(self._buffer) < self._next_bytes:
            return
        received, start = bytes(self._buffer), 0
        try:
            while len(received) - start >= _PRELUDE.size:
                total, headers, crc = _PRELUDE.unpack_from(received, start)
                if crc32(received[start : start + _LENGTHS_BYTES]) != crc:
                    raise DamagedFrame("the checksum of a frame's prelude is wrong")
                self._check_lengths(total, headers)
                self._next_bytes = total
                if len(received) - start < total:
                    return
                body, end = start + _PRELUDE.size + headers, start + total - _CRC.size
                # The checksum of the frame continues that of its lengths.
                if crc32(received[start + _LENGTHS_BYTES : end], crc) != _CRC.unpack_from(received, end)[0]:
                    raise DamagedFrame("the checksum of a frame is wrong")
                if received[start + _PRELUDE.size : body] != self._headers:
                    headers_bytes = received[start + _PRELUDE.size : body]
                    self._headers, self._parsed_headers = headers_bytes, _headers(headers_bytes)
                start += total
                yield _frame((self._parsed_headers, received[body:end]))
            self._next_bytes = _PRELUDE.size
        finally:
            del self._buffer[:start]

    def _check_lengths(self, total: int, headers: int) -> None:
        if total > self._max_bytes:
            raise DamagedFrame(f"a frame of {total:,} bytes, the limit is {self._max_bytes:,}")
        if total < _EMPTY_FRAME_BYTES + headers:
            raise DamagedFrame(f"a frame of {total:,} bytes with {headers:,} bytes of headers")


def _headers(data: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    position = 0
    try:
        while position < len(data):
            name_bytes = data[position]
            name = data[position + 1 : position + 1 + name_bytes]
            position += 1 + name_bytes
            kind = data[position]
            position += 1
            if kind in (_BYTES, _TEXT):
                (width,) = struct.unpack_from(">H", data, position)
                position += 2
            else:
                width = _WIDTHS[kind]
            if position + width > len(data):
                raise DamagedFrame("a header exceeds the header section")
            if kind == _TEXT:
                headers[name.decode()] = data[position : position + width].decode()
            position += width
    except (IndexError, KeyError, UnicodeDecodeError, struct.error) as exc:
        raise DamagedFrame("the headers of a frame cannot be read") from exc
    return headers
