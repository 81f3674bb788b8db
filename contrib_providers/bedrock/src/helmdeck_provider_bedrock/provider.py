"""The connection to Bedrock: credentials, URLs and the wire format."""

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
    Secrets,
    read_options,
)
from helmdeck_provider_bedrock.answer import ConverseAnswer
from helmdeck_provider_bedrock.faults import ERROR_RULES, read_body
from helmdeck_provider_bedrock.request import STREAM, constraint, path, render
from helmdeck_provider_bedrock.signing import Credentials, signed
from helmdeck_provider_bedrock.stream import FrameFeed
from helmdeck_providers import EventFeed, HttpProvider, HttpResponse, ResponseReader, WireFormat, rows, string

WIRE_FORMAT = "bedrock-converse"

EVENT_STREAM = "application/vnd.amazon.eventstream"

MODELS = "/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT"
_PROFILES = "/inference-profiles?maxResults=1000"

_DOMAINS = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
"""Domains of the regions outside AWS's own partition."""
_SERVICE = "bedrock"
_KEYS = ("access_key_id", "secret_access_key", "session_token")


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.bedrock.options]``.

    :ivar region: AWS region; default: ``AWS_REGION``, then ``AWS_DEFAULT_REGION``.
    :ivar access_key_id: reference ``env:NAME`` or ``file:PATH``, as for the next two.
    :ivar cache_point_models: substrings of the names of models that accept a cache point; all others reject it.
    :ivar json_schema: send a JSON schema; models without structured output reject it.
    """

    region: str = ""
    access_key_id: SecretRef = SecretRef("env", "AWS_ACCESS_KEY_ID")
    secret_access_key: SecretRef = SecretRef("env", "AWS_SECRET_ACCESS_KEY")
    session_token: SecretRef = SecretRef("env", "AWS_SESSION_TOKEN")
    cache_point_models: tuple[str, ...] = ("anthropic.claude", "amazon.nova")
    json_schema: bool = True


def constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    """Return how the answer to a request is constrained.

    :raises ConfigError: with every mistake in the options.
    """
    return constraint(
        request, has_schemas=read_options(settings.options, Options, "providers", settings.name, "options").json_schema
    )


def open_bedrock(settings: ProviderSettings, context: ProviderContext) -> Bedrock:
    """Open a connection.

    :raises ConfigError: with every mistake in the options.
    :raises InvalidRequest: ``base_url`` or a header cannot be used.
    """
    options = read_options(settings.options, Options, "providers", settings.name, "options")
    region = options.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        where = f"providers.{settings.name}.options.region"
        raise ConfigError((Mistake(where, "missing", "", "a region such as us-east-1, or set AWS_REGION"),))
    if not settings.base_url:
        domain = next((each for prefix, each in _DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
        settings = attrs.evolve(settings, base_url=f"https://bedrock-runtime.{region}.{domain}")
    return Bedrock(settings, context, attrs.evolve(options, region=region))


def read_models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    """Read a page of models or inference profiles; return them and the path of the next page.

    Most newer models are available by inference profile only, and are only in that list.
    """
    if "modelSummaries" in page:
        return _named(page["modelSummaries"], "modelId"), _PROFILES
    token = string(page.get("nextToken"))
    following = f"{_PROFILES}&nextToken={quote(token, safe='')}" if token else ""
    return _named(page.get("inferenceProfileSummaries"), "inferenceProfileId"), following


def _named(listed: object, key: str) -> list[ModelInfo]:
    return [ModelInfo(id=name) for row in rows(listed) if (name := string(row.get(key)))]


class Converse(WireFormat):
    """The Converse API: it has its own error format, and its streams consist of frames."""

    def decode_body(self, received: HttpResponse, secrets: Secrets) -> Any:
        """Return the decoded body of a successful response.

        :raises CallFailed: the response is an error, a redirect, or not JSON.
        """
        return read_body(received.status, received.headers, received.body, secrets, self.error_rules)

    def events(self, reader: ResponseReader) -> EventFeed:
        """Return the reader of a stream's frames."""
        return FrameFeed(reader) if isinstance(reader, ConverseAnswer) else super().events(reader)


def make_wire_format(options: Options | None = None) -> Converse:
    """Return the wire format with the options of one deployment."""
    used = options or Options()
    return Converse(
        name=WIRE_FORMAT,
        error_rules=ERROR_RULES,
        headers=lambda _: {},  # requests are signed
        path=path,
        render=lambda request: render(request, cache_models=used.cache_point_models, has_schemas=used.json_schema),
        answer=lambda _, context: ConverseAnswer(context),
        models_path=MODELS,
        models=read_models,
    )


class _Connection(HttpProvider):
    """A connection to one base URL with signed requests."""

    def __init__(self, settings: ProviderSettings, context: ProviderContext, options: Options) -> None:
        super().__init__(settings, context, make_wire_format(options))
        self._settings = settings
        self._options = options
        self.url = (settings.base_url or "").rstrip("/")

    def _authorised(self, path: str, body: bytes | None) -> tuple[Mapping[str, str], Secrets]:
        """Return the headers of a request, and the secrets to redact from its response.

        :raises AuthFailed: there are no credentials.
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
        """Return the Bedrock API key; ``None`` if none is configured and the default variable is not set.

        :raises AuthFailed: the configured key cannot be read, or the key is not valid in a header.
        """
        if self._settings.has_default_key and self._settings.api_key is not None:
            try:
                self._settings.api_key()
            except AuthFailed:
                return None
        return self._connection.key()

    def _credentials(self) -> Credentials:
        name, options = self._settings.name, self._options
        access, secret, token = (_read_key(name, option, getattr(options, option)) for option in _KEYS)
        if access and secret:
            return Credentials(access, secret, token)
        missing = options.secret_access_key if access else options.access_key_id
        detail = f"{missing} is empty, and there is no API key; see providers.{name}.api_key and .options"
        raise AuthFailed(f"provider {name!r} has no credentials", sub_cause="no_key", detail=detail)


class Bedrock(_Connection):
    """A connection to the models of one region.

    :ivar url: base URL of the runtime, without a trailing slash.
    :ivar lists_url: base URL of the model lists, which are another service.
    """

    def __init__(self, settings: ProviderSettings, context: ProviderContext, options: Options) -> None:
        super().__init__(settings, context, options)
        self.lists_url = self.url.replace("://bedrock-runtime.", "://bedrock.")
        self._lists = _Connection(attrs.evolve(settings, base_url=self.lists_url), context, options)

    async def models(self) -> tuple[ModelInfo, ...]:
        """Return the on-demand text models, then the inference profiles.

        :raises CallFailed: the subclass of the cause.
        """
        return await self._lists.models()

    async def aclose(self) -> None:
        """Close the connections."""
        await super().aclose()
        await self._lists.aclose()


def _read_key(provider: str, option: str, reference: SecretRef) -> str | None:
    key = (reference.read() or "").strip()
    # The HTTP library's own error would quote the whole header.
    if not (key.isascii() and key.isprintable()):
        detail = f"it contains characters that are not valid in a header; see providers.{provider}.options.{option}"
        raise AuthFailed(f"a key for provider {provider!r} cannot be used", sub_cause="no_key", detail=detail)
    return key or None
