"""One attempt of a model call, and the bounded list of attempts that a failure carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from helmdeck_core.errors.causes import FailureClass
from helmdeck_core.errors.usage import AttemptRequest, Usage

MAX_LISTED_ATTEMPTS = 8
"""Attempts that a failure carries and its message lists."""

MAX_SUMMARY_BYTES = 2_048
"""The largest summary of attempts."""

_MIN_SHOWN_S = 1.0
"""The shortest duration of an attempt that its summary mentions."""


@attrs.frozen(kw_only=True)
class Attempt:
    """One attempt of a model call.

    :ivar number: 1 for the first.
    :ivar model: the model id that was called.
    :ivar served_model: the model that answered, as reported by the provider.
    :ivar cause: why the attempt failed; ``None`` when it gave the answer.
    :ivar sub_cause: a finer cause within the class.
    :ivar stop_reason: the normalised stop reason; empty when no response was received.
    :ivar raw_stop_reason: the provider's native stop reason.
    :ivar usage: tokens of all requests of the attempt, as reported by the provider.
    :ivar cost_usd: US dollars of all requests; ``None`` when the price is unknown or no response was received.
    :ivar latency_s: seconds from sending the request to the end of the response.
    :ivar first_token_s: seconds until the first token of a streamed response; 0 where there was none.
    :ivar waited_s: seconds of backoff before the attempt.
    :ivar changed: how the request differs from what the model's budget says, such as ``output limit x2``.
    :ivar then: what followed: ``answered``, ``again``, ``next model ID``, or ``stopped: REASON``.
    :ivar reason: why no further attempt was made; empty when one was made, or when no recovery rule applies to the cause.
    :ivar is_sent: whether a request was sent; a prompt that cannot fit is not.
    :ivar continuations: how many times the answer was continued.
    :ivar requests: the requests of an attempt that sent several: the first, then those that completed its answer.
    :ivar status: the HTTP status of a failure.
    :ivar raw_length: UTF-8 bytes of the answer before reasoning was stripped.
    :ivar request_id: the provider's id of the request.
    :ivar is_estimated: tokens and cost are estimates, because the response ended before the provider reported them.
    :ivar purpose: ``selection`` for the filter call that selected the catalog entries of the attempt with the same number,
        ``choice`` for a request of its chooser; empty for an attempt of the call itself.

    >>> from helmdeck_core import Attempt, FailureClass
    >>> Attempt(number=1, model="acme/large", cause=FailureClass.RATE_LIMITED).cause.value
    'rate_limited'
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
    reason: str = ""
    is_sent: bool = True
    continuations: int = 0
    requests: tuple[AttemptRequest, ...] = ()
    status: int | None = None
    raw_length: int = 0
    request_id: str = ""
    is_estimated: bool = False
    purpose: str = ""
    first_token_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as plain data, without empty fields."""
        wire = attrs.asdict(
            self,
            recurse=False,
            filter=lambda field, value: field.name == "is_sent" or value not in ("", None, 0, (), Usage()),
        )
        if self.cause is not None:
            wire["cause"] = self.cause.value
        if self.usage != Usage():
            wire["usage"] = self.usage.to_dict()
        if self.requests:
            wire["requests"] = [request.to_dict() for request in self.requests]
        return {**wire, "changed": list(self.changed)} if self.changed else wire

    def __str__(self) -> str:
        """The attempt on one line, without any text from the provider."""
        outcome = "answered" if self.cause is None else "/".join(filter(None, (self.cause.value, self.sub_cause)))
        outcome += f" in {len(self.requests)} requests" if self.requests else ""
        outcome += f", HTTP {self.status}" if self.status is not None else ""
        outcome += f" after {self.latency_s:.1f} s" if self.latency_s >= _MIN_SHOWN_S else ""
        notes = [f"for the {self.purpose}"] if self.purpose else []
        notes += self.changed
        changed = f" ({', '.join(notes)})" if notes else ""
        then = f", then {self.then}" if self.cause is not None and self.then else ""
        return f"{self.number}. {self.model}{changed}: {outcome}{then}"


def bounded(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return at most ``MAX_LISTED_ATTEMPTS`` of the attempts: the first, and the last ones."""
    kept = tuple(attempts)
    return kept if len(kept) <= MAX_LISTED_ATTEMPTS else (kept[0], *kept[1 - MAX_LISTED_ATTEMPTS :])


def summary(attempts: Sequence[Attempt]) -> str:
    """Return the attempts as text of at most ``MAX_SUMMARY_BYTES``, without any text from a provider."""
    text = "; ".join(map(str, bounded(attempts)))
    data = text.encode("utf-8", "replace")
    return text if len(data) <= MAX_SUMMARY_BYTES else data[: MAX_SUMMARY_BYTES - 3].decode("utf-8", "ignore") + "…"
