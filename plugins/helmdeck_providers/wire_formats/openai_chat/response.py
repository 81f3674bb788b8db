"""Reads responses of OpenAI's chat completions and of compatible servers, whole or streamed.

HTTP 200 is not success: an error in the body, in a choice or in a chunk, a body without choices, an HTML page and
truncated JSON are all failures. An unknown stop reason is neither a failure nor a clean end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs
import msgspec

from helmdeck_core import (
    EMPTY,
    ChatDelta,
    ChatResponse,
    Disposition,
    StopReason,
    ToolCallDelta,
    TransientUnknown,
    Usage,
    quoted,
)
from helmdeck_providers.http.bodies import arguments, count, rows, string, table, undelivered, word
from helmdeck_providers.http.failures import ErrorFacts, read_error
from helmdeck_providers.http.partial_tool_call import PartialToolCall
from helmdeck_providers.http.response_reader import ReaderContext, ResponseReader
from helmdeck_providers.http.stop_reason_context import ends_early


class _Delta(msgspec.Struct, gc=False):
    """A text or reasoning delta; a delta with any other content does not decode as this type."""

    content: str | None = None
    audio: None = None
    images: None = None
    executed_tools: None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: None = None
    refusal: None = None
    tool_calls: None = None
    function_call: None = None


_LEGACY_CALL = "function_call"
"""Index of a call in the legacy format from before tools."""


class _Filters(msgspec.Struct, gc=False):
    error: None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    content_filter_results: _Filters | None = None
    index: Literal[0] = 0
    finish_reason: None = None
    native_finish_reason: None = None
    error: None = None
    usage: dict[str, Any] | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: tuple[_Choice]
    id: str | None = None
    model: str | None = None
    error: None = None
    usage: dict[str, Any] | None = None
    x_groq: None = None
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


_OTHER_CONTENT = ("audio", "images", "executed_tools")
"""Message fields besides text: OpenAI's audio, OpenRouter's images, the tools that Groq's compound models executed."""


