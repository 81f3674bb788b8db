"""Chat completions: requests, responses, deltas, stop reasons, and what a provider implements."""

from __future__ import annotations

import enum
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

import attrs
import msgspec

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.constraints import Constraint, ResponseFormat
from helmdeck_core.domain.continuation import Continuation
from helmdeck_core.domain.error_rules import ErrorRuleSet
from helmdeck_core.domain.shared_text import SharedText, json_inside
from helmdeck_core.domain.tasks import Task
from helmdeck_core.domain.transports import Transport, TransportSettings
from helmdeck_core.errors import Attempt, total_cost
from helmdeck_core.errors import Usage as Usage
from helmdeck_core.redaction import hidden, hidden_texts, shown_url


class StopReason(enum.StrEnum):
    """The normalised reason why a turn ended, the same for all providers."""

    END_TURN = "EndTurn"
    TOOL_CALL = "ToolCall"
    MAX_TOKENS = "MaxTokens"
    CONTEXT_WINDOW_EXCEEDED = "ContextWindowExceeded"
    SAFETY_BLOCKED = "SafetyBlocked"
    CANCELLED = "Cancelled"
    UNKNOWN = "Unknown"


class Disposition(enum.StrEnum):
    """What can be done about the way a turn ended."""

    FINAL = "final"
    """The turn is complete."""
    TOOLS = "tools"
    """Execute the tool calls and continue."""
    RESUME = "resume"
    """The provider paused: send the same turn back, with the partial answer."""
    LONGER = "longer"
    """Continue the answer, or allow more output."""
    SHRINK = "shrink"
    """Make the prompt smaller, or ask a model with a larger window."""
    RETRY = "retry"
    """The same request may work."""
    STOP = "stop"
    """The same request must not be sent again."""
    ACCOUNT = "account"
    """Every request with this key will fail."""


DISPOSITIONS: Final[Mapping[StopReason, Disposition]] = MappingProxyType(
    {
        StopReason.END_TURN: Disposition.FINAL,
        StopReason.TOOL_CALL: Disposition.TOOLS,
        StopReason.MAX_TOKENS: Disposition.LONGER,
        StopReason.CONTEXT_WINDOW_EXCEEDED: Disposition.SHRINK,
        StopReason.SAFETY_BLOCKED: Disposition.STOP,
        StopReason.CANCELLED: Disposition.STOP,
        StopReason.UNKNOWN: Disposition.RETRY,
    }
)
"""The disposition of each stop reason, unless a table has another one for the native stop reason."""


@attrs.frozen(kw_only=True)
class StopReasonTable:
    """The native stop reasons of one wire format.

    :ivar name: the wire format; contributing the same name again replaces the table.
    :ivar reasons: native stop reason, in lower case, to normalised one. Others are ``UNKNOWN``, never a clean end.
    :ivar dispositions: native stop reason, in lower case, to its disposition, if it is not that of ``DISPOSITIONS``.
    """

    name: str
    reasons: Mapping[str, StopReason]
    dispositions: Mapping[str, Disposition] = EMPTY
    order: int = 0


@attrs.frozen
class TextPart:
    """Text of a message.

    :ivar ends_prefix: everything up to the end of this part is the same in every call; providers whose prompt cache needs a
        marker set it here.
    :ivar shared: the start of the text that other requests have as well; also contained in ``text``.
    """

    text: str
    ends_prefix: bool = False
    shared: SharedText | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def json(self) -> bytes:
        """The text as the inside of a JSON string, in UTF-8; the shared part is encoded once.

        :raises UnicodeEncodeError: the text contains half a surrogate pair.
        """
        return json_inside(self.text, self.shared)


@attrs.frozen
class ImagePart:
    """An image in a message.

    :ivar data: the bytes; ``None`` for an image at ``url``.
    """

    media_type: str
    data: bytes | None = attrs.field(default=None, repr=lambda value: f"<{len(value or b'')} bytes>")
    url: str | None = None


