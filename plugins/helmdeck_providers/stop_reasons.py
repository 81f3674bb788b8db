"""Stop reasons of Bedrock, Cohere and xAI's own API, which have no built-in wire format; of all others: ``wire_formats.*.stop_reasons``.

The tables translate stop reasons that a gateway forwards unchanged or that a user copies from a log. Reasons of Groq, Mistral and
other servers with chat completions are in ``wire_formats.openai_chat.stop_reasons``. Ambiguous reasons, such as ``TIMEOUT``, ``failed``
or ``malformed_tool_use``, are left out on purpose: a reason that no table lists is ``Unknown``.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import StopReason, StopReasonTable, hookimpl

_LATE = 100
"""These tables come after those of the wire formats when a reason is looked up without a table name."""

_BEDROCK = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,
    "guardrail_intervened": StopReason.SAFETY_BLOCKED,
    "content_filtered": StopReason.SAFETY_BLOCKED,
    # InvokeModel forwards the reason of the model: Titan
    "finish": StopReason.END_TURN,
    "stop_criteria_met": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    # and Llama
    "stop": StopReason.END_TURN,
}

_COHERE = {
    "complete": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_call": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
    # version 1 of the API
    "error_toxic": StopReason.SAFETY_BLOCKED,
    "error_limit": StopReason.CONTEXT_WINDOW_EXCEEDED,
    "user_cancel": StopReason.CANCELLED,
}

_XAI = {
    "reason_stop": StopReason.END_TURN,
    "reason_tool_calls": StopReason.TOOL_CALL,
    "reason_max_len": StopReason.MAX_TOKENS,
    "reason_max_context": StopReason.CONTEXT_WINDOW_EXCEEDED,
}

_TABLES = {
    "bedrock": _BEDROCK,
    "cohere": _COHERE,
    "xai": _XAI,
}


@hookimpl
def helmdeck_stop_reasons() -> Sequence[StopReasonTable]:
    """Tables of providers without a built-in wire format."""
    return [StopReasonTable(name=name, reasons=reasons, order=_LATE) for name, reasons in _TABLES.items()]
