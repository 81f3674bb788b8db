"""Reads an answer in the form of Gemini's generateContent, whole or event by event: both have the same shape.

Gemini has no stop reason for tool calls, refuses prompts with an answer that has no candidates, and rejects calls that
stand in the answer all the same: what a call is worth, only the stop reason says.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from helmdeck_core import ChatDelta, ChatResponse, Disposition, StopReason, Usage
from helmdeck_plugins.providers.gemini_request import OPAQUE
from helmdeck_provider_kit import ReaderContext, ResponseReader, count, native_word, rows, string, table

_BLOCKS = (
    "safety",
    "other",
    "blocklist",
    "prohibited_content",
    "image_safety",
    "model_armor",
    "jailbreak",
    "1",
    "2",
    "3",
    "4",
)
"""Why a prompt was refused before anything was generated; there, ``OTHER`` is a verdict and not a mishap."""

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "max_tokens": StopReason.MAX_TOKENS,
    "continuation": StopReason.MAX_TOKENS,  # a cap per request: the rest can be asked for
    "safety": StopReason.SAFETY_BLOCKED,
    "blocklist": StopReason.SAFETY_BLOCKED,
    "prohibited_content": StopReason.SAFETY_BLOCKED,
    "spii": StopReason.SAFETY_BLOCKED,
    "recitation": StopReason.SAFETY_BLOCKED,
    "image_safety": StopReason.SAFETY_BLOCKED,
    "image_prohibited_content": StopReason.SAFETY_BLOCKED,
    "image_recitation": StopReason.SAFETY_BLOCKED,
    "model_armor": StopReason.SAFETY_BLOCKED,
    "escalation": StopReason.SAFETY_BLOCKED,
    # An older Vertex client asks for enums as numbers; from 5 on, the two interfaces count differently.
    "1": StopReason.END_TURN,
    "2": StopReason.MAX_TOKENS,
    "3": StopReason.SAFETY_BLOCKED,
    "4": StopReason.SAFETY_BLOCKED,
    **{f"promptfeedback:{word}": StopReason.SAFETY_BLOCKED for word in _BLOCKS},
}
DISPOSITIONS: Mapping[str, Disposition] = {
    "continuation": Disposition.RESUME,
    "language": Disposition.STOP,  # not a language that the model speaks
    "missing_thought_signature": Disposition.STOP,  # what was sent back lost a signature
    "pup_limited_disabled": Disposition.ACCOUNT,
}
"""Every other word that is ``Unknown``, such as ``MALFORMED_FUNCTION_CALL``, may come out differently the next time."""

_FIELDS = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>[0-9]{1,6})\]|\['(?P<quoted>[^']*)'\]")
_PLAIN = ({"text"}, {"text", "thought"})
_READ = {"text", "thought", "thoughtSignature"}


class _Part(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str
    thought: bool | msgspec.UnsetType = msgspec.UNSET


class _Content(msgspec.Struct, gc=False):
    parts: tuple[_Part]


class _Candidate(msgspec.Struct, rename="camel", gc=False):
    content: _Content
    index: Literal[0] = 0
    finish_reason: None = None
    finish_message: None = None
    continuation_token: None = None


class _Piece(msgspec.Struct, rename="camel", gc=False):
    """A piece of text or reasoning."""

    candidates: tuple[_Candidate]
    prompt_feedback: None = None
    usage_metadata: dict[str, Any] | None = None
    model_version: str = ""
    response_id: str = ""
    error: None = None
    object: None = None


class GeminiAnswer(ResponseReader):
    """An answer of generateContent."""

    usual = msgspec.json.Decoder(_Piece)

    def __init__(self, terms: ReaderContext) -> None:
        super().__init__(terms)
        self._parts: list[tuple[dict[str, Any], list[str]]] = []
        self._usage: dict[str, Any] = {}
        self._token: object = None
        self._blocked: str | None = None
        self._growing_text: tuple[object, list[str]] | None = None
        self._growing: tuple[dict[str, Any], dict[str, Any]] | None = None

    def take_usual(self, piece: _Piece) -> Sequence[ChatDelta] | None:
        """What a piece of text or reasoning adds."""
        self._told(piece.model_version, piece.response_id, piece.usage_metadata)
        (part,) = piece.candidates[0].content.parts
        text, thought = part.text, part.thought
        if self._growing_text is not None and self._growing_text[0] is thought:
            self._growing_text[1].append(text)
        else:
            self._keep({"text": text} if thought is msgspec.UNSET else {"text": text, "thought": thought})
        return self._think(text) if thought else self._say(text)

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event, decoded; give what it adds."""
        self._raise_error(event)
        if isinstance(event, list):  # without server-sent events a stream is one list
            for item in event:
                if not isinstance(item, list):
                    yield from self.feed(item)
            return
        if not isinstance(event, dict) or not any(name in event for name in _FIELDS):
            raise self._alien(event, "Gemini's")
        self._told(string(event.get("modelVersion")), string(event.get("responseId")), event.get("usageMetadata"))
        feedback = table(event.get("promptFeedback"))
        self._blocked = native_word(feedback.get("blockReason")) or self._blocked
        self._refusal = string(feedback.get("blockReasonMessage")) or self._refusal
        for candidate in rows(event.get("candidates")):
            if candidate.get("index") in (None, 0):  # others are asked for only by hand
                yield from self._candidate(candidate)

    def finish(self) -> ChatResponse:
        """The response that everything comes to."""
        if self._raw is None and self._blocked is not None:
            self._raw = f"promptFeedback:{self._blocked}"
        self._is_cut = self._is_cut or self._growing is not None
        return super().finish()

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        thoughts = count(self._usage, "thoughtsTokenCount")
        return Usage(
            input_tokens=count(self._usage, "promptTokenCount") + count(self._usage, "toolUsePromptTokenCount"),
            output_tokens=count(self._usage, "candidatesTokenCount") + thoughts,
            cached_input_tokens=count(self._usage, "cachedContentTokenCount"),
            reasoning_tokens=thoughts,
        )

    def opaque(self) -> Mapping[str, Any]:
        """What has to go back unchanged with this turn."""
        kept: dict[str, Any] = {"continuationToken": self._token} if self._token else {}
        if not all(_is_plain(part) for part, _ in self._parts):
            kept["parts"] = [{**part, "text": "".join(texts)} if texts else part for part, texts in self._parts]
        return {OPAQUE: kept} if kept else {}

    def _told(self, model: str, response_id: str, usage: object) -> None:
        self._model = model or self._model
        self._seed = self._seed or response_id
        if usage:  # totals so far; some chunks tell none or not all
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
            for kind in sorted(part.keys() - _READ):
                self._pass_over(kind)
        text = string(part.get("text"))
        return self._think(text) if part.get("thought") is True else self._say(text)

    def _keep(self, part: dict[str, Any]) -> None:
        """Keep a part to send it back; pieces of a text without signatures become one."""
        texts = [part["text"]] if isinstance(part.get("text"), str) else []
        if texts and part.keys() in _PLAIN:
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
        """A call, whole or as the next piece of one: Vertex can send the arguments place by place."""
        name = string(call.get("name"))
        if name:
            # Nothing is said about a call that another one interrupts, so it is cut.
            self._is_cut = self._is_cut or self._growing is not None
            args = dict(table(call.get("args")))
            whole = {key: value for key, value in call.items() if key not in ("partialArgs", "willContinue")}
            self._growing = ({**part, "functionCall": {**whole, "args": args}}, args)
        if self._growing is None:
            return
        part, args = self._growing
        for piece in rows(call.get("partialArgs")):
            _put(args, piece)
        if call.get("willContinue") is not True:
            self._growing = None
            self._keep(part)
            whole = part["functionCall"]
            given = args if args or isinstance(whole.get("args"), dict) else {}
            yield from self._call_at_once(string(whole.get("id")), string(whole.get("name")), given)


def _is_plain(part: Mapping[str, Any]) -> bool:
    """Whether text and calls say everything about a part."""
    call = part.get("functionCall")
    return part.keys() == {"text"} or (part.keys() == {"functionCall"} and isinstance(call, dict) and "id" not in call)


def _put(args: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Put a piece of the arguments where its path says; a text goes on where one stands."""
    path = string(piece.get("jsonPath"))
    steps: list[str | int] = [
        int(match["index"]) if match["index"] else match["name"] or match["quoted"] or ""
        for match in _STEP.finditer(path)
    ]
    kind = next((key for key in ("stringValue", "numberValue", "boolValue", "nullValue") if key in piece), None)
    if not steps or kind is None:
        return
    holder: Any = args
    for step, following in itertools.pairwise(steps):
        fresh: Any = [] if isinstance(following, int) else {}
        holder = _entered(holder, step, fresh)
    value = None if kind == "nullValue" else piece[kind]
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


def _entered(holder: Any, step: str | int, fresh: Any) -> Any:
    """What stands at one step of a path; made where there is nothing yet."""
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, fresh)
    if isinstance(holder, list) and isinstance(step, int):
        if step == len(holder):
            holder.append(fresh)
        return holder[step] if step < len(holder) else None
    return None
