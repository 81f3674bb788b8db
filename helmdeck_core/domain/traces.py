"""The story of one call, as it can be told afterwards: what was sent, what came of it, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import attrs


@attrs.frozen(kw_only=True)
class CallTrace:
    """Everything that happened during one call. It holds no prompt, no answer and no secret, because events hold none.

    :ivar call_id: the id that results, failures and log lines of the call have.
    :ivar time: when it began, in seconds since 1970 UTC.
    :ivar pack: the pack that asked; empty where the caller wrote the request.
    :ivar caller: who asked the pack.
    :ivar model: the model that was asked for.
    :ivar outcome: ``answered``, ``aborted``, or the cause of the failure.
    :ivar parent: the call that this one helped; empty for all others.
    :ivar events: the events as plain data, in their order; ``at_s`` is seconds since the call began.
    """

    call_id: str
    time: float
    pack: str
    caller: str
    model: str
    outcome: str
    events: tuple[Mapping[str, Any], ...]
    parent: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The story as plain data."""
        return attrs.asdict(self)


@runtime_checkable
class TraceStore(Protocol):
    """What an opened sink can do that keeps stories. Its methods may be called from any thread."""

    def runs(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """The last calls, the newest first; those that only helped another one are left out."""
        ...

    def call_trace(self, call_id: str) -> CallTrace | None:
        """The story of one call; ``None`` where it is not known, or no longer."""
        ...
