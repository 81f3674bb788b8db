"""The requests that continue a truncated response: with a hint, or with the response as last message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.chat import ChatRequest, Message, Role, TextPart, ToolCall


def with_hint(request: ChatRequest, so_far: str, hint: str) -> ChatRequest:
    """The conversation with the text so far and a hint; without a format, which would start a new response."""
    messages = [*request.messages]
    if so_far.strip():
        messages.append(Message(Role.ASSISTANT, (TextPart(so_far),)))
    messages.append(Message(Role.USER, (TextPart(hint),)))
    return attrs.evolve(request, messages=tuple(messages), response_format=None)


def with_prefill(
    request: ChatRequest, so_far: str, calls: tuple[ToolCall, ...] = (), opaque: Mapping[str, Any] = EMPTY
) -> ChatRequest:
    """The conversation that ends in the truncated response itself."""
    text = so_far.rstrip()  # some models reject trailing whitespace
    message = Message(Role.ASSISTANT, (TextPart(text),), calls, opaque=opaque)
    return attrs.evolve(request, messages=(*request.messages, message), response_format=None, continues=True)
