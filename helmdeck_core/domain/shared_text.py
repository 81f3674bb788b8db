"""Text that many requests share; its encoded form is cached."""

from __future__ import annotations

import functools

import attrs
import msgspec


@attrs.frozen(eq=False)
class SharedText:
    """Text that many requests start with, such as a catalog; its encoded form is created once."""

    text: str

    @functools.cached_property
    def json(self) -> bytes:
        """The text as the inside of a JSON string, in UTF-8."""
        return _inside(self.text)


def json_inside(text: str, shared: SharedText | None) -> bytes:
    """Return a text as the inside of a JSON string, in UTF-8; the shared part is encoded once.

    :raises UnicodeEncodeError: the text contains half a surrogate pair.
    """
    if shared is None or not text.startswith(shared.text):
        return _inside(text)
    return shared.json + _inside(text[len(shared.text) :])


def _inside(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]
