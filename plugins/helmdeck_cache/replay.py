"""A stored answer as the result of a new call: a response, the deltas of a stream, an answer, and the events of the call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import (
    EMPTY,
    Answer,
    AnswerReused,
    Attempt,
    CachedAnswer,
    CallFinished,
    CallRef,
    CallStarted,
    ChatDelta,
    ChatResponse,
    Event,
    Helmdeck,
    ToolCallDelta,
    Usage,
)

DELTA_CHARS: Final = 400
"""Characters of a delta of a stored answer."""


def stored_answer(response: ChatResponse, model: str) -> CachedAnswer:
    """Return what is stored of a response."""
    cost = response.cost_usd
    kept = attrs.evolve(response, attempts=(), latency_s=0.0, quota_metadata=EMPTY, request_id="", continuation=None)
    return CachedAnswer(response=kept, model=model, cost_usd=cost, stored_s=time.time())


def replayed(answer: CachedAnswer, latency_s: float) -> ChatResponse:
    """Return a stored answer as the response of a call that cost nothing; all of its input counts as cached."""
    response = answer.response
    usage = attrs.evolve(response.usage, cached_input_tokens=response.usage.input_tokens, cache_write_tokens=0)
    attempt = Attempt(
        number=1,
        model=answer.model,
        served_model=response.served_model,
        stop_reason=response.stop_reason.value,
        raw_stop_reason=response.raw_stop_reason,
        usage=usage,
        cost_usd=0.0,
        latency_s=latency_s,
        changed=("answered from the cache",),
        then="answered",
        is_sent=False,
    )
    replay: ChatResponse = attrs.evolve(response, usage=usage, latency_s=latency_s, attempts=(attempt,))
    return replay


def deltas_of(response: ChatResponse) -> Iterator[Sequence[ChatDelta]]:
    """Yield the deltas of a response in batches, as if it was streamed."""
    reasoning = [ChatDelta(reasoning_content=each) for each in _split(response.reasoning_content)]
    text = [ChatDelta(text=each) for each in _split(response.text)]
    calls = [
        ChatDelta(tool_call=ToolCallDelta(number, call.id, call.name, call.arguments))
        for number, call in enumerate(response.tool_calls)
    ]
    for deltas in (reasoning, text, calls):
        if deltas:
            yield deltas


def answer_of(deck: Helmdeck, requested: str, response: ChatResponse, value: Any) -> Answer[Any]:
    """Return a stored response as the answer to a question."""
    model = response.attempts[-1].model
    return Answer(
        value=value,
        model=model,
        variant="",
        budget=deck.budget(model).budget,
        selection=None,
        response=response,
        step="cache",
        repairs=(),
        requested_model=requested,
        attempts=response.attempts,
    )


def emit_reuse(
    emit: Callable[[Event], None],
    answer: CachedAnswer,
    cache: str,
    requested: str,
    pack: str,
    caller: str,
    latency_s: float,
) -> str:
    """Emit the events for a call without a request; return its id. They report no tokens, since none were used."""
    call = CallRef(call_id=os.urandom(8).hex(), pack=pack, caller=caller)
    place = call.place
    response = answer.response
    emit(CallStarted(**place, model=requested))
    age_s = max(0.0, time.time() - answer.stored_s)
    emit(AnswerReused(**place, model=answer.model, cache=cache, age_s=age_s, saved_usd=answer.cost_usd))
    emit(
        CallFinished(
            **place,
            model=answer.model,
            served_model=response.served_model,
            variant="",
            stop_reason=response.stop_reason,
            raw_stop_reason=response.raw_stop_reason,
            usage=Usage(),
            cached_cost_usd=None,
            saved_usd=None,
            cost_usd=0.0,
            latency_s=latency_s,
            decode_step="",
            repairs=(),
            requested_model=requested,
            downgrades=(),
            constraint=response.constraint,
            total_s=latency_s,
        )
    )
    return call.call_id


def _split(text: str) -> Iterator[str]:
    return (text[start : start + DELTA_CHARS] for start in range(0, len(text), DELTA_CHARS))