class ChatAnswer(ResponseReader):
    """A chat completion; a whole response is read as one chunk.

    :param returned_fields: message fields to send back with the turn.
    :param is_final_without_reason: the server sends no stop reason at the end of a complete response.
    """

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = msgspec.json.Decoder(_Chunk)

    def __init__(
        self, context: ReaderContext, *, returned_fields: Sequence[str] = (), is_final_without_reason: bool = False
    ) -> None:
        super().__init__(context)
        self._returned_fields = returned_fields
        self._is_final_without_reason = is_final_without_reason
        self._is_whole = False
        self._has_messages = False
        self._usage: object = None
        self._native_reason: str | None = None
        self._choice_index: int | None = None
        self._is_unfiltered = False
        self._details: list[dict[str, Any]] = []
        self._token_logprobs: list[dict[str, float]] = []
        # The latest call with an index, which some servers use again; ``None`` is the last call.
        self._at: dict[int | str | None, PartialToolCall] = {}
        # ``None`` for an id that several calls have.
        self._of_id: dict[str, PartialToolCall | None] = {}
        self._ids: dict[int | str | None, str] = {}

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read a whole response.

        :raises CallFailed: it is an error, or not a chat completion.
        """
        self._is_whole = self.is_done = True
        yield from self.feed(body)
        self._check_shape(body)

    def feed_fast(self, chunk: _Chunk) -> Sequence[ChatDelta] | None:
        """Read a chunk with text or reasoning only."""
        if self._choice_index:  # there are several choices, and another one is read
            return None
        self._choice_index = 0
        self._model = self._model or chunk.model or ""
        self._seed = self._seed or chunk.id or ""
        (choice,) = chunk.choices
        self._usage = choice.usage or chunk.usage or self._usage
        delta = choice.delta
        # Some servers send the same reasoning in two fields: the first non-empty one counts.
        thought = delta.reasoning_content or delta.reasoning
        if not thought:
            return self._add_text(delta.content or "")
        return (*self._add_reasoning(thought), *self._add_text(delta.content or ""))

    def feed_fast_all(self, chunks: Sequence[_Chunk]) -> Sequence[ChatDelta] | None:
        """Read chunks that all have a text, or all have reasoning, as those in the middle of an answer do."""
        if self._choice_index != 0:
            return None
        messages = [chunk.choices[0].delta for chunk in chunks]
        thoughts = [thought for each in messages if (thought := each.reasoning_content or each.reasoning)]
        texts = [each.content for each in messages if each.content]
        if len(texts) + len(thoughts) != len(chunks) or (texts and thoughts):
            return None
        deltas = self._add_texts(thoughts or texts, is_reasoning=bool(thoughts))
        if deltas is not None:
            for chunk in chunks:
                self._usage = chunk.choices[0].usage or chunk.usage or self._usage
        return deltas

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one decoded chunk and yield the deltas it adds.

        :raises CallFailed: the chunk is an error.
        """
        chunk: dict[str, Any] = event if isinstance(event, dict) else {}
        if not self._model:
            self._model = string(chunk.get("model"))
        self._seed = self._seed or string(chunk.get("id"))
        groq = table(chunk.get("x_groq"))
        self._usage = chunk.get("usage") or groq.get("usage") or self._usage
        failed: object = groq.get("error")  # why Groq stopped a stream early
        if (choice := self._selected(chunk.get("choices"))) is not None:
            yield from self._choice(choice)
            failed = choice.get("error") or failed
        words = self._context.error_rules
        facts = read_error(event, words) or (read_error({"error": failed}, words) if failed else None)
        if facts is not None:
            raise self._make_failure(facts)

    # -- a choice ---------------------------------------------------------------------------------------------

    def _selected(self, choices: object) -> dict[str, Any] | None:
        """Return the choice that is read where several were requested: the first received, the same in every chunk."""
        received = rows(choices)
        if received and self._choice_index is None:
            self._choice_index = min(_index(choice) or 0 for choice in received)
        return next((choice for choice in received if _index(choice) in (None, self._choice_index)), None)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[ChatDelta]:
        # Some servers send both: the whole message again at the end of a stream, or an empty delta next to it.
        first, second = ("message", "delta") if self._is_whole else ("delta", "message")
        message = choice.get(first)
        if not isinstance(message, dict):
            message = table(choice.get(second))
            message = message if self._is_whole else self._undelivered(message)
        self._usage = choice.get("usage") or self._usage  # Moonshot
        self._token_logprobs += _likely_tokens(choice.get("logprobs"))
        # Azure reports here that its filter failed; the response was not filtered.
        self._is_unfiltered |= bool(table(choice.get("content_filter_results")).get("error"))
        for key in ("finish_reason", "native_finish_reason"):
            reason = word(choice.get(key))
            if key == "finish_reason":
                self._raw = reason or (reason if self._raw is None else self._raw)  # the last one that says anything
            else:
                self._native_reason = reason or self._native_reason
        text, thoughts, refusal = self._content(message.get("content"))
        for kind in _OTHER_CONTENT:
            if _holds_anything(message.get(kind)):
                self._note_unread(kind)
        refusal = string(message.get("refusal")) or refusal
        if refusal:
            self._refusal += refusal
            self._is_refused = bool(self._refusal.strip())
        details = message.get("reasoning_details")
        # Some servers send the same reasoning in two fields: the first non-empty one counts.
        candidates = (
            string(message.get("reasoning_content")),
            string(message.get("reasoning")),
            self._reasoning_of(details),
            thoughts,
        )
        yield from self._add_reasoning(next((each for each in candidates if each), ""))
        yield from self._add_text(text)
        calls = message.get("tool_calls")
        for item in calls if isinstance(calls, list) else ():
            if isinstance(item, dict):
                yield from self._tool_call(item)
        # The legacy format. Snowflake sends it empty, llama.cpp's Python server together with the same call in `tool_calls`.
        function = message.get("function_call")
        if isinstance(function, dict) and not calls and (not self._calls or _LEGACY_CALL in self._at):
            yield from self._tool_call({"index": _LEGACY_CALL, "function": function})

    def _undelivered(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what no delta delivered of a message in a stream, which some servers send instead of deltas, or at the end."""
        if not (self._text or self._reasoning or self._calls or self._refusal):
            self._has_messages = True
        if self._has_messages:
            return message
        text, thoughts, refusal = self._content(message.get("content"))
        thoughts = string(message.get("reasoning_content")) or string(message.get("reasoning")) or thoughts
        return {
            "content": undelivered("".join(self._text), text),
            "reasoning": undelivered("".join(self._reasoning), thoughts),
            "refusal": undelivered(self._refusal, string(message.get("refusal")) or refusal),
            "tool_calls": None if self._calls else message.get("tool_calls"),
        }

    def _content(self, content: object) -> tuple[str, str, str]:
        """Return text, reasoning and refusal of a message content: a string or a list of parts."""
        if not isinstance(content, list):
            return string(content), "", ""
        text, thoughts, refusal = [], [], []
        for part in content:
            if isinstance(part, str):
                text.append(part)
            elif isinstance(part, dict):
                kind = part.get("type")
                if kind == "thinking":  # Mistral; its value is a string or again a list of parts
                    thoughts.append(self._content(part.get("thinking"))[0])
                elif kind == "refusal":
                    refusal.append(string(part.get("refusal")))
                elif kind in ("text", "output_text", None):
                    text.append(string(part.get("text")))
                else:
                    self._note_unread(kind)
        return "".join(text), "".join(thoughts), "".join(refusal)

    def _reasoning_of(self, details: object) -> str:
        text = ""
        for item in details if isinstance(details, list) else ():
            if isinstance(item, dict):
                text += string(item.get("text")) or string(item.get("summary"))
                self._keep_detail(item)
        return text

    def _keep_detail(self, item: dict[str, Any]) -> None:
        """Join the chunks of one block, since it is sent back as a whole."""
        last = self._details[-1] if self._details else {}
        if not last or any(last.get(key) != item.get(key) for key in ("type", "index")):
            self._details.append(dict(item))
            return
        for key, value in item.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                last[key] = string(last.get(key)) + value
            elif value is not None:
                last[key] = value

    def _tool_call(self, item: Mapping[str, Any]) -> Iterator[ChatDelta]:
        """Read a call or a chunk of one; a chunk without a function name is never a new call."""
        function, custom = item.get("function"), item.get("custom")
        body, field = (function, "arguments") if isinstance(function, dict) else (custom, "input")
        body = table(body)
        index, call_id, name = item.get("index"), string(item.get("id")), string(body.get("name"))
        index, written = index if isinstance(index, int | str) else None, body.get(field)
        text = written if isinstance(written, str) else "" if written is None else arguments(written)
        call = None if self._is_whole else self._call_of(index, call_id, name, text)
        if call is None and not name:
            self._note_lost_arguments(text)
            if call_id:
                self._ids[index] = call_id  # the name arrives in the next chunk
            return
        if call is None:
            call, delta = self._start_call(call_id or self._ids.pop(index, ""), name)
            self._of_id[call_id] = None if call_id in self._of_id else call
            yield delta
        elif call_id and not call.id:
            call.id = call_id
            yield ChatDelta(tool_call=ToolCallDelta(call.number, id=call_id))
        self._at[None] = self._at[index] = call
        self._of_id.setdefault(call_id, call)
        # Some servers repeat the call at the end.
        is_repeated = (name or _starts_object(text)) and text == call.arguments and (name or not call.is_truncated())
        if not is_repeated:
            yield from self._add_arguments(call, text)

    def _call_of(self, index: int | str | None, call_id: str, name: str, text: str) -> PartialToolCall | None:
        """Return the call that a chunk continues: the one with its id, else the one at its index, else the last one."""
        at_index, of_id = self._at.get(index), self._of_id.get(call_id) if call_id else None
        call = at_index if of_id is None or (at_index is not None and at_index.id == call_id) else of_id
        if name:
            return call if call is not None and self._continues(call, index, call_id, name, text) else None
        if not text:  # a new id alone is that of the next call
            return None if of_id is None and call_id and call is not None and call.id else call
        last = call or self._at.get(None)
        if of_id is not None or last is None or not _starts_object(text) or last.is_truncated():
            return last
        if index is not None and call is not None and call.is_blank():
            return call
        # Some servers number arguments and names differently: arguments do not follow those of a call that has all of them.
        waiting = [each for each in self._calls if each.is_blank()]
        if len(waiting) == 1:
            return waiting[0]
        return last if not waiting and text == last.arguments else None

    def _continues(self, call: PartialToolCall, index: int | str | None, call_id: str, name: str, text: str) -> bool:
        """Whether a chunk with a name belongs to a call; otherwise it is a new one, possibly with the same index or id."""
        if name != call.name or call.is_blank():
            return name == call.name  # the first chunk again, on some servers with another id
        if call_id and call.id not in ("", call_id) and self._of_id.get(call_id) is not call:
            return call.is_truncated() and _starts_object(call.arguments) and not _starts_object(text)
        if text == call.arguments:
            return index is not None or bool(call_id)
        # A grammar may let a model write whitespace after its arguments.
        return not text.strip() or call.is_truncated()

    # -- the end ----------------------------------------------------------------------------------------------

    def usage(self) -> Usage:
        """Token usage reported so far."""
        return _usage(self._usage)

    def opaque(self) -> Mapping[str, Any]:
        """Fields to send back unchanged with this turn."""
        if not self._returned_fields:
            return EMPTY
        fields = {"reasoning_details": self._details, "reasoning_content": self._calls and "".join(self._reasoning)}
        return {name: value for name in self._returned_fields if (value := fields.get(name))}

    def finish(self) -> ChatResponse:
        """Return the complete response; without a stop reason it is ``UNKNOWN``."""
        response, dispose = super().finish(), self._context.dispose
        if self._token_logprobs:
            response = attrs.evolve(response, token_logprobs=tuple(self._token_logprobs))
        if self._is_unfiltered:
            downgrade = "content filter left out: the provider's filter failed, and the response was not filtered"
            response = attrs.evolve(response, downgrades=(*response.downgrades, downgrade))
        reason, native = response.stop_reason, self._native_reason
        if reason is StopReason.MAX_TOKENS and self._context.normalise(native) is StopReason.CONTEXT_WINDOW_EXCEEDED:
            # OpenRouter maps both to ``length``; only the upstream's reason distinguishes a full window from max_tokens.
            reason = StopReason.CONTEXT_WINDOW_EXCEEDED
            return attrs.evolve(
                response, stop_reason=reason, raw_stop_reason=native, disposition=dispose(native, reason)
            )
        if not self._raw and self._is_final_without_reason and self.is_done and self._usage:
            disposition = Disposition.TOOLS if response.tool_calls else Disposition.FINAL
            return attrs.evolve(response, disposition=disposition)
        return response

    def visible(self) -> str:
        """The text without the reasoning that some models write into it."""
        return "".join(self._text).rpartition("</think>")[2]

    def has_ended(self) -> bool:
        """Whether a stream without a stop reason came to its end: some proxies write the end mark after a truncated stream."""
        return self.is_done and (bool(self._usage) or not ends_early("".join(self._text)))

    def has_truncated_call(self) -> bool:
        """Unknown: a custom tool accepts any string."""
        return False

    def _check_shape(self, body: object) -> None:
        choices = body.get("choices") if isinstance(body, dict) else ()
        first = choices[0] if choices and isinstance(choices, list) else None
        if isinstance(first, dict) and isinstance(first.get("message") or {}, dict):
            return
        status = self._context.status
        if isinstance(body, dict) and choices in (None, []):
            facts = read_error(body, self._context.error_rules, is_refusal=True) or ErrorFacts()
            detail = quoted(facts.message, self._context.secrets)
            headline = "the provider's answer has no choices"
            raise TransientUnknown(headline, status=status, sub_cause="no_choices", detail=detail)
        detail = f"found {_shown(body, self._context.secrets)}; check base_url"
        headline = "the provider's answer is not a chat completion"
        raise TransientUnknown(headline, status=status, sub_cause="wrong_shape", detail=detail)


def _shown(body: object, secrets: Iterable[str]) -> str:
    if isinstance(body, dict | list):
        return f"a JSON {'object' if isinstance(body, dict) else 'array'} without its fields"
    return quoted(json.dumps(body), secrets, 120)


def _index(choice: Mapping[str, Any]) -> int | None:
    index = choice.get("index")
    return index if isinstance(index, int) else None


def _starts_object(text: str) -> bool:
    """Whether arguments start in a chunk."""
    return text.lstrip().startswith("{")


def _likely_tokens(logprobs: object) -> list[dict[str, float]]:
    """The likely tokens at each place of the text, with their log-probabilities; invalid values are left out."""
    return [
        {
            string(each.get("token")): float(each["logprob"])
            for each in rows(place.get("top_logprobs"))
            if isinstance(each.get("logprob"), (int, float)) and math.isfinite(each["logprob"])
        }
        for place in rows(table(logprobs).get("content"))
    ]


def _holds_anything(value: object) -> bool:
    """Whether a field is more than an object with empty values, which Snowflake sends."""
    return any(value.values()) if isinstance(value, dict) else bool(value)


def _usage(data: object) -> Usage:
    usage = table(data)
    prompt, completion = (usage.get(f"{side}_tokens_details") for side in ("prompt", "completion"))
    input_tokens, output_tokens = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    reasoning_tokens = count(completion, "reasoning_tokens") or count(usage, "reasoning_tokens")
    if reasoning_tokens and count(usage, "total_tokens") == input_tokens + output_tokens + reasoning_tokens:
        output_tokens += reasoning_tokens  # xAI does not include them in the completion; all others do
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_input_tokens=count(prompt, "cached_tokens")
        or count(usage, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"),
        cache_write_tokens=count(prompt, "cache_write_tokens"),
        reasoning_tokens=reasoning_tokens,
    )
