"""Parts of input that are not text: the byte order mark that some tools write, and surrogates of undecodable bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""


def without_byte_order_mark(data: bytes) -> bytes:
    r"""Return UTF-8 data without a leading byte order mark.

    >>> from helmdeck_core import without_byte_order_mark
    >>> without_byte_order_mark(b"\xef\xbb\xbf{}")
    b'{}'
    """
    return data.removeprefix(BYTE_ORDER_MARK)


def undecodable_text(value: Any, place: str = "$") -> str:
    r"""Return the place and problem of the first text with surrogates in plain data; empty without one.

    Data that is nested too deeply to be searched, which JSON cannot represent either, is a problem of the whole value.

    Neither a provider nor JSON can represent surrogates. Python makes them of bytes that are not text (``surrogateescape``),
    and of halves of characters in JSON.

    :param place: the name or path of the value.

    >>> from helmdeck_core import undecodable_text
    >>> undecodable_text({"names": ["tea", "caf\udce9"]}).partition(",")[0]
    "$.names[1]: character 4 is the surrogate '\\udce9'"
    >>> undecodable_text("café open")
    ''
    """
    try:
        return _first_problem(value, place)
    except RecursionError:
        return f"{place}: it contains itself, or is nested too deeply"


def _first_problem(value: Any, place: str) -> str:
    if isinstance(value, str):
        return _surrogate_problem(value, place)
    if isinstance(value, Mapping):
        parts = [(part, f"{place}.{key}") for key, item in value.items() for part in (key, item)]
    else:
        parts = [(part, f"{place}[{at}]") for at, part in enumerate(value if isinstance(value, (list, tuple)) else ())]
    return next(filter(None, (_first_problem(*part) for part in parts)), "")


def _surrogate_problem(text: str, place: str) -> str:
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        return (
            f"{place}: character {exc.start + 1} is the surrogate {text[exc.start]!r}, which is undecodable input and no text; "
            "replace it, or decode the input with errors='replace'"
        )
    return ""


def plain_type(value: Any) -> Any:
    """Return a mapping, or a value of a subclass of a plain type, as the plain type. An ``enc_hook`` of msgspec.

    >>> from types import MappingProxyType
    >>> from helmdeck_core import plain_type
    >>> plain_type(MappingProxyType({"a": 1}))
    {'a': 1}

    :raises TypeError: it is of another type.
    """
    if isinstance(value, Mapping):
        return dict(value)
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"it contains a value of type {type(value).__name__}")


def non_finite_number(value: Any, place: str = "$") -> str:
    """Return the place of the first NaN or infinity in plain data; empty without one. JSON encoders write ``null`` for them.

    :param place: the name or path of the value.

    >>> from helmdeck_core import non_finite_number
    >>> non_finite_number({"levels": [1.5, float("nan")]})
    '$.levels[1]: nan is not a number of JSON; leave it out, or return null or a string'
    >>> non_finite_number({"level": None})
    ''
    """
    pending: list[tuple[Any, Any]] = [(value, place)]  # places are written only if one is shown
    while pending:
        value, at = pending.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return f"{_shown_place(at)}: {value} is not a number of JSON; leave it out, or return null or a string"
        if isinstance(value, Mapping):
            pending += [(item, (at, f".{key}")) for key, item in reversed(list(value.items()))]
        elif isinstance(value, (list, tuple)):
            pending += [(item, (at, f"[{index}]")) for index, item in reversed(list(enumerate(value)))]
    return ""


def _shown_place(at: Any) -> str:
    parts: list[str] = []
    while isinstance(at, tuple):
        at, part = at
        parts.append(part)
    return "".join((at, *reversed(parts)))


def printable(text: str) -> str:
    r"""Return a text with escape sequences in place of surrogates, for a message.

    >>> from helmdeck_core.encoding import printable
    >>> printable("there is no file caf\udce9.txt")
    'there is no file caf\\udce9.txt'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


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
