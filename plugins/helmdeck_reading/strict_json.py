"""Strict JSON, as msgspec decodes it: what a decode into plain data or into a type raises, and whether a text is one value."""

from __future__ import annotations

import re

import msgspec

DECODE_ERRORS = (ValueError, RecursionError, MemoryError)
"""What a decode into plain data raises: ``msgspec.DecodeError`` and ``UnicodeEncodeError`` are ``ValueError``.

A type with validation of its own, such as ``__post_init__``, may raise any other ``Exception``: it rejects the value.
"""

_FLOAT_FOR_INT = re.compile(r"Expected `[^`]*\bint\b[^`]*`, got `float`")

_INTEGRAL = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?<![\d.eE+-])(-?\d++)\.0++(?![\deE])', re.DOTALL)

_raw = msgspec.json.Decoder(msgspec.Raw)


def is_json(text: str) -> bool:
    """Whether the text is one JSON value; for most texts that are not, this ends at once."""
    try:
        _raw.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def describe_rejection(error: Exception) -> str:
    """The exception with which the validation of a type rejected a value."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def is_float_for_int(error: msgspec.ValidationError) -> bool:
    """Whether a type requires an integer where the text has a number with a decimal point."""
    return _FLOAT_FOR_INT.match(str(error)) is not None


def with_integers(text: str) -> str:
    """The JSON text with ``42`` in place of ``42.0``, which is an integer in JSON Schema too."""
    return _INTEGRAL.sub(lambda match: match[1] or match[0], text)
