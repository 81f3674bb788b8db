"""The HTTP provider that all wire formats share: complete, stream and list models.

A ``WireFormat`` contains everything specific to one API: how requests are written, their paths, how responses are read.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ModelInfo,
    ProviderContext,
    ProviderSettings,
    ProviderUnavailable,
    Secrets,
    TransientUnknown,
    one_by_one,
)
from helmdeck_providers.http.background import Background, cancel, poll_until_done
from helmdeck_providers.http.bodies import NOT_JSON, decode_body, decode_json, plain_text
from helmdeck_providers.http.connection import HttpConnection, HttpResponse, HttpStream
from helmdeck_providers.http.delta_batches import together
from helmdeck_providers.http.error_rules import ErrorRules, combined_rules
from helmdeck_providers.http.rendering import Rendered
from helmdeck_providers.http.response_reader import END_MARK, ReaderContext, ResponseReader
from helmdeck_providers.http.sse import MAX_LINES, EventDecoder, LineDecoder, ServerEvent, may_be_events

_MAX_PAGES = 20
"""Maximum number of pages of a model list, in case a server's list never ends."""
_PART_BYTES = 16_384
"""How much of a stream that arrives at once is read before other tasks run, in bytes or in characters of deltas."""
_READ_BYTES = 2_048
"""What one read counts in addition: its bytes may have come in hundreds of chunks."""


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


@attrs.frozen
class _PreparedRequest:
    """A request ready to send."""

    request: ChatRequest
    path: str
    body: bytes
    headers: Mapping[str, str] = attrs.field(repr=False)
    secrets: Secrets
    downgrades: tuple[str, ...]
    constraint: str
    sent_s: float = attrs.field(factory=time.perf_counter)


class HttpProvider:
    """A provider that speaks HTTP; a subclass may sign its requests."""

    def __init__(self, settings: ProviderSettings, context: ProviderContext, wire_format: WireFormat) -> None:
        rules = [rules for rules in settings.error_rules if isinstance(rules, ErrorRules)]
        if rules:
            wire_format = attrs.evolve(wire_format, error_rules=combined_rules(*rules, wire_format.error_rules))
        self._wire_format = wire_format
        self._secret_pattern = settings.secret_pattern
        self._secrets = (Secrets(), Secrets())
        self._connection = HttpConnection(settings)
        self._timeout_s = settings.timeout_s
        name = wire_format.name
        self._normalise = lambda raw: context.normalise_stop(raw, name)
        self._dispose = lambda raw, reason: context.disposition_of(raw, reason, name)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send a request and return the response.

        :raises CallFailed: the subclass describes the cause.
        """
        prepared = self._prepare(attrs.evolve(request, stream=False) if request.stream else request)
        response = await self._connection.post(prepared.path, prepared.body, prepared.headers, prepared.secrets)
        response, body = await self._decode_whole(prepared, response)
        reader = self._reader(prepared, response)
        try:
            for _ in reader.read(body):
                pass
        except CallFailed as exc:
            raise reader.with_partial_response(exc) from exc.__cause__
        return reader.finish()

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Send a request; yield the deltas of the response, then the complete response.

        :raises CallFailed: the subclass describes the cause.
        """
        return one_by_one(self.batches(request))

    async def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Like ``stream``, with the deltas of each network read in one batch.

        :raises CallFailed: the subclass describes the cause.
        """
        prepared = self._prepare(attrs.evolve(request, stream=True))
        path, body, headers, secrets = prepared.path, prepared.body, prepared.headers, prepared.secrets
        has_events = is_broken = False
        async with self._connection.stream(path, body, headers, secrets) as incoming:
            if incoming.is_whole:
                received, data = await self._decode_whole(prepared, await incoming.received())
                reader = self._reader(prepared, received)
                with _partial_response_added(reader):
                    for batch in _batches(reader, reader.read(data)):
                        yield batch
                        await asyncio.sleep(0)
            else:
                reader = self._reader(prepared, incoming)
                events = self._wire_format.events(reader)
                start: list[bytes] = []
                try:
                    with _partial_response_added(reader):
                        left = _PART_BYTES
                        async for chunk in incoming:
                            if not events.has_events:
                                start.append(chunk)
                            for part in _parts(chunk):
                                for batch in _batches(reader, events.feed(part)):
                                    yield batch
                                    if reader.is_divided:
                                        await asyncio.sleep(0)
                                if reader.is_done:
                                    break
                                left -= len(part) + _READ_BYTES
                                if left < 0:  # data that has arrived is read without waiting
                                    left = _PART_BYTES
                                    await asyncio.sleep(0)
                            if reader.is_done:
                                break
                            incoming.may_be_over = reader.may_be_done
                        for batch in _batches(reader, events.finish()):
                            yield batch
                        has_events = events.has_events
                        if not has_events and not may_be_events(whole := b"".join(start)):
                            # An HTML page, an error outside an event, or a response that is not streamed,
                            # regardless of its content type.
                            body_only = HttpResponse(incoming.status, incoming.headers, whole)
                            _, data = await self._decode_whole(prepared, body_only)
                            for batch in _batches(reader, reader.read(data)):
                                yield batch
                                await asyncio.sleep(0)
                    # Some servers write the end mark after an abort, and then close the connection.
                    is_broken = reader.is_done and await incoming.drain(awaits_end=not reader.has_stop_reason)
                finally:
                    if reader.cancel_path and (background := self._wire_format.background):
                        await cancel(self._connection, background, reader.cancel_path, headers, secrets)
            response = reader.finish()
            if not (incoming.is_whole or response.raw_stop_reason or (reader.has_ended() and not is_broken)):
                response = attrs.evolve(response, is_interrupted=has_events)
            yield response

    async def models(self) -> tuple[ModelInfo, ...]:
        """Return the models in the server's order.

        :raises CallFailed: the subclass describes the cause.
        """
        models: list[ModelInfo] = []
        path = self._wire_format.models_path
        for _ in range(_MAX_PAGES):
            headers, secrets = self._authorised(path, None)
            secrets = self._with_secret_pattern(secrets)
            response = await self._connection.get(path, headers, secrets)
            data = self._wire_format.decode_body(response, secrets)
            if isinstance(data, list):  # some servers return a bare list
                data = {"data": data}
            if not isinstance(data, dict):
                headline = "the provider's answer is not a list of models"
                raise TransientUnknown(headline, status=response.status, sub_cause="wrong_shape")
            page, path = self._wire_format.models(data)
            models += page
            if not path:
                break
        return tuple(models)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    async def _decode_whole(self, prepared: _PreparedRequest, response: HttpResponse) -> tuple[HttpResponse, Any]:
        """Return a response that is not streamed and its decoded body; a background response is polled until done."""
        body = self._wire_format.decode_body(response, prepared.secrets)
        background = self._wire_format.background
        if background is None or not (path := background.path(body)):
            return response, body
        rules = self._wire_format.error_rules
        return await poll_until_done(
            self._connection, background, path, prepared.headers, prepared.secrets, rules, self._timeout_s
        )

    def _prepare(self, request: ChatRequest) -> _PreparedRequest:
        rendered, path = self._wire_format.render(request), self._wire_format.path(request)
        headers, secrets = self._authorised(path, rendered.body)
        if rendered.headers:
            headers = {**headers, **rendered.headers}
        secrets = self._with_secret_pattern(secrets)
        return _PreparedRequest(
            request
            if request.max_tokens == rendered.max_tokens
            else attrs.evolve(request, max_tokens=rendered.max_tokens),
            path,
            rendered.body,
            headers,
            secrets,
            rendered.downgrades,
            rendered.constraint,
        )

    def _authorised(self, path: str, body: bytes | None) -> tuple[Mapping[str, str], Secrets]:  # noqa: ARG002
        """Return the request headers, including the key, and the secrets to redact in the response.

        :param path: relative to the base URL.
        :param body: body of a POST; ``None`` for a GET.
        :raises AuthFailed: there is no usable key.
        """
        key = self._connection.key()
        return self._wire_format.headers(key), self._connection.secrets(key)

    def _with_secret_pattern(self, secrets: Secrets) -> Secrets:
        """Add the deployment's pattern to the secrets; cached until the secrets change."""
        if self._secrets[0] is not secrets:
            self._secrets = (secrets, secrets.with_pattern(self._secret_pattern))
        return self._secrets[1]

    def _reader(self, prepared: _PreparedRequest, head: HttpResponse | HttpStream) -> ResponseReader:
        context = ReaderContext(
            error_rules=self._wire_format.error_rules,
            quota_headers=self._wire_format.quota_headers,
            end_mark=self._wire_format.end_mark,
            normalise=self._normalise,
            dispose=self._dispose,
            status=head.status,
            headers=head.headers,
            max_tokens=prepared.request.max_tokens,
            secrets=prepared.secrets,
            downgrades=prepared.downgrades,
            constraint=prepared.constraint,
            sent_s=prepared.sent_s,
        )
        return self._wire_format.answer(prepared.request, context)


