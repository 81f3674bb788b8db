"""The connection to Bedrock: which keys, which address, and what is special about its interface."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import attrs

from helmdeck_core import (
    AuthFailed,
    ChatRequest,
    ConfigError,
    Constraint,
    Mistake,
    ModelInfo,
    ProviderContext,
    ProviderSettings,
    SecretRef,
)
from helmdeck_provider_bedrock.answer import ConverseAnswer
from helmdeck_provider_bedrock.faults import read_body
from helmdeck_provider_bedrock.request import STREAM, constraint, path, render
from helmdeck_provider_bedrock.signing import Credentials, signed
from helmdeck_provider_bedrock.stream import FrameFeed
from helmdeck_provider_kit import (
    EventFeed,
    HttpProvider,
    HttpResponse,
    ResponseReader,
    Secrets,
    WireFormat,
    rows,
    string,
)

DIALECT = "bedrock-converse"

EVENT_STREAM = "application/vnd.amazon.eventstream"

MODELS = "/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT"
_PROFILES = "/inference-profiles?maxResults=1000"

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


def read_models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    """The models, or the inference profiles, of one page, and the path of the next one.

    Most newer models are called by a profile only, and stand in that list alone.
    """
    if "modelSummaries" in page:
        return _named(page["modelSummaries"], "modelId"), _PROFILES
    token = string(page.get("nextToken"))
    following = f"{_PROFILES}&nextToken={quote(token, safe='')}" if token else ""
    return _named(page.get("inferenceProfileSummaries"), "inferenceProfileId"), following


def _named(listed: object, key: str) -> list[ModelInfo]:
    return [ModelInfo(id=name) for row in rows(listed) if (name := string(row.get(key)))]


class Converse(WireFormat):
    """The interface: its errors have names of their own, and its streams consist of frames."""

    def checked(self, received: HttpResponse, secrets: Secrets) -> Any:
        """Return the decoded body of an answer that is no error.

        :raises CallFailed: it is an error, a redirect, or not JSON.
        """
        return read_body(received.status, received.headers, received.body, secrets)

    def events(self, answer: ResponseReader) -> EventFeed:
        """What takes the frames of a stream apart."""
        return FrameFeed(answer) if isinstance(answer, ConverseAnswer) else super().events(answer)


def interface(options: Options | None = None) -> Converse:
    """The interface, as one deployment uses it."""
    used = options or Options()
    return Converse(
        name=DIALECT,
        headers=lambda _: {},  # requests are signed
        path=path,
        render=lambda request: render(request, cache_models=used.cache_point_models, has_schemas=used.json_schema),
        answer=lambda _, terms: ConverseAnswer(terms),
        models_path=MODELS,
        models=read_models,
    )


class _Connection(HttpProvider):
    """An open connection to one address, whose requests are signed."""

    def __init__(self, settings: ProviderSettings, context: ProviderContext, options: Options) -> None:
        super().__init__(settings, context, interface(options))
        self._settings = settings
        self._options = options
        self.url = (settings.base_url or "").rstrip("/")

    def _authorised(self, path: str, body: bytes | None) -> tuple[Mapping[str, str], Secrets]:
        """The headers of a request, and what must not be quoted from its answer.

        :raises AuthFailed: there are no keys.
        """
        accept = {"accept": EVENT_STREAM} if path.endswith(STREAM) else {}
        if (key := self._bearer()) is not None:
            return {**accept, "authorization": f"Bearer {key}"}, self._connection.secrets(key)
        keys = self._credentials()
        headers = signed(
            "GET" if body is None else "POST",
            self.url + path,
            {} if body is None else {"content-type": "application/json"},
            body or b"",
            keys,
            region=self._options.region,
            service=_SERVICE,
            now=datetime.now(UTC),
        )
        return {**headers, **accept}, self._connection.secrets(None, *keys.secrets)

    def _bearer(self) -> str | None:
        """The API key of Bedrock; ``None`` where there is none.

        :raises AuthFailed: it cannot be sent.
        """
        try:
            if self._settings.api_key is None or not self._settings.api_key():
                return None
        except AuthFailed:
            return None
        return self._connection.key()

    def _credentials(self) -> Credentials:
        name, options = self._settings.name, self._options
        access, secret, token = (_read_key(name, option, getattr(options, option)) for option in _KEYS)
        if access and secret:
            return Credentials(access, secret, token)
        missing = options.secret_access_key if access else options.access_key_id
        detail = f"{missing} holds none, nor is there an API key; see providers.{name}.api_key and .options"
        raise AuthFailed(f"there are no keys for provider {name!r}", sub_cause="no_key", detail=detail)


class Bedrock(_Connection):
    """An open connection to the models of one region.

    :ivar url: where they are served, without a slash at its end.
    :ivar lists_url: where they are listed, which is another service under an address of its own.
    """

    def __init__(self, settings: ProviderSettings, context: ProviderContext, options: Options) -> None:
        super().__init__(settings, context, options)
        self.lists_url = self.url.replace("://bedrock-runtime.", "://bedrock.")
        self._lists = _Connection(attrs.evolve(settings, base_url=self.lists_url), context, options)

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models that write text and are paid by the token, then the inference profiles.

        :raises CallFailed: the subclass of the cause.
        """
        return await self._lists.models()

    async def aclose(self) -> None:
        """Close the connections."""
        await super().aclose()
        await self._lists.aclose()


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