class Role(enum.StrEnum):
    """The role of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@attrs.frozen
class ToolCall:
    """A tool call of a model.

    :ivar arguments: the JSON exactly as the model wrote it; malformed JSON is never replaced by ``{}``.
    """

    id: str
    name: str
    arguments: str


@attrs.frozen
class Message:
    """One message of a conversation.

    :ivar opaque: provider data that must be sent back unchanged with this message: ``ChatResponse.opaque``.
    """

    role: Role
    parts: tuple[TextPart | ImagePart, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    opaque: Mapping[str, Any] = attrs.field(default=EMPTY, repr=False)

    @property
    def texts(self) -> tuple[TextPart, ...]:
        """The text parts."""
        return tuple(part for part in self.parts if isinstance(part, TextPart))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.texts)


@attrs.frozen
class ToolDefinition:
    """A tool that the model may call."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class ChatRequest:
    """A request to a provider.

    :ivar model: ``provider/model``.
    :ivar max_tokens: output limit in tokens, reasoning included.
    :ivar tool_choice: ``auto``, ``none``, ``required``, or the name of the tool that must be called.
    :ivar stream: request a streamed response; set by ``stream``.
    :ivar continues: the last message is the model's own partial answer, to be continued (prefill); only for models that
        support it.
    :ivar extra: fields that are added to the request body unchanged.
    :ivar task: the task that the messages were rendered from, for providers in this process; never sent.
    """

    model: str
    messages: tuple[Message, ...]
    max_tokens: int | None = None
    temperature: float | None = None
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str | None = None
    response_format: ResponseFormat | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    continues: bool = False
    extra: Mapping[str, Any] = EMPTY
    task: Task | None = None


@attrs.frozen(kw_only=True)
class ChatResponse:
    """The response of a provider. It may still be unusable.

    :ivar text: the visible text, unchanged; it may contain reasoning tags.
    :ivar reasoning_content: reasoning text that the provider returned in a field of its own.
    :ivar stop_reason: the normalised stop reason; a refusal or a tool call in the response takes precedence over the native
        stop reason.
    :ivar strict_stop_reason: the normalised native stop reason alone.
    :ivar raw_stop_reason: the native stop reason; ``None`` if there is none.
    :ivar disposition: what can be done about the turn; ``None`` for the disposition in ``DISPOSITIONS``.
    :ivar refusal: a refusal or an explanation of the stop reason in a field of its own.
    :ivar opaque: provider data that must be sent back unchanged with this turn, such as signatures of reasoning.
    :ivar served_model: the model that answered, as reported by the provider.
    :ivar latency_s: seconds from sending the request to the end of the response.
    :ivar quota_metadata: rate-limit headers of the response, unchanged.
    :ivar downgrades: requested features that were not sent, such as ``response_format json_schema -> json_object``.
    :ivar unread: kinds of content without a field here, such as ``image``, as named by the provider.
    :ivar constraint: the output constraint, ``Constraint.label``; empty if unknown.
    :ivar continuation: how a truncated answer was completed; ``None`` for a single response.
    :ivar request_id: the provider's id of the request; its support asks for it.
    :ivar attempts: all attempts of a deck, the successful one last; set by the deck.
    """

    text: str
    stop_reason: StopReason
    raw_stop_reason: str | None = None
    strict_stop_reason: StopReason | None = None
    disposition: Disposition | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    reasoning_content: str = ""
    refusal: str = ""
    opaque: Mapping[str, Any] = attrs.field(default=EMPTY, repr=False)
    served_model: str = ""
    latency_s: float = 0.0
    quota_metadata: Mapping[str, str] = EMPTY
    downgrades: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    constraint: str = ""
    continuation: Continuation | None = None
    request_id: str = ""
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the turn is known to be complete; a truncated answer or a stream without an end mark is not."""
        return (self.disposition or DISPOSITIONS[self.stop_reason]) in (Disposition.FINAL, Disposition.TOOLS)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts; ``None`` if a price is unknown."""
        return total_cost(self.attempts)


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False):
    """A delta of a tool call.

    :ivar index: index of the tool call in the response, from 0.
    :ivar id: only in the first delta of a call, like the name. Empty if the provider sends none; the response then has a
        generated one.
    :ivar arguments: the next characters of the JSON.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatDelta(msgspec.Struct, frozen=True, gc=False):
    """A delta of a streamed response. A Struct, because a stream has thousands of them."""

    text: str = ""
    reasoning_content: str = ""
    tool_call: ToolCallDelta | None = None


class Provider(Protocol):
    """An open provider.

    Its methods show what else it supports: ``StreamingProvider``, ``BatchingProvider``, ``ListingProvider``.
    """

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the response to a request.

        :raises CallFailed: the subclass of the cause; every other exception is reported as an error of the plugin.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections. Called once."""
        ...


@runtime_checkable
class StreamingProvider(Protocol):
    """A provider that supports streaming."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Yield the deltas of a response as they arrive, then the complete response.

        The joined text and reasoning of the deltas are those of the response. Closing the iterator early closes the
        connection.

        :raises CallFailed: the subclass of the cause, also in the middle of the stream. A stream without an end mark is a
            response whose ``stop_reason`` is ``UNKNOWN``.
        """
        ...


