"""The HTTP provider that all wire formats share: completes, streams and lists models, over one connection.

``provider_spec`` declares such a provider; what is specific to one API is its ``wire_format``.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

import attrs

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Constraint,
    ModelInfo,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    Secrets,
    TransientUnknown,
    one_by_one,
)
from helmdeck_providers.http.background import cancel, poll_until_done
from helmdeck_providers.http.connection import HttpConnection, HttpResponse, HttpStream
from helmdeck_providers.http.error_rules import ErrorRules, combined_rules
from helmdeck_providers.http.response_reader import ReaderContext, ResponseReader
from helmdeck_providers.http.sse import may_be_events
from helmdeck_providers.http.wire_format import WireFormat

_MAX_PAGES = 20
"""Maximum number of pages of a model list, in case a server's list never ends."""
_PART_BYTES = 16_384
"""How much of a stream that arrives at once is read before other tasks run, in bytes or in characters of deltas."""
_READ_BYTES = 2_048
"""What one read counts in addition: its bytes may have come in hundreds of chunks."""


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
        request = await self._with_preliminary(attrs.evolve(request, stream=False) if request.stream else request)
        prepared = self._prepare(request)
        response = await self._connection.post(prepared.path, prepared.body, prepared.headers, prepared.secrets)
        if response.status == 200 and response.body.strip() and may_be_events(response.body):
            reader = self._reader(prepared, response)
            if await self._read_events(reader, response.body):
                return reader.finish()
        response, body = await self._decode_whole(prepared, response)
        reader = self._reader(prepared, response)
        with _partial_response_added(reader):
            for _ in reader.read(body):
                pass
        return reader.finish()

    async def _read_events(self, reader: ResponseReader, body: bytes) -> bool:
        """Read a stream that was not requested, which some servers and proxies send anyway; return whether it is one."""
        events = self._wire_format.events(reader)
        with _partial_response_added(reader):
            for part in _parts(body):
                for _ in events.feed(part):
                    pass
                await asyncio.sleep(0)
            for _ in events.finish():
                pass
        return events.has_events

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

    async def _with_preliminary(self, request: ChatRequest) -> ChatRequest:
        """Return the request with what the server has to be asked for first."""
        preliminary = self._wire_format.preliminary
        body = preliminary.body(request) if preliminary is not None else None
        if preliminary is None or body is None:
            return request
        headers, secrets = self._authorised(preliminary.path, body)
        secrets = self._with_secret_pattern(secrets)
        response = await self._connection.post(preliminary.path, body, headers, secrets)
        return preliminary.apply(request, self._wire_format.decode_body(response, secrets))

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


def together(deltas: Iterable[ChatDelta]) -> Iterator[Sequence[ChatDelta]]:
    """Yield one batch of all deltas, if there are any, also before an exception of ``deltas`` is raised.

    >>> from helmdeck_core import ChatDelta
    >>> from helmdeck_providers import together
    >>> [[delta.text for delta in batch] for batch in together([ChatDelta("one "), ChatDelta("two")])]
    [['one ', 'two']]
    """
    batch: list[ChatDelta] = []
    try:
        for delta in deltas:
            batch.append(delta)  # deltas before a failure count
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class _ServerOptions(attrs.AttrsInstance, Protocol):
    """An attrs class with a default for each option; ``read`` returns those of a deployment, see ``provider_options``."""

    @classmethod
    def read(cls, settings: ProviderSettings) -> Self: ...


_Options = TypeVar("_Options", bound=_ServerOptions)


def provider_spec(
    name: str,
    summary: str,
    base_url: str | None,
    key: str | None,
    options: _Options,
    make_wire_format: Callable[[_Options], WireFormat],
    constraint: Callable[[ChatRequest, _Options], Constraint],
    example_model: str = "",
    output_limit: Callable[[_Options], int] | None = None,
) -> ProviderSpec:
    """Declare the provider of one server.

    :param key: environment variable of the API key.
    :param options: how the server differs from others with its format; a deployment may override them.
    :param constraint: returns how a response is constrained.
    :param output_limit: returns the output limit of a request without one; ``None`` if the server decides.
    """
    read = type(options).read

    def open_provider(settings: ProviderSettings, context: ProviderContext) -> Provider:
        return HttpProvider(settings, context, make_wire_format(read(settings)))

    return ProviderSpec(
        name=name,
        open=open_provider,
        summary=summary,
        base_url=base_url,
        api_key=f"env:{key}" if key else None,
        # Only non-default values, so that a listing shows how a server differs.
        options=attrs.asdict(options, filter=lambda field, value: value != field.default),
        constrain=lambda settings, request: constraint(request, read(settings)),
        output_limit=None if output_limit is None else lambda settings: output_limit(read(settings)),
        example_model=example_model,
    )
