"""A tool call whose arguments arrive in chunks."""

from __future__ import annotations

import json

import msgspec

from helmdeck_providers.http.bodies import arguments


class PartialToolCall:
    """A tool call that may be incomplete.

    :ivar is_open: the end event is still missing; always false if the wire format has no end events.
    """

    def __init__(self, number: int, id: str, name: str) -> None:
        self.number = number
        self.id = id
        self.name = name
        self.chunks: list[str] = []
        self.is_open = False

    @property
    def arguments(self) -> str:
        """The arguments received so far, as JSON."""
        return "".join(self.chunks)

    def is_blank(self) -> bool:
        """Whether no arguments were received."""
        return not any(chunk.strip() for chunk in self.chunks)

    def is_truncated(self) -> bool:
        """Whether the arguments are incomplete JSON."""
        try:
            msgspec.json.decode(arguments(self.arguments))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return not _is_complete(self.arguments)
        return False


def _is_complete(text: str) -> bool:
    """Whether a text ends like JSON; it may contain what JSON does not have, such as ``NaN`` and lone surrogates."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
