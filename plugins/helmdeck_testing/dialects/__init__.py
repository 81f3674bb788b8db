"""Response formats of several vendors, for ``failing_server`` and the provider contract.

A provider with another format needs one more ``ServerFormat``: data and a few functions.
"""

from __future__ import annotations

from helmdeck_testing.dialects.anthropic import ANTHROPIC
from helmdeck_testing.dialects.base import ScriptedAnswer, ServerFormat, in_chunks, sse
from helmdeck_testing.dialects.gemini import GEMINI
from helmdeck_testing.dialects.ollama import OLLAMA
from helmdeck_testing.dialects.openai import OPENAI_CHAT, OPENAI_RESPONSES

DIALECTS = {each.name: each for each in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OLLAMA)}
"""The built-in formats by name."""

__all__ = [
    "ANTHROPIC",
    "DIALECTS",
    "GEMINI",
    "OLLAMA",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "ScriptedAnswer",
    "ServerFormat",
    "in_chunks",
    "sse",
]
