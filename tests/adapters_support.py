"""Every adapter of the repository, with the keys that it sends and the wire format of its servers."""

from __future__ import annotations

import attrs

import helmdeck_provider_bedrock
import helmdeck_provider_cohere
from contrib_providers.bedrock.tests.test_contract import CONVERSE
from contrib_providers.cohere.tests.test_contract import COHERE
from helmdeck_core import CallLimits, ChatRequest, ChatResponse, Message, Role, TextPart
from helmdeck_testing import ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, ServerFormat

PLUGINS = (helmdeck_provider_bedrock, helmdeck_provider_cohere)
KEY = 'kq7Zr0Wm/4Xc9Tb+2Ld8"Gn5Vf=1Hs&6Jp<3Ya'
"""With everything in it that some form escapes."""
KEYS = {
    "PLANTED": KEY,
    "AWS_ACCESS_KEY_ID": "AKIAQ7ZR0WM4XC9TB2LD",
    "AWS_SECRET_ACCESS_KEY": "gN5Vf1Hs6Jp3Ya/uT8eKd2Lw9Xc4Bm7Qr0Zo5Pi",
    "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEJ3Ya1Hs6uT8eKd2Lw9Xc4Bm7Qr0/+==",
}


@attrs.frozen
class Adapter:
    """A provider, its settings, and what its servers speak."""

    kind: str
    server_format: ServerFormat
    settings: dict = attrs.field(factory=lambda: {"api_key": "env:PLANTED"})


ADAPTERS = {
    "chat": Adapter("openai", OPENAI_CHAT),
    "responses": Adapter("openai-responses", OPENAI_RESPONSES),
    "messages": Adapter("anthropic", ANTHROPIC),
    "gemini": Adapter("gemini", GEMINI),
    "ollama": Adapter("ollama", OLLAMA),
    "bedrock": Adapter("bedrock", CONVERSE, {"options": {"region": "eu-north-1"}}),
    "cohere": Adapter("cohere", COHERE),
}
"""One of each way to read and write."""
PLACES = {
    "azure": Adapter("azure", OPENAI_CHAT),
    "bearer of messages": Adapter("anthropic", ANTHROPIC, {"api_key": "env:PLANTED", "options": {"auth": "bearer"}}),
    "vertex": Adapter("vertex", GEMINI, {"api_key": "env:PLANTED", "options": {"project": "p"}}),
    "bearer of bedrock": Adapter("bedrock", CONVERSE, {"api_key": "env:PLANTED", "options": {"region": "eu-north-1"}}),
}
"""Those that send their key elsewhere."""


def request(model, text="say hello", **fields):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), max_tokens=1000, **fields)


async def ask(deck, model, streams, *, deadline_s=None, **fields):
    """The response, whole or at the end of a stream."""
    limits = CallLimits(deadline_s=deadline_s)
    if not streams:
        return await deck.acomplete(request(model, **fields), limits=limits)
    response = None
    async for item in deck.astream(request(model, **fields), limits=limits):
        response = item if isinstance(item, ChatResponse) else None
        del item  # a test looks at what variables show
    return response
