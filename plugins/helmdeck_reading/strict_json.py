"""Strict JSON, as msgspec decodes it: what a decode raises, and whether a text is one value."""

from __future__ import annotations

import msgspec

DECODE_ERRORS = (ValueError, RecursionError, MemoryError)
"""What a decode raises: ``msgspec.DecodeError`` and ``UnicodeEncodeError`` are ``ValueError``."""

_raw = msgspec.json.Decoder(msgspec.Raw)


def is_json(text: str) -> bool:
    """Whether the text is one JSON value; for most texts that are not, this ends at once."""
    try:
        _raw.decode(text)
    except (ValueError, RecursionError):
        return False
    return True
