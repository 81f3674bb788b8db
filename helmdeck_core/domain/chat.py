"""Chat requests, messages, responses, deltas and stop reasons; providers and their settings are in ``domain.providers``."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.constraints import ResponseFormat
from helmdeck_core.domain.continuation import Continuation
from helmdeck_core.domain.shared_text import SharedText, json_inside
from helmdeck_core.domain.tasks import Task
from helmdeck_core.errors import Attempt, total_cost
from helmdeck_core.errors import Usage as Usage


class StopReason(enum.StrEnum):
    """Normalised reason why a turn ended, the same for all providers."""

    END_TURN = "EndTurn"
    TOOL_CALL = "ToolCall"
    MAX_TOKENS = "MaxTokens"
    CONTEXT_WINDOW_EXCEEDED = "ContextWindowExceeded"
    SAFETY_BLOCKED = "SafetyBlocked"
    CANCELLED = "Cancelled"
    UNKNOWN = "Unknown"


class Disposition(enum.StrEnum):
    """How to proceed after a turn ended."""

    FINAL = "final"
    """The turn is complete."""
    TOOLS = "tools"
    """Execute the tool calls and continue."""
    RESUME = "resume"
    """The provider paused: send the turn back with the partial response."""
    LONGER = "longer"
    """Continue the response, or raise the output limit."""
    SHRINK = "shrink"
    """Shorten the prompt, or call a model with a larger context window."""
    RETRY = "retry"
    """The same request may succeed."""
    STOP = "stop"
    """Not retryable with the same request."""
    ACCOUNT = "account"
    """Not retryable with this API key."""


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
"""Default disposition of each stop reason; a table can be more specific for a native stop reason."""


@attrs.frozen(kw_only=True)
class StopReasonTable:
    """The native stop reasons of one wire format.

    :ivar name: the wire format; contributing the same name again replaces the table.
    :ivar reasons: normalised reason by native reason in lower case. An unlisted reason is ``UNKNOWN``, never a clean end.
    :ivar dispositions: disposition by native reason in lower case, where it differs from ``DISPOSITIONS``.
    """

    name: str
    reasons: Mapping[str, StopReason]
    dispositions: Mapping[str, Disposition] = EMPTY
    order: int = 0


@attrs.frozen
class TextPart:
    """A text part of a message.

    :ivar ends_prefix: the prompt up to the end of this part is the same in every call; providers with explicit prefix
        caching set their cache marker here. A string is the lifetime of the cached prefix, such as ``1h``.
    :ivar shared: prefix of ``text`` that other requests share, to encode it once.
    """

    text: str
    ends_prefix: bool | str = attrs.field(default=False, kw_only=True)
    shared: SharedText | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def json(self) -> bytes:
        """The text as the content of a JSON string, without quotes, in UTF-8; a shared prefix is encoded once.

        :raises UnicodeEncodeError: the text contains an unpaired surrogate.
        """
        return json_inside(self.text, self.shared)


@attrs.frozen
class ImagePart:
    """An image in a message.

    :ivar data: the image; ``None`` if ``url`` refers to it.
    :ivar ends_prefix: as for ``TextPart``.
    """

    media_type: str
    data: bytes | None = attrs.field(default=None, repr=lambda value: f"<{len(value or b'')} bytes>")
    url: str | None = None
    ends_prefix: bool | str = attrs.field(default=False, kw_only=True)


@attrs.frozen
class FilePart:
    """A file in a message that is no image: a recording, a PDF document, a video.

    :ivar media_type: such as ``audio/wav`` or ``application/pdf``; empty if only the URL is known.
    :ivar data: the file; ``None`` if ``url`` refers to it.
    :ivar name: the file's name; empty if it has none.
    :ivar ends_prefix: as for ``TextPart``.

    >>> from helmdeck_core import FilePart
    >>> FilePart("application/pdf", url="https://example.org/invoice.pdf", name="invoice.pdf").name
    'invoice.pdf'
    """

    media_type: str
    data: bytes | None = attrs.field(default=None, repr=lambda value: f"<{len(value or b'')} bytes>")
    url: str | None = None
    name: str = ""
    ends_prefix: bool | str = attrs.field(default=False, kw_only=True)


Part = TextPart | ImagePart | FilePart
"""A part of a message."""


class Role(enum.StrEnum):
    """The role of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@attrs.frozen
class ToolCall:
    """A tool call requested by the model.

    :ivar arguments: the JSON text as written by the model; invalid JSON is never replaced by ``{}``.
    :ivar ends_prefix: as for ``TextPart``.
    """

    id: str
    name: str
    arguments: str
    ends_prefix: bool | str = attrs.field(default=False, kw_only=True)


