"""Calls the model again when its response to the result of a tool is empty.

The core accepts such a response, because a model may have nothing to add. For an agent it is the silent end of its run, and far
more often a failure. The second call has a message of the user at the end, so that an empty response to it is a failure and is
recovered from. If every model returns an empty response, the first one is passed on.
"""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_core import ChatRequest, ChatResponse, Message, Role, TextPart, Usage

NUDGE: Final = "Continue: call the next tool, or write the answer if there is nothing left to do."
"""The message that the second request has in addition; no client sees it."""


def is_silent(request: ChatRequest, response: ChatResponse) -> bool:
    """Whether a response leaves the result of a tool without an answer."""
    has_content = response.text.strip() or response.tool_calls or response.refusal
    return not has_content and request.messages[-1].role is Role.TOOL


def nudged(request: ChatRequest) -> ChatRequest:
    """Return the second request."""
    return attrs.evolve(request, messages=(*request.messages, Message(Role.USER, (TextPart(NUDGE),))))


def with_usage(response: ChatResponse, earlier: Usage) -> ChatResponse:
    """Return a response whose token usage includes that of the empty one."""
    return attrs.evolve(response, usage=response.usage + earlier)
