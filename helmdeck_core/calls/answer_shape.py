"""Holds an answer against what was asked for, so that a turn knows what is missing."""

from __future__ import annotations

from typing import Any

import attrs

from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.continuation import Shape
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.domain.tool_calls import ToolCalls
from helmdeck_core.reading.diagnosis import is_blank_loop, loop_of
from helmdeck_core.resolve.runtime import Runtime


@attrs.frozen
class AnswerShapeCheck:
    """Judges answers to one request by the reasoning tags, decode steps and tool-call formats of the plugins.

    :ivar type: what the answer is decoded into; ``None`` for plain text.
    """

    runtime: Runtime
    request: ChatRequest
    type: Any = None

    def visible(self, text: str) -> str:
        """The text without reasoning; empty where a block of reasoning never ended."""
        stripped = self.runtime.decoder.strip(text)
        return "" if stripped.is_unclosed else (stripped.text if stripped.found else text)

    def shape(self, text: str) -> Shape:
        """What a text is, held against the type that was asked for."""
        if self.type is None:
            return Shape.TEXT
        try:
            self.runtime.decoder.decode(text, self.type)
        except DecodeFailed as exc:
            return Shape.CUT if exc.sub_cause == "cut" else Shape.BROKEN
        return Shape.WHOLE

    def is_loop(self, text: str) -> bool:
        """Whether a text ends over and over: in blanks, or, where it is to have a form, in any other token."""
        has_form = self.type is not None or self.request.response_format is not None
        return bool(loop_of(text)) if has_form else is_blank_loop(text)

    def tool_calls(self, response: ChatResponse) -> ToolCalls | None:
        """The calls of an answer, native or written as text; ``None`` where no tools were offered and none came."""
        if not (self.request.tools or response.tool_calls):
            return None
        tools = self.request.tools or None
        return self.runtime.tool_calls.judge(response, tools=tools, model=self.request.model)
