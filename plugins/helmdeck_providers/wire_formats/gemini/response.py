"""Reads responses of Gemini's generateContent; whole responses and stream events have the same shape.

Gemini has no stop reason for tool calls, and a blocked prompt is a response without candidates. A call in the response
is valid only with a matching stop reason, since rejected calls are included as well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from helmdeck_core import ChatDelta, ChatResponse, Usage
from helmdeck_providers.http.bodies import count, decode_json, native_word, rows, string, table
from helmdeck_providers.http.response_reader import ReaderContext, ResponseReader
from helmdeck_providers.wire_formats.gemini.request import OPAQUE

_FIELDS = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>[0-9]{1,6})\]|\['(?P<quoted>[^']*)'\]")
_PLAIN_PARTS = ({"text"}, {"text", "thought"})
_TEXT_FIELDS = {"text", "thought", "thoughtSignature"}


class _Part(msgspec.Struct, rename={"is_reasoning": "thought"}, forbid_unknown_fields=True, gc=False):
    text: str
    is_reasoning: bool | msgspec.UnsetType = msgspec.UNSET


class _Content(msgspec.Struct, gc=False):
    parts: tuple[_Part]


class _Candidate(msgspec.Struct, rename="camel", gc=False):
    content: _Content
    index: Literal[0] = 0
    finish_reason: None = None
    finish_message: None = None
    continuation_token: None = None


class _Chunk(msgspec.Struct, rename="camel", gc=False):
    """An event with text or reasoning only."""

    candidates: tuple[_Candidate]
    prompt_feedback: None = None
    usage_metadata: dict[str, Any] | None = None
    model_version: str = ""
    response_id: str = ""
    error: None = None
    object: None = None


class GeminiAnswer(ResponseReader):
    """A response of generateContent."""

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = msgspec.json.Decoder(_Chunk)

    def __init__(self, context: ReaderContext) -> None:
        super().__init__(context)
        self._parts: list[tuple[dict[str, Any], list[str]]] = []
        self._usage: dict[str, Any] = {}
        self._token: object = None
        self._blocked: str | None = None
        self._growing_text: tuple[object, list[str]] | None = None
        self._growing: tuple[dict[str, Any], dict[str, Any], object] | None = None

    def feed_fast(self, chunk: _Chunk) -> Sequence[ChatDelta] | None:
        """Read an event with text or reasoning only."""
        self._read_metadata(chunk.model_version, chunk.response_id, chunk.usage_metadata)
        (part,) = chunk.candidates[0].content.parts
        text, flag = part.text, part.is_reasoning
        if self._growing_text is not None and self._growing_text[0] is flag:
            self._growing_text[1].append(text)
        else:
            self._keep({"text": text} if flag is msgspec.UNSET else {"text": text, "thought": flag})
        return self._add_reasoning(text) if flag else self._add_text(text)

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one decoded event and yield the deltas it adds."""
        self._raise_error(event)
        if isinstance(event, list):  # without server-sent events a stream is one list
            for item in event:
                if not isinstance(item, list):
                    yield from self.feed(item)
            return
        if not isinstance(event, dict) or not any(name in event for name in _FIELDS):
            raise self._wrong_format(event, "Gemini's")
        self._read_metadata(
            string(event.get("modelVersion")), string(event.get("responseId")), event.get("usageMetadata")
        )
        feedback = table(event.get("promptFeedback"))
        self._blocked = native_word(feedback.get("blockReason")) or self._blocked
        self._refusal = string(feedback.get("blockReasonMessage")) or self._refusal
        for candidate in rows(event.get("candidates")):
            if candidate.get("index") in (
                None,
                0,
            ):  # more candidates come only if the caller requests them in ``extra``
                yield from self._candidate(candidate)

    @property
    def may_be_done(self) -> bool:
        """Whether the stop reason arrived: the last event has it, but earlier ones may have it too."""
        return self._raw is not None

    def finish(self) -> ChatResponse:
        """Return the complete response."""
        if self._raw is None and self._blocked is not None:
            self._raw = f"promptFeedback:{self._blocked}"
        self._is_truncated = self._is_truncated or self._growing is not None
        return super().finish()

    def usage(self) -> Usage:
        """Token usage reported so far."""
        thoughts = count(self._usage, "thoughtsTokenCount")
        return Usage(
            input_tokens=count(self._usage, "promptTokenCount") + count(self._usage, "toolUsePromptTokenCount"),
            output_tokens=count(self._usage, "candidatesTokenCount") + thoughts,
            cached_input_tokens=count(self._usage, "cachedContentTokenCount"),
            reasoning_tokens=thoughts,
        )

    def opaque(self) -> Mapping[str, Any]:
        """Parts to send back unchanged with this turn."""
        kept: dict[str, Any] = {"continuationToken": self._token} if self._token else {}
        if not all(_is_plain(part) for part, _ in self._parts):
            kept["parts"] = [{**part, "text": "".join(texts)} if texts else part for part, texts in self._parts]
        return {OPAQUE: kept} if kept else {}

    def _read_metadata(self, model: str, response_id: str, usage: object) -> None:
        self._model = model or self._model
        self._seed = self._seed or response_id
        if usage:  # running totals; some chunks have none, or only some of the counters
            self._usage |= {name: value for name, value in table(usage).items() if value is not None}

    def _candidate(self, candidate: Mapping[str, Any]) -> Iterator[ChatDelta]:
        for part in rows(table(candidate.get("content")).get("parts")):
            yield from self._part(part)
        self._raw = native_word(candidate.get("finishReason")) or self._raw
        self._refusal = string(candidate.get("finishMessage")) or self._refusal
        self._token = candidate.get("continuationToken") or self._token

    def _part(self, part: dict[str, Any]) -> Iterable[ChatDelta]:
        call = part.get("functionCall")
        if isinstance(call, dict):
            return self._function_call(part, call)
        self._keep(part)
        if "text" not in part:
            for kind in sorted(part.keys() - _TEXT_FIELDS):
                self._note_unread(kind)
        text = string(part.get("text"))
        return self._add_reasoning(text) if part.get("thought") is True else self._add_text(text)

    def _keep(self, part: dict[str, Any]) -> None:
        """Keep a part to send it back; consecutive text parts without signatures are joined."""
        texts = [part["text"]] if isinstance(part.get("text"), str) else []
        if texts and part.keys() in _PLAIN_PARTS:
            thought = part.get("thought", msgspec.UNSET)
            if self._growing_text is not None and self._growing_text[0] is thought:
                self._growing_text[1].extend(texts)
                return
            self._growing_text = (thought, texts)
        elif part:
            self._growing_text = None
        if part:
            self._parts.append((part, texts))

    # -- calls ------------------------------------------------------------------------------------------------

    def _function_call(self, part: dict[str, Any], call: dict[str, Any]) -> Iterator[ChatDelta]:
        """Read a call or a chunk of one: Vertex can stream the arguments by JSON path."""
        name = string(call.get("name"))
        if name:
            # A call that another one interrupts never gets its end, so it is truncated.
            self._is_truncated = self._is_truncated or self._growing is not None
            written = call.get("args")
            # Some proxies send JSON instead of an object.
            args = dict(table(decode_json(written.encode(errors="replace")) if isinstance(written, str) else written))
            whole = {key: value for key, value in call.items() if key not in ("partialArgs", "willContinue")}
            self._growing = ({**part, "functionCall": {**whole, "args": args}}, args, written)
        if self._growing is None:
            self._note_lost_arguments(call.get("args") or call.get("partialArgs"))
            return
        part, args, written = self._growing
        for chunk in rows(call.get("partialArgs")):
            _put(args, chunk)
        if call.get("willContinue") is not True:
            self._growing = None
            self._keep(part)
            whole = part["functionCall"]
            yield from self._add_call(string(whole.get("id")), string(whole.get("name")), args or written)


