"""Token usage, and the single requests of an attempt."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from helmdeck_core.errors.causes import FailureClass

MAX_TOKENS = 100_000_000
"""No response has more tokens: ten times the largest context window of a model."""


@attrs.frozen(kw_only=True)
class Usage:
    """Token usage of one call.

    :ivar input_tokens: all input tokens, cached or not.
    :ivar output_tokens: all output tokens, reasoning included.
    :ivar cached_input_tokens: input tokens that the provider read from its prompt cache.
    :ivar cache_write_tokens: input tokens that the provider wrote to its prompt cache.
    :ivar reasoning_tokens: output tokens that are reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def plausible(self) -> Usage:
        """Return usage without impossible numbers, so that prices and limits can rely on it.

        Numbers below zero and wholes above ``MAX_TOKENS`` count as 0, and a part never exceeds its whole.
        """
        is_plausible = (
            self.cached_input_tokens >= 0
            and self.cache_write_tokens >= 0
            and self.cached_input_tokens + self.cache_write_tokens <= self.input_tokens <= MAX_TOKENS
            and 0 <= self.reasoning_tokens <= self.output_tokens <= MAX_TOKENS
        )
        if is_plausible:
            return self
        input_tokens, output_tokens = _possible(self.input_tokens), _possible(self.output_tokens)
        cached = min(max(0, self.cached_input_tokens), input_tokens)
        return Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_input_tokens=cached,
            cache_write_tokens=min(max(0, self.cache_write_tokens), input_tokens - cached),
            reasoning_tokens=min(max(0, self.reasoning_tokens), output_tokens),
        )

    def __add__(self, other: Usage) -> Usage:
        return self._combined(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        return self._combined(other, -1)

    def _combined(self, other: Usage, sign: int) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + sign * other.input_tokens,
            output_tokens=self.output_tokens + sign * other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + sign * other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + sign * other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + sign * other.reasoning_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        """Return the counts as plain data, without zeros."""
        return attrs.asdict(self, filter=lambda _, value: value)


class RequestKind(enum.StrEnum):
    """The purpose of one request of an attempt."""

    ANSWER = "answer"
    """The answer itself."""
    CONTINUATION = "continuation"
    """The rest of a truncated answer."""
    REPAIR = "repair"
    """Truncated tool calls, without the rest of the answer."""


def _possible(tokens: int) -> int:
    return tokens if 0 <= tokens <= MAX_TOKENS else 0


@attrs.frozen(kw_only=True)
class AttemptRequest:
    """One request of an attempt that sent several.

    :ivar usage: tokens, as reported by the provider.
    :ivar cost_usd: US dollars; ``None`` when the price is unknown or no response was received.
    :ivar latency_s: seconds from sending the request to the end of the response.
    :ivar cause: why the request failed; ``None`` when it succeeded.
    """

    kind: RequestKind
    usage: Usage = Usage()
    cost_usd: float | None = None
    latency_s: float = 0.0
    cause: FailureClass | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain data, without empty fields."""
        wire = attrs.asdict(self, filter=lambda field, value: field.name != "usage" and value not in (None, 0))
        wire["kind"] = self.kind.value
        return wire if self.usage == Usage() else {**wire, "usage": self.usage.to_dict()}


class _Paid(Protocol):
    @property
    def usage(self) -> Usage: ...
    @property
    def cost_usd(self) -> float | None: ...


def total_cost(paid: Sequence[_Paid]) -> float | None:
    """Return the US dollars of all responses, usable or not; ``None`` when the price of one of them is unknown."""
    costs = [each.cost_usd for each in paid if each.usage != Usage()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if costs and len(known) == len(costs) else None
