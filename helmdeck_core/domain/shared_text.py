"""Text prefixes that many requests share, encoded once."""

from __future__ import annotations

import functools

import attrs
import msgspec


@attrs.frozen(eq=False)
class SharedText:
    """A text prefix that many requests share, such as a catalog. Its encoding is cached."""

    text: str

    @functools.cached_property
    def json(self) -> bytes:
        """The text as the content of a JSON string, without quotes, in UTF-8."""
        return _inside(self.text)


def json_inside(text: str, shared: SharedText | None) -> bytes:
    """Return a text as the content of a JSON string, without quotes, in UTF-8; the shared prefix is encoded once.

    :raises UnicodeEncodeError: the text contains an unpaired surrogate.
    """
    if shared is None or not text.startswith(shared.text):
        return _inside(text)
    return shared.json + _inside(text[len(shared.text) :])


def _inside(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]
