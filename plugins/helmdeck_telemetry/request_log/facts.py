"""The columns of a recorded request, read from the trace of its call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from helmdeck_core import EMPTY, CallTrace

NANO: Final = 1_000_000_000
"""Nano US dollars in a US dollar; amounts are stored as integers, so that sums are exact."""

MAX_TEXT: Final = 200
"""Characters of a stored name; names come from callers and servers, and may have any length."""

BUCKET_BASE: Final = 1.15
"""Ratio of two neighbouring bounds of the latency histogram: quantiles are exact to 7 %."""


def clean(text: object, size: int = MAX_TEXT) -> str:
    """Return a string that databases can store: without NUL and lone surrogates, and cut to a size."""
    shown = text if isinstance(text, str) else "" if text is None else str(text)
    if len(shown) <= size and shown.isascii() and "\0" not in shown:
        return shown
    return shown[:size].encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


@attrs.frozen(kw_only=True)
class RequestFacts:
    """A finished call as one row of the request log.

    :ivar ended_us: end of the call in microseconds since 1970 UTC; the order of the log.
    :ivar latency_ms: duration of the call with all attempts and backoff.
    :ivar first_token_ms: milliseconds until the first chunk of a stream; ``None`` if it was not streamed, or is unknown.
    :ivar outcome: ``answered``, ``aborted``, or the cause of the failure.
    :ivar model: the model that answered, or the last one that was called.
    :ivar requested: the requested model.
    :ivar key: the name of the client's key; empty without one.
    :ivar team: the team of the key; empty without one.
    :ivar cost_nusd: cost of all attempts with a known price, in nano US dollars.
    :ivar unpriced: attempts whose price is unknown.
    :ivar before_bytes: size of the catalog before trimming; 0 for a call without one.
    :ivar after_bytes: its size in the last prompt.
    :ivar request_id: the id that the client gave the request.
    :ivar key_id: the public id of the client's key; empty without one, and in rows of earlier releases.
    """

    call_id: str
    ended_us: int
    latency_ms: int
    first_token_ms: int | None = None
    outcome: str
    model: str
    requested: str
    caller: str = ""
    key: str = ""
    team: str = ""
    pack: str = ""
    variant: str = ""
    attempts: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_nusd: int = 0
    unpriced: int = 0
    before_bytes: int = 0
    after_bytes: int = 0
    request_id: str = ""
    key_id: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether the call returned a usable answer."""
        return self.outcome == "answered"

    @property
    def cost_usd(self) -> float:
        """The cost in US dollars."""
        return self.cost_nusd / NANO


COLUMNS: Final = tuple(field.name for field in attrs.fields(RequestFacts))


@attrs.frozen(kw_only=True)
class AttemptFacts:
    """One attempt of a call.

    :ivar cause: why it failed, such as ``LENGTH_TRUNCATED``; empty for the attempt that gave the answer.
    """

    model: str
    cause: str
    cost_nusd: int
    latency_ms: int


def facts_of(trace: CallTrace) -> tuple[RequestFacts, tuple[AttemptFacts, ...]]:
    """Return the facts of a call and of its attempts."""
    found: dict[str, Mapping[str, Any]] = {}
    outcomes: list[Mapping[str, Any]] = []
    for event in trace.events:
        found[name := event.get("event", "")] = event
        if name == "attempt_ended":
            outcomes.append(event["outcome"])
    attempts = tuple(_attempt(each) for each in outcomes)
    last: Mapping[str, Any] = trace.events[-1] if trace.events else EMPTY
    sent = found.get("request_sent", EMPTY)
    record = found.get("catalog_selected", EMPTY).get("record", EMPTY)
    origin = found.get("request_received", EMPTY)
    first = found.get("stream_started", EMPTY).get("first_chunk_s")
    duration_s = float(last.get("total_s", last.get("latency_s", last.get("at_s", 0.0))))
    usages = [each.get("usage") or {} for each in outcomes]
    model = (
        last.get("model") if trace.outcome == "answered" else (attempts[-1].model if attempts else sent.get("model"))
    )
    return (
        RequestFacts(
            call_id=clean(trace.call_id, 100),
            ended_us=int((trace.time + float(last.get("at_s", duration_s))) * 1e6),
            latency_ms=round(duration_s * 1000),
            first_token_ms=None if first is None else round(float(first) * 1000),
            outcome=clean(trace.outcome),
            model=clean(model or trace.model),
            requested=clean(trace.model),
            caller=clean(trace.caller),
            key=clean(origin.get("key")),
            team=clean(origin.get("team")),
            pack=clean(trace.pack),
            variant=clean(sent.get("variant")),
            attempts=len(attempts),
            input_tokens=sum(int(each.get("input_tokens", 0)) for each in usages),
            cached_tokens=sum(int(each.get("cached_input_tokens", 0)) for each in usages),
            output_tokens=sum(int(each.get("output_tokens", 0)) for each in usages),
            cost_nusd=sum(each.cost_nusd for each in attempts),
            unpriced=sum(
                each.get("cost_usd") is None
                for each, usage in zip(outcomes, usages, strict=True)
                if any(usage.values())
            ),
            before_bytes=int(record.get("before_bytes", 0)),
            after_bytes=int(record.get("after_bytes", 0)),
            request_id=clean(origin.get("request_id")),
            key_id=clean(origin.get("key_id")),
        ),
        attempts,
    )


def _attempt(outcome: Mapping[str, Any]) -> AttemptFacts:
    return AttemptFacts(
        model=clean(outcome.get("model")),
        cause=clean(outcome.get("cause")),
        cost_nusd=round((outcome.get("cost_usd") or 0.0) * NANO),
        latency_ms=round(float(outcome.get("latency_s", 0.0)) * 1000),
    )


def bucket_of(latency_ms: int) -> int:
    """Return the bucket of the latency histogram."""
    return math.ceil(math.log(max(1, latency_ms), BUCKET_BASE))


def quantile(buckets: Mapping[int, int], share: float) -> float | None:
    """Return a quantile of a latency histogram in milliseconds; ``None`` for an empty one.

    :param buckets: counts by bucket.
    :param share: such as 0.95.
    """
    total, seen = sum(buckets.values()), 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= share * total:
            return BUCKET_BASE ** (bucket - 0.5) if bucket else 1.0
    return None
