"""Reads the events of a stream: decodes their JSON, the most frequent ones at a third of the usual cost.

``response_reader`` accumulates what the events contain.
"""

from __future__ import annotations

import abc
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from helmdeck_core import CallFailed, ChatDelta, ProviderUnavailable
from helmdeck_providers.http.bodies import NOT_JSON, decode_json

_HIGH_SURROGATE = re.compile(rb"(?i)(?<!\\)(?:\\\\)*+(\\ud[89ab][0-9a-f]{2})\"(?!\s*:)")
_LOW_SURROGATE = re.compile(rb"(?i)(?<!\\)\"(\\ud[c-f][0-9a-f]{2})")
"""Halves of a character outside the basic plane: the first at the end of a value, and the second at the start of one.

An escaped backslash before the first half makes it text, such as that of JSON in the arguments of a tool call.
"""

_MAX_DELTA_BYTES = 65_536


class EventReader(abc.ABC):
    """Reads events one by one with ``feed``, or several text deltas together.

    :ivar end_mark: data of the event that ends a stream.
    :ivar is_done: whether the end mark of the stream was read; nothing after it is.
    """

    def __init__(self, end_mark: bytes) -> None:
        self.end_mark = end_mark
        self.is_done: bool = False
        self._high = b""

    @abc.abstractmethod
    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read the next decoded event and yield the deltas it adds.

        :raises CallFailed: the event is an error, or does not belong to the wire format.
        """

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = None
    """Decodes the most frequent event, a text delta, at a third of the usual cost.

    The type must be strict: decoding must fail for every other event.
    """

    _list_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = None

    def __init_subclass__(cls) -> None:
        if cls.fast_decoder is not None:
            cls._list_decoder = msgspec.json.Decoder(list[cls.fast_decoder.type])  # type: ignore[name-defined]

    def feed_fast(self, chunk: Any) -> Sequence[ChatDelta] | None:
        """Read an event decoded by ``fast_decoder``; return ``None`` if ``feed`` must read it instead."""
        raise NotImplementedError

    def feed_fast_all(self, chunks: Sequence[Any]) -> Sequence[ChatDelta] | None:  # noqa: ARG002
        """Read several events decoded by ``fast_decoder``; return ``None`` if they must be read one by one."""
        return None

    def take_all(self, events: Sequence[bytes]) -> Iterable[ChatDelta]:
        """Read the data of the next events of a stream; usually all are text deltas, which are decoded together.

        :raises CallFailed: one is an error, or not JSON.
        """
        if self._list_decoder is not None and len(events) > 1:
            try:
                chunks = self._list_decoder.decode(b"[" + b",".join(events) + b"]")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
            else:
                if len(chunks) == len(events):
                    deltas = self.feed_fast_all(chunks)
                    return self._decoded(events, chunks) if deltas is None else deltas
        return self._one_by_one(events)

    def _decoded(self, events: Sequence[bytes], chunks: Sequence[Any]) -> Iterable[ChatDelta]:
        deltas: list[ChatDelta] = []
        try:
            for number, chunk in enumerate(chunks):
                if (added := self.feed_fast(chunk)) is None:
                    return itertools.chain(deltas, self._one_by_one(events[number:]))
                deltas += added
        except CallFailed as exc:
            return _then_fail(deltas, exc)
        return deltas

    def _one_by_one(self, events: Sequence[bytes]) -> Iterator[ChatDelta]:
        for data in events:
            if self.is_done:
                return
            if data:
                yield from self.take(data)

    def take(self, data: bytes) -> Iterable[ChatDelta]:
        """Read the data of the next stream event.

        :raises CallFailed: it is an error, or not JSON.
        """
        if self.fast_decoder is not None:
            try:
                chunk = self.fast_decoder.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
            else:
                if (deltas := self.feed_fast(chunk)) is not None:
                    return deltas
        stripped = data.strip()
        if not stripped:
            return ()
        if stripped == self.end_mark:
            self.done()
            return ()
        event = decode_json(self._with_split_pair(data))
        if event is not NOT_JSON:
            return self.feed(event)
        cause = "cut_body" if data.lstrip()[:1] in (b"{", b"[") else "not_json"
        detail = f"an event of {len(data):,} bytes is damaged"
        raise ProviderUnavailable("the provider's stream is not JSON", status=200, sub_cause=cause, detail=detail)

    def _with_split_pair(self, data: bytes) -> bytes:
        """Move the first half of a character at the end of a string to the string of the next event, where the other is."""
        if self._high and len(data) <= _MAX_DELTA_BYTES:
            data = _LOW_SURROGATE.sub(lambda match: b'"%b%b' % (self._high, match[1]), data, count=1)
            self._high = b""
        if len(data) <= _MAX_DELTA_BYTES and (match := _HIGH_SURROGATE.search(data)):
            self._high = match[1]
            data = data[: match.start(1)] + data[match.end(1) :]
        return data

    def done(self) -> None:
        """Handle the end mark of a stream: the response is complete, also without a stop reason."""
        self.is_done = True


def _then_fail(deltas: Iterable[ChatDelta], failure: CallFailed) -> Iterator[ChatDelta]:
    yield from deltas
    raise failure