@attrs.frozen
class Message:
    """One message of a conversation.

    :ivar opaque: ``ChatResponse.opaque`` of the message, sent back unchanged to its provider.
    """

    role: Role
    parts: tuple[Part, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    opaque: Mapping[str, Any] = attrs.field(default=EMPTY, repr=False)

    @property
    def texts(self) -> tuple[TextPart, ...]:
        """The text parts."""
        return tuple(part for part in self.parts if isinstance(part, TextPart))

    @property
    def text(self) -> str:
        """The concatenated text parts."""
        return "".join(part.text for part in self.texts)


@attrs.frozen
class ToolDefinition:
    """A tool that the model may call.

    :ivar ends_prefix: as for ``TextPart``; the prefix ends with this tool.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    ends_prefix: bool | str = attrs.field(default=False, kw_only=True)


LIKELIHOOD_INCOMPLETE: Final = "likelihood_incomplete"
"""Sub-cause of ``InvalidRequest``: the server reports the likelihood of other texts, but only a part of that of this one.

.. versionadded:: 0.2
"""


@attrs.frozen(kw_only=True)
class Likelihood:
    """A question how likely a model is to write a text, after each of several prompts.

    :ivar prompts: plain texts, without a chat template.
    :ivar text: the text.

    >>> from helmdeck_core import Likelihood
    >>> Likelihood(prompts=("A tool that sends mail.", "A tool that reads files."), text="mail this to Ann").text
    'mail this to Ann'
    """

    prompts: tuple[str, ...]
    text: str


@attrs.frozen(kw_only=True)
class ChatRequest:
    """A request to a provider.

    :ivar model: ``provider/model``.
    :ivar max_tokens: output limit in tokens, reasoning included.
    :ivar keeps_limit: a text that reaches ``max_tokens`` is the response, and is not continued; never sent.
    :ivar tool_choice: ``auto``, ``none``, ``required``, or the name of a required tool.
    :ivar stream: the response is streamed; set by the caller of ``stream``.
    :ivar continues: the last message is the model's partial answer, to be continued (prefill); only for models that
        support it.
    :ivar extra: additional fields of the payload, sent unchanged.
    :ivar logprobs: how many of the most likely tokens to return for each token of the response, with their
        log-probabilities; a provider that does not support it ignores it.
    :ivar likelihood: what to compute instead of a response to ``messages``; a provider that cannot do that ignores it.
    :ivar task: the source of the messages, for in-process providers; never sent.
    :ivar turn: a ``ToolTurn`` of a loop that executes tool calls; never sent.
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
    logprobs: int = 0
    likelihood: Likelihood | None = None
    task: Task | None = None
    turn: Any = attrs.field(default=None, eq=False, repr=False)
    keeps_limit: bool = attrs.field(default=False, eq=False, repr=False)

    @property
    def requires_call(self) -> bool:
        """Whether a response must call a tool: any one, or the named one."""
        return bool(self.tools) and self.tool_choice not in (None, "auto", "none")


@attrs.frozen(kw_only=True)
class ChatResponse:
    """The response to a request that did not fail. It may still be unusable.

    :ivar text: the text. A provider leaves reasoning tags in it; a deck moves reasoning between tags to
        ``reasoning_content``, also that of an unclosed block.
    :ivar reasoning_content: reasoning, first the provider's own from a separate field.
    :ivar stop_reason: the normalised reason; a refusal or a tool call in the response takes precedence over the native
        reason.
    :ivar strict_stop_reason: the normalised native reason alone.
    :ivar raw_stop_reason: the native reason; ``None`` if there was none.
    :ivar disposition: how to proceed; ``None`` is the default of ``DISPOSITIONS``.
    :ivar refusal: a refusal of the model, or an explanation of the provider, returned separately from the text.
    :ivar opaque: provider-specific data to be sent back unchanged with this turn, such as reasoning signatures.
    :ivar served_model: the provider's name for the model that answered.
    :ivar latency_s: seconds from the request to the end of the response.
    :ivar quota_metadata: rate-limit headers of the response, unchanged.
    :ivar downgrades: parts of the request that were left out, such as ``response_format json_schema -> json_object``.
    :ivar unread: unsupported content types in the response, such as ``image``, by the provider's name.
    :ivar constraint: the applied constraint: ``Constraint.label``; empty if unknown.
    :ivar continuation: how a truncated response was continued; ``None`` for a single response.
    :ivar request_id: the provider's request id; empty if it sent none.
    :ivar token_logprobs: for each token of the text, the log-probabilities of the most likely ones; empty if they were not
        requested, or the provider returns none.
    :ivar likelihoods: for each prompt of ``ChatRequest.likelihood``, the log-probability of the text; empty likewise.
    :ivar is_interrupted: the stream ended without its end mark and without a stop reason.
    :ivar attempts: all attempts of the deck, the successful one last; providers leave it empty.
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
    token_logprobs: tuple[Mapping[str, float], ...] = ()
    likelihoods: tuple[float, ...] = ()
    is_interrupted: bool = False
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the turn ended cleanly; ``False`` for a truncated response and a stream without an end marker."""
        return (self.disposition or DISPOSITIONS[self.stop_reason]) in (Disposition.FINAL, Disposition.TOOLS)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts; ``None`` if a price is unknown."""
        return total_cost(self.attempts)


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False):
    """A delta of a tool call.

    :ivar index: index of the call in the response, from 0.
    :ivar id: only in the first delta of a call, like the name. Empty if the provider sends none; the response then has a
        generated id.
    :ivar arguments: next part of the JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatDelta(msgspec.Struct, frozen=True, gc=False):
    """A delta of a response. A Struct for speed: a stream has thousands of them."""

    text: str = ""
    reasoning_content: str = ""
    tool_call: ToolCallDelta | None = None
