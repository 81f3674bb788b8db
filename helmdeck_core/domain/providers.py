"""Providers: their interfaces, their settings with the defaults of all timeouts and limits, and how plugins declare them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, Disposition, StopReason
from helmdeck_core.domain.constraints import Constraint
from helmdeck_core.domain.error_rules import ErrorRuleSet
from helmdeck_core.domain.transports import CONNECT_TIMEOUT_S, Transport, TransportSettings
from helmdeck_core.redaction import hidden, hidden_texts
from helmdeck_core.secret_places import shown_url


class Provider(Protocol):
    """An open provider. Optional methods: ``StreamingProvider``, ``BatchingProvider``, ``ListingProvider``."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send a request and return the response.

        :raises CallFailed: the subclass of the cause; any other exception is reported as an error of the plugin.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Called once."""
        ...


@runtime_checkable
class StreamingProvider(Protocol):
    """A provider that streams responses."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Send a request; yield its deltas as they arrive, and finally the whole response.

        The concatenated text and reasoning of the deltas equal those of the response. Closing the iterator early closes
        the connection.

        :raises CallFailed: the subclass of the cause, also mid-stream. A stream without an end marker does not raise; its
            response has the ``stop_reason`` ``UNKNOWN``.
        """
        ...


@runtime_checkable
class BatchingProvider(Protocol):
    """A provider that streams deltas in batches: the same deltas in the same order, with less overhead per delta."""

    def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Like ``stream``, but yield all deltas that are available at the same time as one sequence.

        :raises CallFailed: as for ``stream``, after the deltas received before the failure.
        """
        ...


@attrs.frozen(kw_only=True)
class ModelInfo:
    """A model that a provider serves.

    :ivar id: the model name, without the provider.
    :ivar input_tokens: maximum prompt in tokens, if the provider reports it.
    :ivar output_tokens: maximum output in tokens, if the provider reports it.
    """

    id: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class ListingProvider(Protocol):
    """A provider that lists its models."""

    async def models(self) -> tuple[ModelInfo, ...]:
        """Return the models in the provider's order.

        :raises CallFailed: the subclass of the cause.
        """
        ...


@attrs.frozen(kw_only=True)
class ProviderSettings:
    """The configuration of one provider. Its repr shows no secret.

    :ivar name: the first part of its model ids.
    :ivar api_key: returns the API key; called for every request. ``None`` if none is configured.
    :ivar has_default_key: ``api_key`` reads the default reference of the provider; none is configured.
    :ivar timeout_s: timeout of a whole request in seconds.
    :ivar connect_timeout_s: connect timeout in seconds.
    :ivar idle_timeout_s: idle timeout between two chunks of a stream in seconds.
    :ivar max_response_bytes: maximum size of a response body.
    :ivar open_transport: opens an HTTP transport; ``None`` outside a deck.
    :ivar options: provider-specific options.
    :ivar secret_pattern: matches keys of any service, for the redaction of quoted text; see ``Secrets.pattern``.
    :ivar error_rules: contributed error rules for this provider; they take precedence over its own.
    :ivar weight: for a provider with several routes: share of the requests, relative to the others.
    :ivar max_concurrent: the same: maximum number of requests at the same time; ``None`` is no limit.

    >>> from helmdeck_core import ProviderSettings
    >>> ProviderSettings(name="acme", base_url="https://api.example.org/v1", api_key=lambda: "example-key").timeout_s
    120.0
    """

    name: str
    base_url: str | None = attrs.field(default=None, repr=lambda url: repr(url and shown_url(url)))
    api_key: Callable[[], str] | None = attrs.field(default=None, repr=lambda value: "<set>" if value else "None")
    has_default_key: bool = False
    headers: Mapping[str, str] = attrs.field(default=EMPTY, converter=hidden_texts)
    timeout_s: float = 120.0
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    idle_timeout_s: float = 60.0
    max_response_bytes: int = 20_000_000
    open_transport: Callable[[TransportSettings], Transport] | None = attrs.field(default=None, repr=False)
    options: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)
    secret_pattern: re.Pattern[str] | None = attrs.field(default=None, repr=False)
    error_rules: tuple[ErrorRuleSet, ...] = ()
    weight: float = 1.0
    max_concurrent: int | None = None


class ProviderContext(Protocol):
    """Functions of the deck that a provider may use."""

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Normalise a native stop reason by the contributed tables."""
        ...

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """Return the disposition of a turn.

        The table's disposition of ``raw`` applies only if ``raw`` normalises to ``reason``; otherwise the default of
        ``reason``.
        """
        ...

    def open_provider(self, name: str) -> Provider:
        """Open another provider, for providers that wrap one. The deck shares and closes it.

        :raises InvalidRequest: there is no such provider.
        """
        ...

    def without_secrets(self, provider: str, text: str) -> str:
        """Redact the API key and header values of a provider, for logs and recordings of its traffic.

        Values of fewer than eight characters are not redacted.

        :param provider: name of the provider.
        """
        ...


@attrs.frozen(kw_only=True)
class ProviderSpec:
    """A contributed provider.

    :ivar name: the first part of its model ids, and a ``kind`` for ``[providers.NAME]``.
    :ivar open: opens the provider; should import its dependencies itself, to keep start-up fast.
    :ivar base_url: default URL.
    :ivar api_key: default reference to the API key, such as ``env:ACME_API_KEY``.
    :ivar options: default options.
    :ivar tasks: the supported tasks; ``None`` for all.
    :ivar constrain: returns how the response to a request would be constrained, without network access; ``None`` if
        unknown.
    :ivar output_limit: returns the output limit in tokens that is sent for a request without one; ``None`` if none is sent.
    :ivar budget_of: for a provider that wraps others: takes a model name under this provider and returns the model id
        whose budget and trim steps apply.
    :ivar example_model: the name of a model for a first request; empty where there is none that every account may call.
    :ivar rerank_path: the path of an endpoint that ranks documents, after the base URL, in the form of Cohere's and Jina's
        APIs; empty without one.
    :ivar is_generic: whether this is the kind of a configured provider that has a ``base_url`` and an unknown name.
    """

    name: str
    open: Callable[[ProviderSettings, ProviderContext], Provider]
    summary: str = ""
    base_url: str | None = None
    api_key: str | None = None
    options: Mapping[str, Any] = EMPTY
    tasks: tuple[str, ...] | None = None
    constrain: Callable[[ProviderSettings, ChatRequest], Constraint] | None = None
    output_limit: Callable[[ProviderSettings], int] | None = None
    budget_of: Callable[[str], str] | None = None
    example_model: str = ""
    rerank_path: str = ""
    is_generic: bool = False
    order: int = 0
