"""Stop reasons of OpenAI's chat completions and of the servers in ``presets``: Groq, Mistral, DeepSeek, vLLM and the others."""

from __future__ import annotations

from collections.abc import Mapping

from helmdeck_core import Disposition, StopReason

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "eos": StopReason.END_TURN,  # Together
    "eos_token": StopReason.END_TURN,  # Hugging Face TGI
    "stop_sequence": StopReason.END_TURN,  # Hugging Face TGI
    "end_turn": StopReason.END_TURN,  # xAI, older OpenRouter
    "tool_calls": StopReason.TOOL_CALL,
    "function_call": StopReason.TOOL_CALL,
    "length": StopReason.MAX_TOKENS,
    "model_length": StopReason.CONTEXT_WINDOW_EXCEEDED,  # Mistral
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,  # Z.ai
    "content_filter": StopReason.SAFETY_BLOCKED,
    "sensitive": StopReason.SAFETY_BLOCKED,  # Z.ai
    "abort": StopReason.CANCELLED,  # vLLM
}
"""Left out on purpose, and so ``Unknown``: ``error`` (Mistral, OpenRouter), ``insufficient_system_resource`` (DeepSeek),
``network_error`` (Z.ai), ``load`` (Ollama) and the empty string: none of them means that the turn is complete."""

DISPOSITIONS: Mapping[str, Disposition] = {
    "abort": Disposition.RETRY,  # the server's engine was stopped; a caller that cancels does not wait for a stop reason
    "error": Disposition.RETRY,
    "insufficient_system_resource": Disposition.RETRY,
    "network_error": Disposition.RETRY,
    "load": Disposition.STOP,  # Ollama: the request contained no user message, and nothing was generated
    "unload": Disposition.STOP,
}