def _parts(chunk: bytes) -> Iterable[bytes]:
    """Divide a chunk."""
    if len(chunk) <= _PART_BYTES:
        return (chunk,)
    return (chunk[start : start + _PART_BYTES] for start in range(0, len(chunk), _PART_BYTES))


def _batches(reader: ResponseReader, deltas: Iterable[ChatDelta]) -> Iterator[Sequence[ChatDelta]]:
    """Yield one batch of all deltas, or several if they have much text."""
    for batch in ([deltas] if deltas else ()) if isinstance(deltas, list) else together(deltas):
        if not reader.is_divided:
            yield batch
            continue
        start, chars = 0, 0
        for end, delta in enumerate(batch, 1):
            chars += len(delta.text) + len(delta.reasoning_content)
            if chars >= _PART_BYTES or end == len(batch):
                yield batch[start:end]
                start, chars = end, 0


@contextlib.contextmanager
def _partial_response_added(reader: ResponseReader) -> Iterator[None]:
    """Add the partial response to every failure raised inside."""
    try:
        yield
    except CallFailed as exc:
        raise reader.with_partial_response(exc) from exc.__cause__


class EventFeed:
    """Decodes the events of a stream and feeds them to a reader.

    :ivar has_events: whether an event was received.
    """

    def __init__(self, reader: ResponseReader, *, has_lines: bool) -> None:
        self.has_events = False
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
            event = decode_json(data)
            if data.strip() == self._reader.end_mark:
                self._reader.done()
            elif event is not NOT_JSON:
                self.has_events = True
                yield from self._reader.feed(event)


def _error_event(data: bytes) -> dict[str, Any]:
    """Return the data of an event named ``error`` as an object with an error, also where it is plain text."""
    event = decode_json(data)
    if event is NOT_JSON:
        event = plain_text(data)
    return event if isinstance(event, dict) and event.get("error") else {"error": event}
