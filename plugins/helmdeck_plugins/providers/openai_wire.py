"""Reads an answer in the form of OpenAI's chat completions, from OpenAI and from everybody who speaks like it.

HTTP 200 is not success here: an error in the body or in a choice, a body without choices, a page of HTML and half a
document of JSON all fail. An unknown stop reason never does, and is never taken for a clean end either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs
import msgspec

from helmdeck_core import (
    CallFailed,
    ChatResponse,
    InvalidRequest,
    ProviderUnavailable,
    StopReason,
    ToolCall,
    TransientUnknown,
    Usage,
)
from helmdeck_plugins.providers.endings import in_context
from helmdeck_plugins.providers.failures import (
    MAX_EXCERPT_CHARS,
    ErrorFacts,
    echoed,
    failure_of,
    plain_text,
    quoted,
    read_error,
)

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "eos": StopReason.END_TURN,  # Together
    "eos_token": StopReason.END_TURN,  # Hugging Face TGI
    "stop_sequence": StopReason.END_TURN,  # Hugging Face TGI
    "end_turn": StopReason.END_TURN,  # xAI, older OpenRouter
    "tool_calls": StopReason.TOOL_CALL,
    "function_call": StopReason.TOOL_CALL,
    "length": StopReason.MAX_TOKENS,
    "model_length": StopReason.CONTEXT_WINDOW_EXCEEDED,  # Mistral
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,  # Z.ai
    "content_filter": StopReason.SAFETY_BLOCKED,
    "sensitive": StopReason.SAFETY_BLOCKED,  # Z.ai
    "abort": StopReason.CANCELLED,  # vLLM
}
"""The dialect. Left out on purpose, and so unknown: ``error`` (Mistral, OpenRouter), ``insufficient_system_resource``
(DeepSeek), ``network_error`` (Z.ai), ``load`` (Ollama) and the empty word: none of them says that the turn is complete."""

_NOT_JSON = object()

_QUOTA_HEADERS = ("x-ratelimit-", "ratelimit-", "anthropic-ratelimit-", "retry-after", "x-ms-is-spilled-over")


class _Message(msgspec.Struct, frozen=True):
    """The parts of a message; those that servers spell differently are looked at one by one."""

    content: Any = None
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message | None = None
    finish_reason: Any = None
    native_finish_reason: Any = None
    error: Any = None


class _Completion(msgspec.Struct, frozen=True):
    choices: list[_Choice] | None = None
    model: Any = None
    usage: Any = None


@attrs.frozen
class _Spoken:
    """What a message says, sorted by what it is."""

    text: str
    reasoning: str
    is_refused: bool
    tool_calls: tuple[ToolCall, ...]


def look_up(raw: str | None) -> StopReason:
    """Look a native word up in the built-in table."""
    return REASONS.get((raw or "").strip().casefold(), StopReason.UNKNOWN)


def parse_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    normalise: Callable[[str | None], StopReason] = look_up,
    max_tokens: int | None = None,
    secrets: Iterable[str] = (),
) -> ChatResponse:
    """Read what came back.

    :param normalise: native stop reason to ours.
    :param max_tokens: the output limit that was asked for; with it, a truncation that calls itself ``stop`` is seen.
    :param secrets: what must not be quoted from an error.
    :raises CallFailed: the subclass of the cause, for every answer that is not a completion.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    secrets = tuple(secrets)
    if 300 <= status < 400:
        raise _redirected(status, headers, secrets)
    data = _decoded(body)
    if status >= 400:
        refusal = read_error(data, is_refusal=True) or ErrorFacts()
        refusal = refusal if refusal.message else attrs.evolve(refusal, message=plain_text(body, secrets))
        raise failure_of(status, headers, refusal, secrets=secrets)
    if data is _NOT_JSON:
        raise _not_json(status, headers, body, secrets)
    facts = read_error(data)
    completion = _completion(status, data, body, secrets, has_error=facts is not None)
    choices = completion.choices or []
    failed = next((choice for choice in choices if choice.error), None)
    if failed and facts is None:
        facts = read_error({"error": failed.error})
    if facts is not None:
        failure = failure_of(status, headers, facts, secrets=secrets)
        raise _with_partial(failure, failed or next(iter(choices), None), normalise, secrets)
    if not choices:
        raise TransientUnknown("the provider's answer has no choices", status=status, sub_cause="no_choices")
    return _response(completion, choices[0], headers, normalise, max_tokens, secrets)


