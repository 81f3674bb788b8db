"""What is wanted of a model, and what a call for it comes to: what ``dispatching`` works with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

from helmdeck_core.calls.recovery import NextAttempt
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, TextPart
from helmdeck_core.domain.events import CallRef
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.questions import FilterCall, Selection
from helmdeck_core.errors import Attempt, CallFailed

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@attrs.frozen(kw_only=True)
class Prepared:
    """A request that is ready to be sent, and what it was made from.

    :ivar variant: the prompt variant that asks; empty where the caller wrote the messages.
    :ivar filter: the call that settled the selection; ``None`` when there was none.
    :ivar downgrades: what of the caller's own request is left out; the response names it.
    """

    request: ChatRequest
    budget: Budget
    variant: str = ""
    selection: Selection | None = None
    filter: FilterCall | None = None
    downgrades: tuple[str, ...] = ()


Helped = Callable[[Sequence[Attempt]], None]
"""Takes the attempts of a call that was made for another one."""


class Operation(Protocol[T_co]):
    """What is wanted of a model: how it is asked for a thing, and how that is read from its answer."""

    @property
    def type(self) -> Any:
        """What the answer is decoded into; ``None`` for plain text."""
        ...

    async def prepare(self, ask: NextAttempt, call: CallRef, helped: Helped) -> Prepared:
        """Make the request for one model.

        :param helped: is given the attempts of every other call that is made for it, whether or not that call succeeded.
        :raises CallFailed: it cannot be made, for instance because the prompt does not fit.
        """
        ...

    def read(self, prepared: Prepared, response: ChatResponse) -> T_co:
        """Read what was asked for.

        :raises CallFailed: the answer does not hold it.
        """
        ...

    def is_final(self, failure: CallFailed) -> bool:
        """Whether the caller wants this failure as it is, whatever the rules say."""
        ...


@attrs.frozen(kw_only=True)
class CallResult(Generic[T]):
    """What a call came to.

    :ivar model: the model that was asked for.
    :ivar total_s: seconds with all attempts and waits.
    """

    value: T
    call: CallRef
    model: str
    total_s: float
    prepared: Prepared
    response: ChatResponse
    attempts: tuple[Attempt, ...]


def fingerprint(request: ChatRequest) -> str:
    """Tell requests apart by what is sent; two that ask for the same have the same one."""
    seen = hashlib.blake2b(digest_size=16)
    for message in request.messages:
        seen.update(
            f"{message.role} {message.tool_call_id} {message.tool_calls} {dict(message.opaque)}".encode(
                "utf-8", "replace"
            )
        )
        for part in message.parts:
            said = part.text if isinstance(part, TextPart) else f"{part.media_type} {part.url} {part.data!r}"
            seen.update(f"\0{said}".encode("utf-8", "replace"))
    rest = attrs.evolve(request, messages=(), task=None)
    seen.update(repr(rest).encode("utf-8", "replace"))
    return seen.hexdigest()


def provider_of(model: str) -> str:
    """The first part of a model id."""
    return model.partition("/")[0].strip()
