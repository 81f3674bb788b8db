"""Questions of ``Helmdeck.ask``: the prompt, the JSON Schema of the type, and how bare values are read."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypedDict

import attrs
import msgspec

from helmdeck_core.calls.parsed import decode_parsed
from helmdeck_core.deck.arguments import check_type
from helmdeck_core.domain.answer_types import AnswerFormat, AnswerType
from helmdeck_core.domain.chat import ChatRequest, Message, Role, TextPart
from helmdeck_core.domain.chat_input import ChatInput, ChatInputReader, ImageInput
from helmdeck_core.domain.decode import Decoded, DecodeFailed
from helmdeck_core.domain.questions import SALVAGE, Question
from helmdeck_core.domain.recovery_actions import CallLimits
from helmdeck_core.encoding import undecodable_text
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_core.suggestions import did_you_mean

TASK = "ask"

MAX_TYPES = 64
"""Types whose formats a deck remembers."""


class AskOptions(TypedDict, total=False):
    """The options of ``Helmdeck.ask``.

    :ivar system: instructions, before those of the conversation.
    :ivar images: paths, bytes, URLs or ``ImagePart`` objects; they follow the text of the question.
    :ivar model: ``provider/model``; the deck's model when left out.
    :ivar caller: the caller, for events and traces.
    :ivar limits: attempts, seconds and cost of the call; the configuration's limits apply to the rest.
    :ivar streams: receive a text in chunks, so that the timeouts are those of streams; for models that write slowly.
    :ivar partial: return a text that stays truncated as an answer with ``incomplete`` set, instead of raising its failure.

    >>> from helmdeck_core import AskOptions
    >>> options: AskOptions = {"system": "Answer briefly.", "temperature": 0.0}
    """

    system: str
    images: ImageInput | Iterable[ImageInput]
    model: str | None
    temperature: float | None
    caller: str
    limits: CallLimits
    streams: bool
    partial: bool


def format_of(runtime: Runtime, type: Any) -> AnswerFormat[Any]:
    """Return the format of a type.

    :raises TypeError: no plugin supports it; the message lists the supported types.
    """
    kinds = runtime.contributions.values_of(AnswerType)
    for kind in kinds:
        if (found := kind.format_of(type)) is not None:
            return found
    supported = "; ".join(("str", *(kind.description for kind in kinds)))
    raise TypeError(f"an answer cannot have the type {type!r}; supported: {supported}")


def decodable(runtime: Runtime, type: Any) -> tuple[Any, Callable[[Any], Any] | None]:
    """Return the type that the decoder reads for a type, and how its value is parsed; ``None`` if it needs no parsing.

    :raises TypeError: no plugin supports the type.
    """
    answer = format_of(runtime, type)
    parse = answer.parse
    if not answer.wraps or parse is None:
        return answer.decode_as, parse
    if answer.bare is not None:
        return answer.bare, None
    if type is list or typing.get_origin(type) is list:
        return list, lambda value: parse({"value": value})
    raise TypeError(f"{type!r} is neither an object nor a list, and cannot be decoded from an answer; `ask` accepts it")


def cached_decodable(runtime: Runtime) -> Callable[[Any], tuple[Any, Callable[[Any], Any] | None]]:
    """Return ``decodable`` of a runtime with a cache of the last types."""
    cached = functools.lru_cache(MAX_TYPES)(functools.partial(decodable, runtime))

    def look_up(type: Any) -> tuple[Any, Callable[[Any], Any] | None]:
        try:
            hash(type)
        except TypeError:  # such as a JSON Schema
            return decodable(runtime, type)
        return cached(type)

    return look_up


def make_request(runtime: Runtime, request: ChatRequest | ChatInput, options: AskOptions) -> ChatRequest:
    """Return the request for a string, a conversation, or a request.

    :raises TypeError: a part of the request or an image is of the wrong type, or an option is unknown.
    :raises ValueError: a part has an unsupported value, or a text is undecodable input.
    """
    known = AskOptions.__annotations__
    if unknown := next((name for name in options if name not in known), None):
        hint = did_you_mean(unknown, known) or f"; options: {', '.join(known)}"
        raise TypeError(f"there is no option {unknown!r}{hint}")
    system, model, temperature = options.get("system") or "", options.get("model"), options.get("temperature")
    check_type("system", system, str)
    check_type("temperature", 0 if temperature is None else temperature, int, float)
    check_type("model", model or "", str)
    _check_texts([("system", system)])
    if isinstance(request, ChatRequest):
        _check_texts(_texts(request.messages))
        return request if model is None else attrs.evolve(request, model=model)
    reader = next(iter(runtime.contributions.values_of(ChatInputReader)), None)
    if reader is None:
        raise TypeError("no plugin reads chat input; pass a ChatRequest, or enable the plugin chat_input")
    messages = reader.messages(request)
    _check_texts([("the request", request)] if isinstance(request, str) else _texts(messages))
    if images := reader.images(options.get("images") or ()):
        messages = (*messages[:-1], attrs.evolve(messages[-1], parts=(*messages[-1].parts, *images)))
    if system:
        has_own = messages[0].role is Role.SYSTEM
        text = f"{system}\n\n{messages[0].text}" if has_own else system
        messages = (Message(Role.SYSTEM, (TextPart(text),)), *messages[has_own:])
    chosen = runtime.config.model if model is None else model
    return ChatRequest(model=chosen, messages=messages, temperature=temperature)


def _texts(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """The texts of messages and the arguments of their tool calls, each with its place."""
    for at, message in enumerate(messages):
        yield f"messages[{at}]", message.text
        for number, call in enumerate(message.tool_calls):
            yield f"messages[{at}].tool_calls[{number}].arguments", call.arguments


def _check_texts(texts: Iterable[tuple[str, str]]) -> None:
    """Check that texts, each behind its place, can be sent.

    :raises ValueError: a text has surrogates.
    """
    for place, text in texts:
        if problem := undecodable_text(text, place):
            raise ValueError(problem)


def typed_question(runtime: Runtime, request: ChatRequest, type: Any) -> Question[Any]:
    """Return the question for a typed answer to the last message of a request.

    :raises TypeError: the type is not supported.
    """
    answer = format_of(runtime, type)
    *earlier, last = request.messages
    schema = json.dumps(answer.schema, ensure_ascii=False, separators=(",", ":"))
    system = [message.text for message in earlier if message.role is Role.SYSTEM]
    system += [runtime.texts["ask.instructions"], f"{runtime.texts['schema.heading']}\n{schema}"]
    return Question(
        caller=TASK,
        task=TASK,
        type=answer.decode_as,
        request=last.text,
        model=request.model,
        needs_catalog=False,
        parse=answer.parse,
        salvage=functools.partial(_read_bare, runtime, answer) if answer.wraps else None,
        instructions="\n\n".join(filter(None, system)),
        constraint=lambda _: answer.schema,
        messages=tuple(message for message in earlier if message.role is not Role.SYSTEM),
        images=tuple(part for part in last.parts if not isinstance(part, TextPart)),
        temperature=request.temperature,
    )


_FENCED = re.compile(r"\s*+(`{3,}+)[\w+-]*+[ \t\r]*+\n(?P<text>[^`]*)\1\s*+")
"""A text that is nothing but one fence."""


def _bare_json(text: str) -> bytes:
    """The JSON that a text is, or the text as a JSON string."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text, type=msgspec.Raw))
    except (ValueError, RecursionError):
        return msgspec.json.encode(text.strip())


def _read_bare(runtime: Runtime, answer: AnswerFormat[Any], text: str) -> Decoded[Any] | None:
    """The value, which may be null, of an answer that is the bare value instead of an object with it."""
    if undecodable_text(text, "the answer"):
        return None
    decode = runtime.decoder.decode
    fenced = _FENCED.fullmatch(text)
    candidates = [_bare_json(each) for each in ([text, fenced["text"]] if fenced else [text])]
    with contextlib.suppress(DecodeFailed):
        candidates.append(msgspec.json.encode(decode(text, list[msgspec.Raw]).value))
    for candidate in candidates:
        with contextlib.suppress(DecodeFailed):
            decoded = decode_parsed(decode, b'{"value":%b}' % candidate, answer.decode_as, None, answer.parse)
            return Decoded(decoded.value, SALVAGE, (SALVAGE,))
    return None
