"""Builds the failures of responses that arrived but are not usable."""

from __future__ import annotations

from typing import Any

import attrs

from helmdeck_core.calls.diagnosis import empty_sub_cause, undecodable
from helmdeck_core.calls.model_text import excerpt_of
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import CallFailed, FailureClass, ProviderUnavailable, TransientUnknown

TRUNCATED_TEXT = "text"
"""The sub-cause of a text that stays truncated, and is not what was requested."""

UNSURE_ANSWER = "unsure_answer"
"""The sub-cause of an answer that is left to the next model."""


def empty_failure(request: ChatRequest, response: ChatResponse) -> CallFailed:
    """Return the failure of a response without text and tool calls."""
    text, stop = response.text, response.stop_reason
    sub_cause = empty_sub_cause(stop, text, has_reasoning=_has_reasoning(response), is_unclosed=False)
    what = "the model returned an empty answer"
    if issue := _tool_call_issue(response):
        sub_cause, what = issue
    found = undecodable(stop, sub_cause, "", is_empty=True).as_call(what, text, **_facts(request, response))
    return _with_details(response, found)


def truncated_failure(request: ChatRequest, response: ChatResponse) -> CallFailed:
    """Return the failure of a text that ends before it is complete."""
    found = undecodable(response.stop_reason, TRUNCATED_TEXT, response.text)
    what = "the answer is truncated"
    return _with_details(response, found.as_call(what, response.text, **_facts(request, response)))


def no_call_failure(request: ChatRequest, response: ChatResponse) -> CallFailed:
    """Return the failure of a response without the tool call that the request requires."""
    found = undecodable(response.stop_reason, "no_tool_call", response.text)
    what = "the model called another tool" if response.tool_calls else "the model called no tool"
    found_call = found.as_call(
        f"{what}, although the request requires a call", response.text, **_facts(request, response)
    )
    return _with_details(response, found_call)


def interrupted_failure(response: ChatResponse) -> CallFailed:
    """Return the failure of a text whose stream ended before its end mark."""
    return ProviderUnavailable(
        "the provider's stream ended before its end mark",
        sub_cause="cut_body",
        detail=f"{len(response.text):,} characters without a stop reason",
        usage=response.usage,
        latency_s=response.latency_s,
        request_id=response.request_id,
    )


def unsure_failure(model: str, probability: float, minimum: float) -> CallFailed:
    """Return the failure of an answer that is less likely to be right than the chain policy asks for."""
    return TransientUnknown(
        "the answer is not sure",
        model=model,
        sub_cause=UNSURE_ANSWER,
        detail=f"it is right with a probability of {probability:.0%}; the rest of the chain is worth its cost below {minimum:.0%}",
    )


def loop_failure(request: ChatRequest, response: ChatResponse, loop: str) -> CallFailed:
    """Return the failure of a structured response that ends in a loop."""
    what = "the model's output never reached the requested structure"
    found = undecodable(response.stop_reason, loop, response.text)
    return found.as_call(what, response.text, **_facts(request, response))


def decode_failure(pack: str, request: ChatRequest, response: ChatResponse, exc: DecodeFailed) -> CallFailed:
    """Return the failure of a response that cannot be decoded.

    :param pack: the name of the pack that asked.
    """
    what = "the model's output is not the requested JSON"
    if exc.is_empty:
        what = f"the model returned an empty {pack.rpartition('.')[2]} response"
    if exc.is_empty and (issue := _tool_call_issue(response)):
        sub_cause, what = issue
        exc, what = attrs.evolve(exc, sub_cause=sub_cause), f"{what} instead of an answer"
    elif response.tool_calls:
        what = "the model called a tool instead of answering"
        exc = attrs.evolve(exc, cause=FailureClass.CONSTRAINED_DEADLOCK, sub_cause="tool_call", is_empty=False)
    elif exc.sub_cause in ("empty", "empty_though_finished") and _has_reasoning(response):
        exc = attrs.evolve(exc, sub_cause="only_reasoning")  # the decoder sees the text alone
    return _with_details(response, exc.as_call(f"{pack}: {what}", response.text, **_facts(request, response)))


def _tool_call_issue(response: ChatResponse) -> tuple[str, str] | None:
    """The sub-cause and headline of a response whose tool calls cannot be executed; ``None`` if it had none."""
    if response.continuation is None or not (issue := response.continuation.issue):
        return None
    return "tool_call", f"the model returned {'a truncated' if issue == 'cut' else 'an unusable'} tool call"


def _has_reasoning(response: ChatResponse) -> bool:
    """Whether the provider reports reasoning beside the text."""
    return bool(response.reasoning_content or response.usage.reasoning_tokens)


def _facts(request: ChatRequest, response: ChatResponse) -> dict[str, Any]:
    return {
        "model": request.model,
        "provider": ModelId.provider_of(request.model),
        "stop_reason": response.stop_reason.value,
        "raw_stop_reason": response.raw_stop_reason,
        "latency_s": response.latency_s,
        "request_id": response.request_id,
        "usage": response.usage,
        "max_tokens": request.max_tokens,
    }


def _with_details(response: ChatResponse, found: CallFailed) -> CallFailed:
    """The failure with the refusal of the response, and with content of other kinds in place of text."""
    details = [found.detail]
    if response.refusal:
        details.append(f"the provider says: {excerpt_of(response.refusal)}")
    if found.is_empty and response.unread:
        details.append(f"no text came, but content of other kinds: {excerpt_of(', '.join(response.unread))}")
    return attrs.evolve(found, detail="; ".join(filter(None, details)))
