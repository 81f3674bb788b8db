"""Response headers as the transports return them."""

from __future__ import annotations

from collections.abc import Iterable


def joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names in lower case; values of a repeated header are joined by commas."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
