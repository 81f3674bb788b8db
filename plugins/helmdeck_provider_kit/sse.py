"""Pieces of a body as they come off the network, turned into server-sent events or lines; cut anywhere.

Both decoders are fed bytes and give what is complete. Nothing is decoded as text here: a piece may end inside a character,
and JSON is read from bytes anyway.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from helmdeck_core import BYTE_ORDER_MARK, without_byte_order_mark


class ServerEvent(NamedTuple):
    """One server-sent event.

    :ivar name: the event's type; ``message`` where the server gives none.
    :ivar data: its lines of data, joined by line feeds.
    """

    name: str
    data: bytes


_FIELDS: Final = (b":", b"data", b"event", b"id", b"retry")


def may_be_events(body: bytes) -> bool:
    """Whether a body may consist of server-sent events, or is the beginning of one, by how it begins; blanks may."""
    start = without_byte_order_mark(body).lstrip()[:6]
    return not start or start.startswith(_FIELDS) or any(field.startswith(start) for field in _FIELDS)


class _LineEnds:
    """Turns line ends that are CR or CRLF into LF, and takes a byte order mark off the beginning."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._after_cr = False

    def feed(self, piece: bytes) -> bytes:
        if self._start is not None:
            piece = self._without_bom(piece)
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")  # the second half of a line end that was cut in two
            self._after_cr = False
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece

    def finish(self) -> bytes:
        """What would have become a byte order mark."""
        start, self._start = self._start or b"", None
        return start

    def _without_bom(self, piece: bytes) -> bytes:
        start = (self._start or b"") + piece
        if len(start) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(start):
            self._start = start
            return b""
        self._start = None
        return without_byte_order_mark(start)


class LineDecoder:
    """Cuts pieces into lines that end with LF, CR or CRLF, as NDJSON has them."""

    def __init__(self) -> None:
        self._ends = _LineEnds()
        self._rest = bytearray()  # a line that is not complete; grows in place, so that its length costs once

    def feed(self, piece: bytes) -> Sequence[bytes]:
        """Take the next piece; return the lines that are now complete, without their ends."""
        piece = self._ends.feed(piece)
        if b"\n" not in piece:
            self._rest += piece
            return ()
        lines = piece.split(b"\n")
        if self._rest:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += lines.pop()
        return lines

    def finish(self) -> bytes:
        """The line that the end of the body left without an end."""
        rest = self._ends.finish() + bytes(self._rest)
        self._rest.clear()
        return rest


class EventDecoder:
    """Reads server-sent events as the HTML standard says, except that an event that the end of the body cuts is kept.

    Servers that leave out the last empty line are many; whether what they sent is whole, only its reader can tell.
    """

    def __init__(self) -> None:
        self._ends = _LineEnds()
        self._rest = bytearray()  # what follows the last empty line

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Take the next piece; return the events that are now complete."""
        piece = self._ends.feed(piece)
        end = piece.rfind(b"\n\n") + 2
        if end == 1 and not (piece.startswith(b"\n") and self._rest.endswith(b"\n")):
            self._rest += piece
            return []
        whole = piece[:end]  # one line feed, where the last piece ended with the other one
        if self._rest:
            whole = bytes(self._rest) + whole
            self._rest.clear()
        self._rest += piece[end:]
        return _events(whole)

    def finish(self) -> list[ServerEvent]:
        """The event that the end of the body left without an end."""
        rest = self._ends.finish() + bytes(self._rest)
        self._ends = _LineEnds()
        self._rest.clear()
        return self.feed(rest + b"\n\n")


_USUAL: Final = re.compile(rb"(?m)^(?:event: ([^\n]+)\n)?data: ([^\n]*)\n\n")
"""An event as nearly all are: one line of data, perhaps with a name before it."""


def _events(whole: bytes) -> list[ServerEvent]:
    """The events in lines of which the last one is empty."""
    found = _USUAL.findall(whole)
    names = {name: name.decode("utf-8", "replace") or "message" for name in {name for name, _ in found}}
    named = sum(1 for name, _ in found if name) if len(names) > 1 or b"" not in names else 0
    if whole.count(b"\n") == 2 * len(found) + named:  # every line belongs to one of them
        return [ServerEvent(names[name], data) for name, data in found]
    events: list[ServerEvent] = []
    data: list[bytes] = []
    name = ""
    for line in whole.split(b"\n"):
        if line:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            continue
        if data:
            events.append(ServerEvent(name or "message", b"\n".join(data)))
            data = []
        name = ""
    return events
