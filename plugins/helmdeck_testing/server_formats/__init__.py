"""How servers of several families write the same answer, for ``failing_server`` and the provider contract.

A server format is data and a few functions; for a provider of another family, write one more ``ServerFormat``.
"""

from __future__ import annotations

from helmdeck_testing.server_formats.anthropic import ANTHROPIC
from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat, in_chunks, sse
from helmdeck_testing.server_formats.gemini import GEMINI
from helmdeck_testing.server_formats.ollama import OLLAMA
from helmdeck_testing.server_formats.openai import OPENAI_CHAT, OPENAI_RESPONSES

SERVER_FORMATS = {each.name: each for each in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OLLAMA)}
"""The built-in server formats, by name."""

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OLLAMA",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "SERVER_FORMATS",
    "ScriptedAnswer",
    "ServerFormat",
    "in_chunks",
    "sse",
]
