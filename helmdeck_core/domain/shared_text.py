"""Texts that many requests have in common, and what is made of them once."""

from __future__ import annotations

import functools

import attrs
import msgspec


@attrs.frozen(eq=False)
class SharedText:
    """A text with which many requests begin, such as a catalog: what is made of it is made once."""

    text: str

    @functools.cached_property
    def json(self) -> bytes:
        """The inside of the JSON string that says it, in UTF-8."""
        return _inside(self.text)


def json_inside(text: str, shared: SharedText | None) -> bytes:
    """The inside of the JSON string that says a text, in UTF-8; of what is shared nothing is encoded again.

    :raises UnicodeEncodeError: the text holds half a surrogate pair.
    """
    if shared is None or not text.startswith(shared.text):
        return _inside(text)
    return shared.json + _inside(text[len(shared.text) :])


def _inside(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]
