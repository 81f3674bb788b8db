"""What is specific to one API (``WireFormat``): how requests are written, their paths, how responses and streams are read.

``provider`` is the provider that all wire formats share; the built-in ones are in ``helmdeck_providers.wire_formats``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import ChatDelta, ChatRequest, ModelInfo, ProviderUnavailable, Secrets
from helmdeck_providers.http.background import Background
from helmdeck_providers.http.bodies import NOT_JSON, decode_body, decode_json, plain_text
from helmdeck_providers.http.connection import HttpResponse
from helmdeck_providers.http.error_rules import ErrorRules
from helmdeck_providers.http.rendering import Rendered
from helmdeck_providers.http.response_reader import END_MARK, ReaderContext, ResponseReader
from helmdeck_providers.http.sse import MAX_LINES, EventDecoder, LineDecoder, ServerEvent


@attrs.frozen(kw_only=True)
class Preliminary:
    """A request whose response another one needs, such as the tokens of a text.

    :ivar body: returns the body; ``None`` if a request needs none.
    :ivar apply: returns the request with what the decoded response contains.
    """

    path: str
    body: Callable[[ChatRequest], bytes | None]
    apply: Callable[[ChatRequest, Any], ChatRequest]


@attrs.frozen(kw_only=True)
class WireFormat:
    """Everything specific to one API; a subclass may override how error bodies or streamed bytes are read.

    :ivar name: name of the stop-reason table.
    :ivar error_rules: map error responses to failure classes.
    :ivar quota_headers: name prefixes of headers with the remaining quota.
    :ivar headers: takes the API key and returns the request headers, including the key.
    :ivar path: returns the path of a request, relative to the base URL.
    :ivar render: writes a request.
    :ivar answer: creates the response reader.
    :ivar has_lines: streams consist of JSON lines, not of server-sent events.
    :ivar end_mark: data of the event that ends a stream; empty for none.
    :ivar background: how to poll background responses; ``None`` if the API has none.
    :ivar preliminary: what a request that is not streamed needs before it is written; ``None`` for nothing.
    :ivar models_path: path of the model list, relative to the base URL.
    :ivar models: reads a page of the model list and returns its models and the path of the next page, empty for none.
    """

    name: str
    error_rules: ErrorRules = ErrorRules()
    quota_headers: tuple[str, ...] = ()
    headers: Callable[[str | None], Mapping[str, str]]
    path: Callable[[ChatRequest], str]
    render: Callable[[ChatRequest], Rendered]
    answer: Callable[[ChatRequest, ReaderContext], ResponseReader]
    has_lines: bool = False
    end_mark: bytes = END_MARK
    background: Background | None = None
    preliminary: Preliminary | None = None
    models_path: str
    models: Callable[[Mapping[str, Any]], tuple[Sequence[ModelInfo], str]]

    def decode_body(self, received: HttpResponse, secrets: Secrets) -> Any:
        """Return the decoded body of a response with a success status.

        :raises CallFailed: it is an error, a redirect, or not JSON.
        """
        return decode_body(received.status, received.headers, received.body, self.error_rules, secrets)

    def events(self, reader: ResponseReader) -> EventFeed:
        """Return the object that feeds the bytes of a stream to a reader."""
        return EventFeed(reader, has_lines=self.has_lines)


class EventFeed:
    """Decodes the events of a stream and feeds them to a reader.

    :ivar has_events: whether an event was received.
    """

    def __init__(self, reader: ResponseReader, *, has_lines: bool) -> None:
        self.has_events: bool = False
        self._reader = reader
        self._decoder: LineDecoder | EventDecoder = LineDecoder() if has_lines else EventDecoder()

    def feed(self, chunk: bytes) -> Iterable[ChatDelta]:
        """Read the next chunk and return the deltas of the events it completes; none after the end mark.

        :raises CallFailed: an event is an error, or not JSON.
        """
        events: Sequence[ServerEvent] = ()
        data: Sequence[bytes]
        if isinstance(self._decoder, LineDecoder):
            data = self._decoder.feed(chunk)
        else:
            data, events = self._decoder.feed_data(chunk)
            if self._decoder.has_too_many_lines:
                detail = f"an event has more than {MAX_LINES:,} lines"
                raise ProviderUnavailable(
                    "the provider's stream is damaged", status=200, sub_cause="too_large", detail=detail
                )
        self.has_events |= bool(data) and not self._reader.is_done
        return self._with_errors(events) if events else self._reader.take_all(data)

    def _with_errors(self, decoded: Iterable[ServerEvent]) -> Iterator[ChatDelta]:
        for name, data in decoded:
            if self._reader.is_done:
                return
            yield from self._reader.feed(_error_event(data)) if name == "error" else self._reader.take_all((data,))

    def finish(self) -> Iterator[ChatDelta]:
        """Read an unterminated event at the end of the body; a truncated one is ignored."""
        if self._reader.is_done:
            return
        rest = self._decoder.finish()
        for data in [rest] if isinstance(rest, bytes) else [event.data for event in rest]:
            # Some proxies remove the empty lines between events.
            for line in data.split(b"\n") if decode_json(data) is NOT_JSON else (data,):
                event = decode_json(line)
                if line.strip() == self._reader.end_mark:
                    self._reader.done()
                    return
                if event is not NOT_JSON:
                    self.has_events = True
                    yield from self._reader.feed(event)


def _error_event(data: bytes) -> dict[str, Any]:
    """Return the data of an event named ``error`` as an object with an error, also where it is plain text."""
    event = decode_json(data)
    if event is NOT_JSON:
        event = plain_text(data)
    return event if isinstance(event, dict) and event.get("error") else {"error": event}
