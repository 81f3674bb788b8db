"""The byte order mark that some tools write at the start of UTF-8 text."""

from __future__ import annotations

from typing import Final

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""


def without_byte_order_mark(data: bytes) -> bytes:
    r"""Return UTF-8 data without a leading byte order mark.

    >>> from helmdeck_core import without_byte_order_mark
    >>> without_byte_order_mark(b"\xef\xbb\xbf{}")
    b'{}'
    """
    return data.removeprefix(BYTE_ORDER_MARK)
