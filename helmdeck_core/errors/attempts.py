"""What one try of a model call came to: the cause of a failure, the tokens, and the trail that a call leaves behind."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import attrs

MOST_IN_A_TRAIL = 8
"""Attempts that a failure carries and its message lists."""

TRAIL_BYTES = 2_048
"""The largest text that a trail becomes."""


_LONG_S = 1.0
"""Seconds of an attempt that are worth a word in a trail."""


class FailureClass(enum.StrEnum):
    """Why a model call gave nothing usable."""

    SAFETY_FILTERED = "safety_filtered"
    LENGTH_TRUNCATED = "length_truncated"
    CONSTRAINED_DEADLOCK = "constrained_deadlock"
    LIKELY_TIMEOUT = "likely_timeout"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH_FAILED = "auth_failed"
    INVALID_REQUEST = "invalid_request"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    CANCELLED = "cancelled"
    ARTIFACT_INVALID = "artifact_invalid"
    TRANSIENT_UNKNOWN = "transient_unknown"


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

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cached_input_tokens=self.cached_input_tokens - other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens - other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens - other.reasoning_tokens,
        )


class RequestKind(enum.StrEnum):
    """What a request of an attempt asked for."""

    ANSWER = "answer"
    """What the attempt is about."""
    CONTINUATION = "continuation"
    """The rest of an answer that was cut."""
    REPAIR = "repair"
    """Tool calls alone that were cut."""


@attrs.frozen(kw_only=True)
class AttemptRequest:
    """One request of an attempt that took several.

    :ivar usage: tokens, as far as the provider said.
    :ivar cost_usd: US dollars; ``None`` where no price is known, or nothing was answered.
    :ivar latency_s: seconds from sending to the end.
    :ivar cause: why it gave nothing; ``None`` where it answered.
    """

    kind: RequestKind
    usage: Usage = Usage()
    cost_usd: float | None = None
    latency_s: float = 0.0
    cause: FailureClass | None = None

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data; what is empty is left out."""
        wire = attrs.asdict(self, filter=lambda field, value: field.name != "usage" and value not in (None, 0))
        wire["kind"] = self.kind.value
        return wire if self.usage == Usage() else {**wire, "usage": _tokens(self.usage)}


@attrs.frozen(kw_only=True)
class Attempt:
    """One try of a model call.

    :ivar number: 1 for the first.
    :ivar model: the model id that was asked.
    :ivar served_model: who answered, in the provider's words.
    :ivar cause: why it gave nothing usable; ``None`` for the one that gave the answer.
    :ivar sub_cause: a finer cause under it.
    :ivar stop_reason: why the model stopped, normalised; empty where no answer came.
    :ivar raw_stop_reason: the provider's word for it.
    :ivar usage: tokens of all its requests, as far as the provider said.
    :ivar cost_usd: US dollars of all its requests; ``None`` where no price is known, or nothing was answered.
    :ivar latency_s: seconds from sending to the end.
    :ivar waited_s: seconds that were waited before it.
    :ivar changed: what was asked otherwise than the model's budget says, such as ``output limit x2``.
    :ivar then: what was done about it: ``answered``, ``again``, ``next model ID``, or why nothing was.
    :ivar continuations: how often the answer was continued.
    :ivar requests: what was sent, where it was more than one request: the first, and those that completed its answer.
    :ivar status: the HTTP status of a failure, where one came.
    :ivar raw_length: UTF-8 bytes of the answer's text before anything was stripped.
    :ivar request_id: the provider's own name for the request, where it gave one.
    :ivar is_estimated: tokens and cost are reckoned, for the answer was cut off before the provider told them.
    :ivar purpose: ``selection`` for one of another call, which settled what is sent in the attempt of the same number; empty
        for an attempt of the call itself.
    :ivar is_sent: whether anything was sent; a prompt that cannot fit is not.
    """

    number: int
    model: str
    served_model: str = ""
    cause: FailureClass | None = None
    sub_cause: str = ""
    stop_reason: str = ""
    raw_stop_reason: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    latency_s: float = 0.0
    waited_s: float = 0.0
    changed: tuple[str, ...] = ()
    then: str = ""
    is_sent: bool = True
    continuations: int = 0
    requests: tuple[AttemptRequest, ...] = ()
    status: int | None = None
    raw_length: int = 0
    request_id: str = ""
    is_estimated: bool = False
    purpose: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The attempt as plain data; what is empty is left out."""
        wire = attrs.asdict(
            self,
            recurse=False,
            filter=lambda field, value: field.name == "is_sent" or value not in ("", None, 0, (), Usage()),
        )
        if self.cause is not None:
            wire["cause"] = self.cause.value
        if self.usage != Usage():
            wire["usage"] = _tokens(self.usage)
        if self.requests:
            wire["requests"] = [request.to_dict() for request in self.requests]
        return {**wire, "changed": list(self.changed)} if self.changed else wire

    def __str__(self) -> str:
        """The attempt in a few words, none of them a provider's."""
        what = "answered" if self.cause is None else "/".join(filter(None, (self.cause.value, self.sub_cause)))
        what += f" in {len(self.requests)} requests" if self.requests else ""
        what += f", HTTP {self.status}" if self.status is not None else ""
        what += f" after {self.latency_s:.1f} s" if self.latency_s >= _LONG_S else ""
        notes = [f"for the {self.purpose}"] if self.purpose else []
        notes += self.changed
        changed = f" ({', '.join(notes)})" if notes else ""
        then = f", then {self.then}" if self.cause is not None and self.then else ""
        return f"{self.number}. {self.model}{changed}: {what}{then}"


def _tokens(usage: Usage) -> dict[str, int]:
    return attrs.asdict(usage, filter=lambda _, value: value)


def total_cost(paid: Sequence[Attempt | AttemptRequest]) -> float | None:
    """US dollars of all answers that came, usable or not; ``None`` where one of them has no price."""
    costs = [each.cost_usd for each in paid if each.usage != Usage()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if costs and len(known) == len(costs) else None


def shortened(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """At most ``MOST_IN_A_TRAIL`` of them: the first, and the last ones."""
    kept = tuple(attempts)
    return kept if len(kept) <= MOST_IN_A_TRAIL else (kept[0], *kept[1 - MOST_IN_A_TRAIL :])


NO_RULE = "no rule tries anything else"
"""Why a call is given up whose cause nothing helps with; it says no more than the cause."""


def summary(attempts: Sequence[Attempt]) -> str:
    """A trail as text of at most ``TRAIL_BYTES``; it holds no word of a provider's."""
    text = "; ".join(map(str, shortened(attempts)))
    data = text.encode("utf-8", "replace")
    return text if len(data) <= TRAIL_BYTES else data[: TRAIL_BYTES - 3].decode("utf-8", "ignore") + "…"
