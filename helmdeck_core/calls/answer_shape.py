"""Compares a response with the type that was requested, so that a turn can tell what is missing."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import attrs

from helmdeck_core.calls.model_text import is_blank_loop, loop_of, tokens_of
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.continuation import Shape
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.domain.tool_calls import ToolCalls
from helmdeck_core.resolve.runtime import Runtime

_DOCUMENT = re.compile(
    r"\s*+(?:[^\n`{}\[\]]{1,200}:[ \t]*\n\s*+)?(?:(?:`{3}|~{3})(?:json)?[ \t]*\n\s*+)?[\[{]", re.IGNORECASE
)
"""JSON at the start of a text, possibly after a line that introduces it and a fence."""


def reaches_own_limit(runtime: Runtime, request: ChatRequest, response: ChatResponse) -> bool:
    """Whether a text ends at the output limit that the caller set for itself, not at a lower one of the server."""
    most = request.max_tokens
    if not request.keeps_limit or most is None or response.stop_reason is not StopReason.MAX_TOKENS:
        return False
    written = response.usage.output_tokens or tokens_of(response.text)
    return bool(response.text.strip()) and written >= runtime.weights["continuation.own_limit_share"] * most


def _is_document_at(text: str, start: int) -> bool:
    """Whether a complete JSON document starts at an index."""
    try:
        json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    return True


@attrs.frozen
class AnswerShapeCheck:
    """Checks responses to one request with the contributed reasoning tags, decode steps and tool-call formats.

    :ivar type: the type that the response is decoded into; ``None`` for plain text.
    :ivar starts_in_reasoning: the prompt opened a reasoning block.
    :ivar may_start_in_reasoning: see ``Decoder.decode``.
    """

    runtime: Runtime
    request: ChatRequest
    type: Any = None
    starts_in_reasoning: bool = False
    may_start_in_reasoning: bool = False

    def is_complete(self, response: ChatResponse) -> bool:
        """Whether a response needs no further evaluation: plain text that ended by itself, or at the caller's own limit."""
        if self.type is not None or response.tool_calls:
            return False
        is_plain = not self.request.tools and response.stop_reason is StopReason.END_TURN
        return is_plain or reaches_own_limit(self.runtime, self.request, response)

    def visible(self, text: str) -> str:
        """Return the text without reasoning; empty where a reasoning block is not closed."""
        stripped = self.runtime.decoder.strip(text)
        is_unclosed = stripped.is_unclosed or (self.starts_in_reasoning and not stripped.found)
        return "" if is_unclosed else (stripped.text if stripped.found else text)

    def shape(self, text: str) -> Shape:
        """Return how a text relates to the requested type."""
        if self.type is None:
            return Shape.TEXT
        try:
            self.runtime.decoder.decode(text, self.type, may_start_in_reasoning=self.may_start_in_reasoning)
        except DecodeFailed as exc:
            return Shape.CUT if exc.sub_cause == "cut" else Shape.BROKEN
        return Shape.WHOLE

    def document_shape(self, text: str) -> Shape:
        """Return how complete the JSON document is that a plain text starts with; ``TEXT`` for any other text."""
        visible = self.visible(text) if self.type is None else ""
        start = _DOCUMENT.match(visible)
        if start is None:
            return Shape.TEXT
        if _is_document_at(visible, start.end() - 1):
            return Shape.WHOLE  # text may follow it
        try:
            self.runtime.decoder.decode(visible, cast(type[object], Any))
        except DecodeFailed as exc:
            return Shape.CUT if exc.sub_cause == "cut" else Shape.BROKEN
        return Shape.WHOLE

    def is_loop(self, text: str) -> bool:
        """Whether a text ends in a loop: of whitespace, or, for a structured response, of any token."""
        is_structured = self.type is not None or self.request.response_format is not None
        return bool(loop_of(text)) if is_structured else is_blank_loop(text)

    def tool_calls(self, response: ChatResponse) -> ToolCalls | None:
        """Return the calls of a response, native or as text; ``None`` where no tools were offered and none were called."""
        if not (self.request.tools or response.tool_calls):
            return None
        tools = self.request.tools or None
        return self.runtime.tool_calls.judge(response, tools=tools, model=self.request.model)
