"""The contract between a call and the dispatcher: how a request is prepared, how a response is read, and the result."""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

from helmdeck_core.calls.recovery_policy import NextAttempt
from helmdeck_core.domain.chain_policies import ChainRequest
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, StopReason, TextPart
from helmdeck_core.domain.choosing import Choice
from helmdeck_core.domain.decode import Decoded
from helmdeck_core.domain.events import CallRef
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.questions import FilterCall, Selection
from helmdeck_core.domain.recovery_actions import CallLimits
from helmdeck_core.errors import Attempt, CallFailed

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Prepared:
    """A request that is ready to be sent, and what it was made from.

    :ivar variant: the prompt variant; empty where the caller wrote the messages.
    :ivar filter: the call that narrowed the selection; ``None`` when there was none.
    :ivar downgrades: parts of the caller's request that are left out; the response lists them.
    :ivar choice: the choice of a chooser; ``None`` where the model chooses.
    :ivar settled: the value, where the choice left nothing to ask for; no request is sent.
    :ivar min_probability: the lowest probability at which an answer is accepted; ``None`` for any.
    """

    request: ChatRequest
    budget: Budget
    variant: str = ""
    selection: Selection | None = None
    filter: FilterCall | None = None
    downgrades: tuple[str, ...] = ()
    choice: Choice | None = None
    settled: Decoded[Any] | None = None
    min_probability: float | None = None


SETTLED = ChatResponse(text="", stop_reason=StopReason.END_TURN, raw_stop_reason="stop")
"""The response in place of one that was not needed."""

SideAttempts = Callable[[Sequence[Attempt]], None]
"""Receives the attempts of a side call, such as a filter call, that was made to prepare a request."""


class Operation(Protocol[T]):
    """One kind of call: prepares the request for a model and reads the result from the response."""

    @property
    def type(self) -> Any:
        """The type that the response is decoded into; ``None`` for plain text."""
        ...

    async def prepare(self, step: NextAttempt, call: CallRef, record: SideAttempts) -> Prepared:
        """Make the request for one model.

        :param record: receives the attempts of every side call, whether or not it succeeded.
        :raises CallFailed: the request cannot be made, for instance because the prompt does not fit.
        """
        ...

    def read(self, prepared: Prepared, response: ChatResponse) -> T:
        """Read the result from a response.

        :raises CallFailed: the response does not contain it.
        """
        ...

    def unsure(self, prepared: Prepared, value: T) -> CallFailed | None:
        """Return why the next model answers although there is a value; it is used if no other model answers."""
        ...

    def chain_facts(self) -> ChainRequest:
        """Return the facts for a chain policy: answer type, sizes and the start of the request."""
        ...

    def is_final(self, failure: CallFailed) -> bool:
        """Whether the caller wants this failure without any recovery."""
        ...


@attrs.frozen(kw_only=True)
class CallOptions:
    """What a caller says about one call.

    :ivar model: the requested model.
    :ivar limits: the limits that apply, with the configuration's defaults.
    :ivar parent: the id of the call that this one is a side call of.
    :ivar streams: whether a whole response is received in chunks, so that the timeouts of streams apply to it.
    """

    model: str
    pack: str
    caller: str
    limits: CallLimits
    parent: str = ""
    streams: bool = False

    def new_ref(self) -> CallRef:
        """Return the identity of a new call."""
        return CallRef(call_id=os.urandom(8).hex(), pack=self.pack, caller=self.caller)


@attrs.frozen(kw_only=True)
class CallResult(Generic[T]):
    """The result of a call.

    :ivar model: the requested model.
    :ivar total_s: seconds of all attempts and waits.
    """

    value: T
    call: CallRef
    model: str
    total_s: float
    prepared: Prepared
    response: ChatResponse
    attempts: tuple[Attempt, ...]


_FIELDS = tuple(field.name for field in attrs.fields(ChatResponse))
_VALUES = operator.attrgetter(*_FIELDS)


def copy_response(response: ChatResponse, **changes: Any) -> ChatResponse:
    """Return a copy with changes, as ``attrs.evolve`` does in three times the time; every call makes one or two."""
    return ChatResponse(**{**dict(zip(_FIELDS, _VALUES(response), strict=True)), **changes})


def fingerprint(request: ChatRequest) -> str:
    """Return a digest of the payload; requests with the same payload have the same digest."""
    digest = hashlib.blake2b(digest_size=16)
    for message in request.messages:
        head = f"{message.role} {message.tool_call_id} {message.tool_calls} {dict(message.opaque)}"
        digest.update(head.encode("utf-8", "replace"))
        for part in message.parts:
            content = part.text if isinstance(part, TextPart) else f"{part.media_type} {part.url} {part.data!r}"
            digest.update(f"\0{content}".encode("utf-8", "replace"))
    rest = attrs.evolve(request, messages=(), task=None)
    digest.update(repr(rest).encode("utf-8", "replace"))
    return digest.hexdigest()
