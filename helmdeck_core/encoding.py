"""Parts of input that are not text: the byte order mark that some tools write, and surrogates of undecodable bytes."""

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


def surrogate_problem(text: str) -> str:
    r"""Return the problem of a text with surrogates, which neither a provider nor JSON can represent; empty without one.

    Python makes them of bytes that are not text (``surrogateescape``), and of halves of characters in JSON.

    >>> from helmdeck_core import surrogate_problem
    >>> surrogate_problem("caf\udce9 open").partition(",")[0]
    "character 4 is the surrogate '\\udce9'"
    >>> surrogate_problem("café open")
    ''
    """
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        return (
            f"character {exc.start + 1} is the surrogate {text[exc.start]!r}, which is undecodable input and no text; "
            "replace it, or decode the input with errors='replace'"
        )
    return ""


def undecodable_byte(error: UnicodeDecodeError) -> str:
    r"""Return which byte of a file is not UTF-8, for a message.

    >>> from helmdeck_core import undecodable_byte
    >>> try:
    ...     b"tides\nof the caf\xe9".decode()
    ... except UnicodeDecodeError as exc:
    ...     undecodable_byte(exc)
    'the byte 0xe9 in line 2 is not UTF-8'
    """
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"the byte 0x{error.object[error.start]:02x} in line {line} is not UTF-8"