def _response(
    completion: _Completion,
    choice: _Choice,
    headers: Mapping[str, str],
    normalise: Callable[[str | None], StopReason],
    max_tokens: int | None,
    secrets: Iterable[str],
) -> ChatResponse:
    spoken = _spoken(choice.message or _Message())
    usage = _usage(completion.usage)
    raw = _word(choice.finish_reason)
    strict = normalise(raw)
    meant = in_context(
        strict,
        text=spoken.text,
        tool_calls=spoken.tool_calls,
        is_refused=spoken.is_refused,
        is_at_limit=max_tokens is not None and usage.output_tokens >= max_tokens,
    )
    native = _word(choice.native_finish_reason)
    if meant is StopReason.MAX_TOKENS and normalise(native) is StopReason.CONTEXT_WINDOW_EXCEEDED:
        # OpenRouter says ``length`` for both; only the upstream's own word tells a full window from a spent budget.
        meant, raw = StopReason.CONTEXT_WINDOW_EXCEEDED, native
    return ChatResponse(
        text=spoken.text,
        stop_reason=meant,
        raw_stop_reason=raw if raw is None else echoed(raw, secrets),
        strict_stop_reason=strict,
        tool_calls=spoken.tool_calls,
        usage=usage,
        reasoning=spoken.reasoning,
        served_model=echoed(_string(completion.model), secrets),
        quota={name: echoed(value, secrets) for name, value in headers.items() if name.startswith(_QUOTA_HEADERS)},
    )


# -- answers that are none ------------------------------------------------------------------------------------


