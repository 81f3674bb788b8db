"""One model call: the request, the response, and why the model stopped."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.tasks import Task


class StopReason(enum.StrEnum):
    """Why a turn ended, in one language for all providers."""

    END_TURN = "EndTurn"
    TOOL_CALL = "ToolCall"
    MAX_TOKENS = "MaxTokens"
    CONTEXT_WINDOW_EXCEEDED = "ContextWindowExceeded"
    SAFETY_BLOCKED = "SafetyBlocked"
    CANCELLED = "Cancelled"
    UNKNOWN = "Unknown"


@attrs.frozen(kw_only=True)
class StopReasonTable:
    """How one family of providers says why it stopped.

    :ivar name: the dialect; contributing the same name again replaces the table.
    :ivar reasons: native word, in lower case, to normalised reason. What is not listed is ``UNKNOWN``, never a clean end.
    """

    name: str
    reasons: Mapping[str, StopReason]
    order: int = 0


@attrs.frozen
class TextPart:
    """A piece of text in a message.

    :ivar ends_prefix: everything up to the end of this part is the same from call to call; providers that need a
        marker to cache a prefix set it here.
    """

    text: str
    ends_prefix: bool = False


@attrs.frozen
class ImagePart:
    """An image in a message.

    :ivar data: the bytes, or ``None`` when ``url`` says where they are.
    """

    media_type: str
    data: bytes | None = attrs.field(default=None, repr=lambda value: f"<{len(value or b'')} bytes>")
    url: str | None = None


class Role(enum.StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@attrs.frozen
class ToolCall:
    """A tool call that the model asks for.

    :ivar arguments: the JSON text as the model wrote it; never replaced by ``{}`` when it cannot be read.
    """

    id: str
    name: str
    arguments: str


@attrs.frozen
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[TextPart | ImagePart, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


@attrs.frozen
class ToolDefinition:
    """A tool that the model may call."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@attrs.frozen
class ResponseFormat:
    """How the answer should be constrained: ``json_object``, or ``json_schema`` with a schema.

    A kind that an adapter does not know is left out, and the response says so in ``downgrades``.
    """

    kind: str
    name: str = "answer"
    schema: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class ChatRequest:
    """What a provider is asked.

    :ivar model: ``provider/model``.
    :ivar max_tokens: output limit in tokens, reasoning included.
    :ivar extra: fields that are sent as they are.
    :ivar task: what the messages were rendered from, for providers that run in this process; never on the wire.
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
    extra: Mapping[str, Any] = EMPTY
    task: Task | None = None


@attrs.frozen(kw_only=True)
class Usage:
    """Tokens of one call.

    :ivar input_tokens: all input, cached or not.
    :ivar cached_input_tokens: the part of the input that the provider read from its cache.
    :ivar cache_write_tokens: the part of the input that the provider wrote to its cache.
    :ivar reasoning_tokens: the part of the output that was thought.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@attrs.frozen(kw_only=True)
class ChatResponse:
    """What a provider answered, with HTTP 200 or its like. Not yet known to be usable.

    :ivar text: the visible text as it came; reasoning marks may still be in it.
    :ivar reasoning: reasoning that the provider delivered beside the text.
    :ivar stop_reason: the reason in its context: a refusal or a tool call in the answer outranks the native word.
    :ivar strict_stop_reason: the native word alone, by the table.
    :ivar raw_stop_reason: the native word; ``None`` when there was none.
    :ivar served_model: who answered, in the provider's words.
    :ivar latency_s: seconds from sending to the end of the answer.
    :ivar quota: rate-limit headers, as they came.
    :ivar downgrades: what was asked for and left out, such as ``response_format json_schema -> json_object``.
    """

    text: str
    stop_reason: StopReason
    raw_stop_reason: str | None = None
    strict_stop_reason: StopReason | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    reasoning: str = ""
    served_model: str = ""
    latency_s: float = 0.0
    quota: Mapping[str, str] = EMPTY
    downgrades: tuple[str, ...] = ()


class Provider(Protocol):
    """An open connection to where models are served."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request.

        :raises CallFailed: the subclass of the cause; every other exception counts as a fault of the plugin.
        """
        ...

    async def aclose(self) -> None:
        """Release connections. Called once, at the end."""
        ...


@attrs.frozen(kw_only=True)
class ProviderSettings:
    """What a deployment says about one provider, with secrets as functions so that no repr can show one.

    :ivar name: the first part of the model ids that it serves.
    :ivar api_key: reads the key when a request is sent; ``None`` when none is configured.
    :ivar timeout_s: limit of a whole request in seconds.
    :ivar connect_timeout_s: limit of connecting in seconds.
    :ivar max_response_bytes: a larger body is an error.
    :ivar options: keys of the provider's own.
    """

    name: str
    base_url: str | None = None
    api_key: Callable[[], str] | None = attrs.field(default=None, repr=lambda value: "<set>" if value else "None")
    headers: Mapping[str, str] = attrs.field(default=EMPTY, repr=lambda value: f"<{len(value)} headers>")
    timeout_s: float = 120.0
    connect_timeout_s: float = 10.0
    max_response_bytes: int = 20_000_000
    options: Mapping[str, Any] = EMPTY


class ProviderContext(Protocol):
    """What a provider may use of the deck that opens it."""

    def normalise_stop(self, raw: str | None, dialect: str) -> StopReason:
        """Look a native stop reason up in the tables that plugins contribute."""
        ...

    def open_provider(self, name: str) -> Provider:
        """Open another provider by its name, for providers that wrap one; whoever opened it first closes it.

        :raises InvalidRequest: there is none of that name.
        """
        ...


@attrs.frozen(kw_only=True)
class ProviderSpec:
    """A provider that can be opened.

    :ivar name: the first part of the model ids that it serves, and the ``kind`` that ``[providers.NAME]`` can name.
    :ivar open: makes the provider; imports what it needs itself, so that start-up does not pay for it.
    :ivar base_url: the address where the deployment gives none.
    :ivar api_key: where the key is kept if the deployment does not say: a reference such as ``env:ACME_API_KEY``.
    :ivar options: options where the deployment says nothing.
    :ivar budget_of: for a provider that wraps others: takes the model's name under this provider and returns the whole
        id of the model whose budget and ladder apply.
    """

    name: str
    open: Callable[[ProviderSettings, ProviderContext], Provider]
    summary: str = ""
    base_url: str | None = None
    api_key: str | None = None
    options: Mapping[str, Any] = EMPTY
    budget_of: Callable[[str], str] | None = None
    order: int = 0
