"""The connection to Bedrock: which keys, which address, one request, its answer."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from helmdeck_core import (
    AuthFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ConfigError,
    Constraint,
    Mistake,
    ProviderContext,
    ProviderSettings,
    SecretRef,
)
from helmdeck_core.http import Secrets, Transport, one_by_one, request_id, together
from helmdeck_provider_bedrock.answer import DIALECT, AnswerReader
from helmdeck_provider_bedrock.faults import read_body
from helmdeck_provider_bedrock.request import Rendered, constraint, render
from helmdeck_provider_bedrock.signing import Credentials, signed
from helmdeck_provider_bedrock.stream import EVENT_STREAM, StreamReader

_SERVICE = "bedrock"
_KEYS = ("access_key_id", "secret_access_key", "session_token")


@attrs.frozen(kw_only=True)
class Options:
    """What ``[providers.bedrock.options]`` can say.

    :ivar region: where the models are served; left out: ``AWS_REGION``, then ``AWS_DEFAULT_REGION``.
    :ivar access_key_id: where it is kept, ``env:NAME`` or ``file:PATH``; so for the next two.
    :ivar cache_point_models: parts of the names of the models that take a cache point; all others refuse it.
    :ivar json_schema: whether a JSON schema is sent; a model without structured output refuses it.
    """

    region: str = ""
    access_key_id: str = "env:AWS_ACCESS_KEY_ID"
    secret_access_key: str = "env:AWS_SECRET_ACCESS_KEY"  # noqa: S105  # a reference
    session_token: str = "env:AWS_SESSION_TOKEN"  # noqa: S105
    cache_point_models: Sequence[str] = ("anthropic.claude", "amazon.nova")
    json_schema: bool = True


def constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    """How the answer to a request would be held to its form.

    :raises ConfigError: with every mistake in the options.
    """
    return constraint(request, has_schemas=_options(settings).json_schema)


def open_bedrock(settings: ProviderSettings, context: ProviderContext) -> Bedrock:
    """Open a connection.

    :raises ConfigError: with every mistake in the options.
    :raises InvalidRequest: ``base_url`` or a header cannot be used.
    """
    options = _options(settings)
    region = options.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        where = f"providers.{settings.name}.options.region"
        raise ConfigError((Mistake(where, "there is no region", "", "one such as us-east-1, or set AWS_REGION"),))
    if not settings.base_url:
        domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        settings = attrs.evolve(settings, base_url=f"https://bedrock-runtime.{region}.{domain}")
    return Bedrock(settings, context, attrs.evolve(options, region=region))


class Bedrock:
    """An open connection to one region.

    :ivar url: where it is served, without a slash at its end.
    """

    def __init__(self, settings: ProviderSettings, context: ProviderContext, options: Options) -> None:
        self._settings = settings
        self._context = context
        self._options = options
        self._transport = Transport(settings)
        self.url = (settings.base_url or "").rstrip("/")

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once.

        :raises CallFailed: the subclass of the cause.
        """
        started = time.monotonic()
        rendered = self._render(attrs.evolve(request, stream=False))
        headers, secrets = self._authorised(rendered)
        received = await self._transport.post(rendered.path, rendered.body, headers, secrets)
        answer = self._reader(request, secrets)
        for _ in answer.read(read_body(received.status, received.headers, received.body, secrets)):
            pass
        return self._finished(answer, rendered, started, request_id(received.headers, secrets))

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Ask once, and give the pieces as they come, the whole response last.

        :raises CallFailed: the subclass of the cause, also in the middle.
        """
        return one_by_one(self.batches(request))

    async def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """The same, with the pieces of each read of the network together.

        :raises CallFailed: the subclass of the cause, also in the middle.
        """
        started = time.monotonic()
        rendered = self._render(attrs.evolve(request, stream=True))
        headers, secrets = self._authorised(rendered)
        answer = self._reader(request, secrets)
        async with self._transport.stream(
            rendered.path, rendered.body, {**headers, "accept": EVENT_STREAM}, secrets
        ) as incoming:
            if incoming.status != 200 or EVENT_STREAM not in incoming.headers.get("content-type", ""):
                received = await incoming.received()
                # An error, or the whole answer from somebody in between who does not stream.
                body = read_body(received.status, received.headers, received.body, secrets)
                for batch in together(answer.read(body)):
                    yield batch
            else:
                frames = StreamReader(answer, secrets)
                async for piece in incoming:
                    for batch in together(frames.feed(piece)):
                        yield batch
            name = request_id(incoming.headers, secrets)
        yield self._finished(answer, rendered, started, name)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _render(self, request: ChatRequest) -> Rendered:
        options = self._options
        return render(request, cache_models=options.cache_point_models, has_schemas=options.json_schema)

    def _reader(self, request: ChatRequest, secrets: Secrets) -> AnswerReader:
        return AnswerReader(
            lambda raw: self._context.normalise_stop(raw, DIALECT), max_tokens=request.max_tokens, secrets=secrets
        )

    def _finished(self, answer: AnswerReader, rendered: Rendered, started: float, name: str) -> ChatResponse:
        response = answer.response()
        found = response.disposition or self._context.disposition_of(
            response.raw_stop_reason, response.stop_reason, DIALECT
        )
        return attrs.evolve(
            response,
            disposition=found,
            downgrades=rendered.downgrades,
            constraint=rendered.constraint,
            latency_s=time.monotonic() - started,
            request_id=name,
        )

    def _authorised(self, rendered: Rendered) -> tuple[Mapping[str, str], Secrets]:
        """The headers of a request, and what must not be quoted from its answer.

        :raises AuthFailed: there are no keys.
        """
        if (key := self._bearer()) is not None:
            return {"authorization": f"Bearer {key}"}, self._transport.secrets(key)
        keys = self._credentials()
        headers = signed(
            "POST",
            self.url + rendered.path,
            {"content-type": "application/json"},
            rendered.body,
            keys,
            region=self._options.region,
            service=_SERVICE,
            now=datetime.now(UTC),
        )
        return headers, self._transport.secrets(None, *keys.secrets)

    def _bearer(self) -> str | None:
        """The API key of Bedrock; ``None`` where there is none.

        :raises AuthFailed: it cannot be sent.
        """
        try:
            if self._settings.api_key is None or not self._settings.api_key():
                return None
        except AuthFailed:
            return None
        return self._transport.key()

    def _credentials(self) -> Credentials:
        name, options = self._settings.name, self._options
        access, secret, token = (_read_key(name, option, getattr(options, option)) for option in _KEYS)
        if access and secret:
            return Credentials(access, secret, token)
        missing = options.secret_access_key if access else options.access_key_id
        detail = f"{missing} holds none, nor is there an API key; see providers.{name}.api_key and .options"
        raise AuthFailed(f"there are no keys for provider {name!r}", sub_cause="no_key", detail=detail)


def _read_key(provider: str, option: str, reference: str) -> str | None:
    kind, _, target = reference.partition(":")
    key = (SecretRef(kind, target).read() or "").strip()
    # The library's own complaint about such a header quotes the whole header.
    if not (key.isascii() and key.isprintable()):
        detail = f"it has characters that no header can carry; see providers.{provider}.options.{option}"
        raise AuthFailed(f"a key for provider {provider!r} cannot be used", sub_cause="no_key", detail=detail)
    return key or None


def _options(settings: ProviderSettings) -> Options:
    defaults = {field.name: field.default for field in attrs.fields(Options)}
    given: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, value in settings.options.items():
        where = f"providers.{settings.name}.options.{name}"
        default = defaults.get(name)
        if default is None:
            mistakes.append(Mistake(where, "there is no such option", repr(name), ", ".join(defaults)))
        elif name in _KEYS:
            if not (isinstance(value, str) and value.startswith(("env:", "file:"))):
                # It may be the secret itself, and is not repeated.
                mistakes.append(Mistake(where, "not a reference to a secret", allowed="env:NAME or file:PATH"))
        elif isinstance(default, tuple):
            if not (isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)):
                mistakes.append(Mistake(where, "not a list of texts", repr(value)))
        elif type(value) is not type(default):
            mistakes.append(Mistake(where, f"not a {type(default).__name__}", repr(value)))
        given[name] = value
    if mistakes:
        raise ConfigError(tuple(mistakes))
    return Options(**given)