def _decoded(body: bytes) -> Any:
    """The decoded body, or ``_NOT_JSON``."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # Some servers write NaN for a log probability; models write half a surrogate pair, or a part of a character's
        # bytes. The rest is still good.
        return _mended(json.loads(body.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return _NOT_JSON


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_mended(item) for item in value]
    return {_mended(key): _mended(item) for key, item in value.items()} if isinstance(value, dict) else value


def _completion(status: int, data: Any, body: bytes, secrets: Iterable[str], *, has_error: bool) -> _Completion:
    try:
        return msgspec.convert(data, _Completion)
    except msgspec.ValidationError as exc:
        if has_error:  # the error is the news, whatever stands around it
            return _Completion()
        detail = quoted(str(exc), secrets)
        if not isinstance(data, dict | list):
            value = quoted(plain_text(body, secrets), secrets, 120)
            detail = f"it is JSON, but no more than {value}; is base_url right"
        raise TransientUnknown(
            "the provider's answer is not a chat completion", status=status, sub_cause="wrong_shape", detail=detail
        ) from exc


def _redirected(status: int, headers: Mapping[str, str], secrets: Iterable[str]) -> CallFailed:
    target = quoted(_place(headers.get("location", "")), secrets)
    if target:
        detail = f"redirects are not followed; it points to {target}; correct base_url"
        return InvalidRequest("the provider answered with a redirect", status=status, detail=detail)
    headline = "the provider answered with neither a completion nor an error"
    detail = "it names no address that one could go to, and nothing else that could be used; is base_url right"
    return InvalidRequest(headline, status=status, detail=detail)


def _place(location: str) -> str:
    """An address without what may be secret in it."""
    try:
        place = urlsplit(location)
        return f"{place.scheme}://{place.hostname or ''}{place.path}" if place.scheme else place.path
    except ValueError:  # brackets that do not fit
        return ""


def _not_json(status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str]) -> CallFailed:
    if body.lstrip()[:1] in (b"{", b"["):
        cause, problem = "cut_body", "the JSON breaks off or is damaged"
    elif body.strip():
        cause, problem = "not_json", f"it says {quoted(plain_text(body, secrets), secrets, 120)!r}; is base_url right"
    else:
        cause, problem = "empty_body", "it is empty"
    kind = headers.get("content-type", "no content type")
    detail = f"{problem} ({len(body):,} bytes, {quoted(kind, secrets, 60)})"
    return ProviderUnavailable("the provider's answer is not JSON", status=status, sub_cause=cause, detail=detail)


def _with_partial(
    failure: CallFailed,
    choice: _Choice | None,
    normalise: Callable[[str | None], StopReason],
    secrets: Iterable[str],
) -> CallFailed:
    """Add what was generated before the error came."""
    text = _spoken(choice.message or _Message()).text if choice else ""
    raw = _word(choice.finish_reason) if choice else None
    return attrs.evolve(
        failure,
        stop_reason=normalise(raw).value,
        raw_stop_reason=raw if raw is None else echoed(raw, secrets),
        raw_length=len(text.encode()),
        excerpt=failure.excerpt or quoted(text, secrets, MAX_EXCERPT_CHARS),
    )


# -- the parts of an answer -----------------------------------------------------------------------------------


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _spoken(message: _Message) -> _Spoken:
    text, thoughts, refusal = _content(message.content)
    details = message.reasoning_details if isinstance(message.reasoning_details, list) else []
    # OpenRouter sends the same reasoning twice, in two fields: the first that holds any counts.
    ways = (
        _string(message.reasoning_content),
        _string(message.reasoning),
        "".join(_detail(item) for item in details),
        thoughts,
    )
    return _Spoken(
        text=text,
        reasoning=next((way for way in ways if way), ""),
        is_refused=bool(_string(message.refusal).strip() or refusal.strip()),
        tool_calls=_tool_calls(message),
    )


def _content(content: object) -> tuple[str, str, str]:
    """Text, reasoning and refusal of a content, which is a string or a list of parts."""
    if not isinstance(content, list):
        return _string(content), "", ""
    text, thoughts, refusal = [], [], []
    for part in content:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            kind = part.get("type")
            if kind == "thinking":  # Mistral; its value is a string or again a list of parts
                thoughts.append(_content(part.get("thinking"))[0])
            elif kind == "refusal":
                refusal.append(_string(part.get("refusal")))
            elif kind in ("text", "output_text", None):
                text.append(_string(part.get("text")))
    return "".join(text), "".join(thoughts), "".join(refusal)


def _detail(item: object) -> str:
    return (_string(item.get("text")) or _string(item.get("summary"))) if isinstance(item, dict) else ""


def _tool_calls(message: _Message) -> tuple[ToolCall, ...]:
    found = [_tool_call(item) for item in message.tool_calls] if isinstance(message.tool_calls, list) else []
    if message.function_call:  # the form before tools; Snowflake always sends it, empty
        found.append(_tool_call({"function": message.function_call}))
    return tuple(call for call in found if call is not None)


def _tool_call(item: object) -> ToolCall | None:
    """Read one call; one that names no function calls nothing."""
    if not isinstance(item, dict):
        return None
    function, custom = item.get("function"), item.get("custom")
    for named, key in ((function, "arguments"), (custom, "input")):
        if isinstance(named, dict) and (name := _string(named.get("name"))):
            return ToolCall(_string(item.get("id")), name, _arguments(named.get(key)))
    return None


def _arguments(value: object) -> str:
    if value in (None, "", "null"):  # three ways to say that a tool takes none
        return "{}"
    # Some servers send the object itself instead of its text.
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _usage(usage: object) -> Usage:
    usage = usage if isinstance(usage, dict) else {}
    prompt, completion = (usage.get(f"{side}_tokens_details") for side in ("prompt", "completion"))
    return Usage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cached_input_tokens=_count(prompt, "cached_tokens")
        or _count(usage, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"),
        cache_write_tokens=_count(prompt, "cache_write_tokens"),
        reasoning_tokens=_count(completion, "reasoning_tokens") or _count(usage, "reasoning_tokens"),
    )


def _count(table: object, *names: str) -> int:
    values = (table.get(name) for name in names) if isinstance(table, dict) else ()
    numbers = (value for value in values if isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    return next((int(number) for number in numbers if number > 0), 0)
