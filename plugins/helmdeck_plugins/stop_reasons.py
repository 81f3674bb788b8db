"""How other families of providers say why they stopped, as data.

With these tables a word that a gateway passes on unchanged, or that somebody quotes from a log, still has a meaning. The
adapters' own tables come with the adapters. A word without a sure meaning, such as ``TIMEOUT``, ``failed`` or
``malformed_tool_use``, is left out on purpose: what no table lists is ``Unknown``, and that is the truth about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import StopReason, StopReasonTable, hookimpl

_LATE = 100
"""These tables are asked after the tables of adapters when a word is looked up without a wire format."""

_BEDROCK = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,
    "guardrail_intervened": StopReason.SAFETY_BLOCKED,
    "content_filtered": StopReason.SAFETY_BLOCKED,
    # InvokeModel passes on what the model says: Titan
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
    # version 1 of the interface
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
    """The stop reasons of other families."""
    return [StopReasonTable(name=name, reasons=reasons, order=_LATE) for name, reasons in _TABLES.items()]
