"""Incremental decoders for server-sent events and for lines.

Both accept chunks of bytes split at any position and return complete items. The bytes are not decoded as text, since a
chunk may end inside a character and JSON is decoded from bytes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from helmdeck_core import BYTE_ORDER_MARK, without_byte_order_mark


class ServerEvent(NamedTuple):
    """One server-sent event.

    :ivar name: event type; ``message`` by default.
    :ivar data: data lines, joined by line feeds.
    """

    name: str
    data: bytes


_FIELDS: Final = (b":", b"data", b"event", b"id", b"retry")


def may_be_events(body: bytes) -> bool:
    """Whether the start of a body looks like server-sent events; an empty or whitespace-only body does."""
    start = without_byte_order_mark(body).lstrip()[:6]
    return not start or start.startswith(_FIELDS) or any(field.startswith(start) for field in _FIELDS)


class _LineEnds:
    """Normalises CR and CRLF to LF and removes a leading byte order mark."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._after_cr = False

    def feed(self, chunk: bytes) -> bytes:
        if self._start is not None:
            chunk = self._without_bom(chunk)
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")  # the second half of a CRLF that was split
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def finish(self) -> bytes:
        """Return an incomplete byte order mark."""
        start, self._start = self._start or b"", None
        return start

    def _without_bom(self, chunk: bytes) -> bytes:
        start = (self._start or b"") + chunk
        if len(start) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(start):
            self._start = start
            return b""
        self._start = None
        return without_byte_order_mark(start)


class LineDecoder:
    """Splits chunks into lines that end with LF, CR or CRLF, such as NDJSON."""

    def __init__(self) -> None:
        self._ends = _LineEnds()
        self._rest = bytearray()  # the incomplete last line; extended in place to keep the cost linear

    def feed(self, chunk: bytes) -> Sequence[bytes]:
        """Read the next chunk and return the lines it completes, without line ends."""
        chunk = self._ends.feed(chunk)
        if b"\n" not in chunk:
            self._rest += chunk
            return ()
        lines = chunk.split(b"\n")
        if self._rest:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += lines.pop()
        return lines

    def finish(self) -> bytes:
        """Return the unterminated last line."""
        rest = self._ends.finish() + bytes(self._rest)
        self._rest.clear()
        return rest


MAX_LINES: Final = 10_000
"""Lines of one event. Reading more would block the event loop."""


class EventDecoder:
    """Decodes server-sent events as in the HTML standard, but keeps an unterminated last event.

    Many servers omit the last empty line; only the reader of the data can detect truncation.

    :ivar has_too_many_lines: whether an event has more than ``MAX_LINES``; it is dropped.
    """

    def __init__(self) -> None:
        self.has_too_many_lines: bool = False
        self._lines = 0
        self._ends = _LineEnds()
        self._rest = bytearray()  # bytes after the last empty line

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Read the next chunk and return the events it completes."""
        return _events(self._completed(chunk))

    def feed_data(self, chunk: bytes) -> tuple[list[bytes], list[ServerEvent]]:
        """Like ``feed``; return the data of the events, and the events themselves if one is named ``error``."""
        whole = self._completed(chunk)
        data: list[bytes] = _SIMPLE_DATA.findall(whole)
        named = whole.count(b"\nevent: ") + whole.startswith(b"event: ")
        if whole.count(b"\n") == 2 * len(data) + named and not (named and b"event: error\n" in whole):
            return data, []
        events = _events(whole)
        return [event.data for event in events], events if any(event.name == "error" for event in events) else []

    def _completed(self, chunk: bytes) -> bytes:
        """Read the next chunk and return the lines of the events it completes."""
        chunk = self._ends.feed(chunk)
        end = chunk.rfind(b"\n\n") + 2
        if end == 1 and not (chunk.startswith(b"\n") and self._rest.endswith(b"\n")):
            self._lines += chunk.count(b"\n")
            self.has_too_many_lines |= self._lines > MAX_LINES
            if not self.has_too_many_lines:
                self._rest += chunk
            return b""
        self._lines = 0
        whole = chunk[:end]  # a single line feed if the last chunk ended with the first one
        if self._rest:
            whole = bytes(self._rest) + whole
            self._rest.clear()
        self._rest += chunk[end:]
        return whole

    def finish(self) -> list[ServerEvent]:
        """Return the unterminated last event."""
        rest = self._ends.finish() + bytes(self._rest)
        self._ends = _LineEnds()
        self._rest.clear()
        return self.feed(rest + b"\n\n")


_SIMPLE_EVENT: Final = re.compile(rb"(?m)^(?:event: ([^\n]+)\n)?data: ([^\n]*)\n\n")
"""The most frequent event: one data line with an optional name before it."""
_SIMPLE_DATA: Final = re.compile(rb"(?m)^(?:event: [^\n]+\n)?data: ([^\n]*)\n\n")
"""The same without its name."""


_server_event = functools.partial(tuple.__new__, ServerEvent)
"""Makes an event in a third of the time of its constructor."""


def _events(whole: bytes) -> list[ServerEvent]:
    """Parse lines that end with an empty line."""
    simple = _SIMPLE_EVENT.findall(whole)
    names = {name: name.decode("utf-8", "replace") or "message" for name in {name for name, _ in simple}}
    named = sum(1 for name, _ in simple if name) if len(names) > 1 or b"" not in names else 0
    if whole.count(b"\n") == 2 * len(simple) + named:  # there are no other lines
        return [_server_event((names[name], data)) for name, data in simple]
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
