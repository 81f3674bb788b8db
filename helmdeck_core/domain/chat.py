"""One model call: the request, the response, and why the model stopped."""

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
    """Why a turn ended, in one language for all providers."""

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
    """The turn is done."""
    TOOLS = "tools"
    """Run the calls and go on."""
    RESUME = "resume"
    """The provider paused: send the same turn back, with what it wrote."""
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
"""What a reason means where a table says nothing finer about the native word."""


@attrs.frozen(kw_only=True)
class StopReasonTable:
    """How one family of providers says why it stopped.

    :ivar name: the wire format; contributing the same name again replaces the table.
    :ivar reasons: native word, in lower case, to normalised reason. What is not listed is ``UNKNOWN``, never a clean end.
    :ivar dispositions: native word, in lower case, to what can be done, where ``DISPOSITIONS`` is not what it means.
    """

    name: str
    reasons: Mapping[str, StopReason]
    dispositions: Mapping[str, Disposition] = EMPTY
    order: int = 0


@attrs.frozen
class TextPart:
    """A piece of text in a message.

    :ivar ends_prefix: everything up to the end of this part is the same from call to call; providers that need a
        marker to cache a prefix set it here.
    :ivar shared: what the text begins with, where other requests have it as well; it says nothing that ``text`` does not.
    """

    text: str
    ends_prefix: bool = False
    shared: SharedText | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def json(self) -> bytes:
        """The inside of the JSON string that says the text, in UTF-8; of what is shared nothing is encoded again.

        :raises UnicodeEncodeError: the text holds half a surrogate pair.
        """
        return json_inside(self.text, self.shared)


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
    """One message of a conversation.

    :ivar opaque: what the provider that wrote the message wants back with it unchanged: ``ChatResponse.opaque``.
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
    """What a provider is asked.

    :ivar model: ``provider/model``.
    :ivar max_tokens: output limit in tokens, reasoning included.
    :ivar tool_choice: ``auto``, ``none``, ``required``, or the name of the tool that has to be called.
    :ivar stream: the answer is to come in pieces; set by whoever calls ``stream``.
    :ivar continues: the last message is the model's own unfinished answer, which it is to go on with; only for models
        that take it.
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
    continues: bool = False
    extra: Mapping[str, Any] = EMPTY
    task: Task | None = None


@attrs.frozen(kw_only=True)
class ChatResponse:
    """What a provider answered, with HTTP 200 or its like. Not yet known to be usable.

    :ivar text: the visible text as it came; reasoning marks may still be in it.
    :ivar reasoning_content: reasoning text that the provider returned in a field of its own.
    :ivar stop_reason: the reason in its context: a refusal or a tool call in the answer outranks the native word.
    :ivar strict_stop_reason: the native word alone, by the table.
    :ivar raw_stop_reason: the native word; ``None`` when there was none.
    :ivar disposition: what can be done about the reason; ``None`` is what ``DISPOSITIONS`` says.
    :ivar refusal: the model's own words of refusal, or the provider's on why the turn did not end well, where they come
        beside the text.
    :ivar opaque: what has to go back unchanged with this turn, such as signatures of reasoning; only the provider knows
        what it means.
    :ivar served_model: who answered, in the provider's words.
    :ivar latency_s: seconds from sending to the end of the answer.
    :ivar quota_metadata: rate-limit headers of the response, unchanged.
    :ivar downgrades: what was asked for and left out, such as ``response_format json_schema -> json_object``.
    :ivar unread: kinds of content in the answer that have no place here, such as ``image``, in the provider's words.
    :ivar constraint: what the answer was held to: ``Constraint.label``; empty where it is not known.
    :ivar continuation: what was done to complete an answer that was cut; ``None`` where one answer was enough.
    :ivar request_id: the provider's own name for the request, where it gave one; its support asks for it.
    :ivar attempts: everything that a deck tried, the one that gave the answer last; empty as a provider gives it.
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
        """Whether the turn is known to have come to its end; a stream that just ended has not, nor has what was cut."""
        return (self.disposition or DISPOSITIONS[self.stop_reason]) in (Disposition.FINAL, Disposition.TOOLS)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts; ``None`` where a price is not known."""
        return total_cost(self.attempts)


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False):
    """A piece of a tool call.

    :ivar index: which call of the answer it belongs to, from 0.
    :ivar id: given once, with the first piece; so is the name. Empty where the provider gives none: the response then has
        one that was made up.
    :ivar arguments: the next characters of the JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatDelta(msgspec.Struct, frozen=True, gc=False):
    """A piece of an answer. A Struct, because a stream makes thousands of them."""

    text: str = ""
    reasoning_content: str = ""
    tool_call: ToolCallDelta | None = None


class Provider(Protocol):
    """An open connection to where models are served.

    What else it can do is found by its methods: ``StreamingProvider``, ``BatchingProvider``, ``ListingProvider``.
    """

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request.

        :raises CallFailed: the subclass of the cause; every other exception counts as a fault of the plugin.
        """
        ...

    async def aclose(self) -> None:
        """Release connections. Called once, at the end."""
        ...