@runtime_checkable
class BatchingProvider(Protocol):
    """A streaming provider that yields batches of the deltas that arrived together.

    Deltas pass several layers on their way to the caller, a batch passes them once. Deltas and order are those of ``stream``.
    """

    def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Yield the same as ``stream``, with all deltas that are available at once in one sequence.

        :raises CallFailed: as for ``stream``, after the deltas that arrived before the failure.
        """
        ...


@attrs.frozen(kw_only=True)
class ModelInfo:
    """A model that a provider serves.

    :ivar id: the model name, without the provider.
    :ivar input_tokens: input limit, if the provider reports it.
    :ivar output_tokens: output limit, if the provider reports it.
    """

    id: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class ListingProvider(Protocol):
    """A provider that can list its models."""

    async def models(self) -> tuple[ModelInfo, ...]:
        """Return the models in the provider's order.

        :raises CallFailed: the subclass of the cause.
        """
        ...


@attrs.frozen(kw_only=True)
class ProviderSettings:
    """The settings of one provider. Secrets are functions, so that no repr shows one.

    :ivar name: the first part of the model ids that it serves.
    :ivar base_url: the URL of the server.
    :ivar api_key: reads the API key for each request; ``None`` if none is configured.
    :ivar headers: sent with every request; always redacted.
    :ivar timeout_s: timeout of a whole request in seconds.
    :ivar connect_timeout_s: timeout of the connection in seconds.
    :ivar idle_timeout_s: maximum seconds between two chunks of a stream.
    :ivar max_response_bytes: maximum size of a response body.
    :ivar open_transport: opens its HTTP transport; ``None`` outside a deck.
    :ivar options: options of this kind of provider.
    :ivar secret_pattern: matches keys of any service, for the redaction of quoted text; see ``Secrets.pattern``.
    :ivar error_rules: contributed error rules for this provider; they take precedence over its own.
    """

    name: str
    base_url: str | None = attrs.field(default=None, repr=lambda url: repr(url and shown_url(url)))
    api_key: Callable[[], str] | None = attrs.field(default=None, repr=lambda value: "<set>" if value else "None")
    headers: Mapping[str, str] = attrs.field(default=EMPTY, converter=hidden_texts)
    timeout_s: float = 120.0
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 60.0
    max_response_bytes: int = 20_000_000
    open_transport: Callable[[TransportSettings], Transport] | None = attrs.field(default=None, repr=False)
    options: Mapping[str, Any] = attrs.field(default=EMPTY, converter=hidden)
    secret_pattern: re.Pattern[str] | None = attrs.field(default=None, repr=False)
    error_rules: tuple[ErrorRuleSet, ...] = ()


class ProviderContext(Protocol):
    """The part of a deck that a provider can use."""

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Normalise a native stop reason by the contributed tables."""
        ...

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """Return what can be done about a turn.

        It is the disposition of the native stop reason if that normalises to ``reason``, otherwise that of ``reason``.
        """
        ...

    def open_provider(self, name: str) -> Provider:
        """Open another provider by name, for providers that wrap one; the deck closes it.

        :raises InvalidRequest: no provider has this name.
        """
        ...

    def without_secrets(self, provider: str, text: str) -> str:
        """Return a text without the API key and the headers of a provider, for requests and responses that are recorded.

        Values of fewer than eight characters are kept.

        :param provider: the name of the provider.
        """
        ...


@attrs.frozen(kw_only=True)
class ProviderSpec:
    """A provider that can be opened.

    :ivar name: the first part of the model ids that it serves, and the ``kind`` that ``[providers.NAME]`` can name.
    :ivar open: opens the provider; imports its libraries itself, so that start-up stays fast.
    :ivar base_url: the default URL.
    :ivar api_key: the default reference to the API key, such as ``env:ACME_API_KEY``.
    :ivar options: default options.
    :ivar tasks: the tasks that it can answer; ``None`` for a provider that accepts any text.
    :ivar constrain: takes settings and a request, and returns how the answer would be constrained, without sending anything;
        ``None`` for a provider that does not report it.
    :ivar budget_of: for a provider that wraps others: takes the model's name under this provider and returns the model id
        whose budget and trim rule apply.
    """

    name: str
    open: Callable[[ProviderSettings, ProviderContext], Provider]
    summary: str = ""
    base_url: str | None = None
    api_key: str | None = None
    options: Mapping[str, Any] = EMPTY
    tasks: tuple[str, ...] | None = None
    constrain: Callable[[ProviderSettings, ChatRequest], Constraint] | None = None
    budget_of: Callable[[str], str] | None = None
    order: int = 0