def _is_plain(part: Mapping[str, Any]) -> bool:
    """Whether text and calls represent the part completely."""
    call = part.get("functionCall")
    return part.keys() == {"text"} or (part.keys() == {"functionCall"} and isinstance(call, dict) and "id" not in call)


def _put(args: dict[str, Any], chunk: Mapping[str, Any]) -> None:
    """Set a chunk of the arguments at its JSON path; a string is appended to a string."""
    path = string(chunk.get("jsonPath"))
    steps: list[str | int] = [
        int(match["index"]) if match["index"] else match["name"] or match["quoted"] or ""
        for match in _STEP.finditer(path)
    ]
    kind = next((key for key in ("stringValue", "numberValue", "boolValue", "nullValue") if key in chunk), None)
    if not steps or kind is None:
        return
    holder: Any = args
    for step, following in itertools.pairwise(steps):
        empty: Any = [] if isinstance(following, int) else {}
        holder = _child(holder, step, empty)
    value = None if kind == "nullValue" else chunk[kind]
    last = steps[-1]
    if isinstance(holder, dict) and isinstance(last, str):
        before = holder.get(last)
        holder[last] = before + value if isinstance(before, str) and isinstance(value, str) else value
    elif isinstance(holder, list) and isinstance(last, int):
        if last == len(holder):
            holder.append(value)
        elif last < len(holder):
            before = holder[last]
            holder[last] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _child(holder: Any, step: str | int, empty: Any) -> Any:
    """Return the value at one step of a path, creating it if it is missing."""
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, empty)
    if isinstance(holder, list) and isinstance(step, int):
        if step == len(holder):
            holder.append(empty)
        return holder[step] if step < len(holder) else None
    return None