@runtime_checkable
class StreamingProvider(Protocol):
    """A provider that can answer in pieces."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer one request: the pieces as they come, and last the whole response that they come to.

        Text and reasoning of the pieces, joined, are those of the response. An iterator that is closed early drops the
        connection.

        :raises CallFailed: the subclass of the cause, also in the middle; a stream that ends without saying that it is
            complete is no failure but a response whose ``stop_reason`` is ``UNKNOWN``.
        """
        ...


@runtime_checkable
class BatchingProvider(Protocol):
    """A provider that can answer in pieces, and gives those that came together together.

    On their way to whoever asked, pieces go through several layers: a batch goes through them once. The pieces are the same,
    and in the same order.
    """

    def batches(self, request: ChatRequest) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Answer one request as ``stream`` does, with all pieces that are there at the same time in one sequence.

        :raises CallFailed: as for ``stream``; pieces that came before the failure are given first.
        """
        ...


@attrs.frozen(kw_only=True)
class ModelInfo:
    """A model that a provider serves.

    :ivar id: the name to ask for, without the provider.
    :ivar input_tokens: the largest prompt, where the provider says it.
    :ivar output_tokens: the largest answer, where the provider says it.
    """

    id: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class ListingProvider(Protocol):
    """A provider that can say which models it serves."""

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models, in the provider's order.

        :raises CallFailed: the subclass of the cause.
        """
        ...


@attrs.frozen(kw_only=True)
class ProviderSettings:
    """What a deployment says about one provider, with secrets as functions so that no repr can show one.

    :ivar name: the first part of the model ids that it serves.
    :ivar api_key: reads the key when a request is sent; ``None`` when none is configured.
    :ivar timeout_s: limit of a whole request in seconds.
    :ivar connect_timeout_s: limit of connecting in seconds.
    :ivar idle_timeout_s: limit between two pieces of a streamed answer in seconds.
    :ivar max_response_bytes: a larger body is an error.
    :ivar open_transport: opens its HTTP transport; ``None`` outside a deck.
    :ivar options: keys of the provider's own.
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
    """What a provider may use of the deck that opens it."""

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Look a native stop reason up in the tables that plugins contribute."""
        ...

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """What can be done about a turn.

        What the table says of the native word if that is what ``reason`` goes back to; else what the reason means.
        """
        ...

    def open_provider(self, name: str) -> Provider:
        """Open another provider by its name, for providers that wrap one; whoever opened it first closes it.

        :raises InvalidRequest: there is none of that name.
        """
        ...

    def without_secrets(self, provider: str, text: str) -> str:
        """A text without the key and the headers of a provider, for whoever writes down what it said or was asked.

        Those of fewer than eight characters stay.

        :param provider: its name.
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
    :ivar tasks: the tasks that it can answer; ``None`` for a provider that takes any text.
    :ivar constrain: takes what a deployment says and a request, and works out without asking anyone how the answer would be
        held to ``response_format``; ``None`` for a provider that does not say.
    :ivar budget_of: for a provider that wraps others: takes the model's name under this provider and returns the whole
        id of the model whose budget and ladder apply.
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
