"""A thin, stable door for scorers outside this repository.

Each function takes plain data and returns plain data; behind it stands what a user of the library gets, with its defaults.
What is not there yet raises ``NotImplementedError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import attrs

from benchmarks.contrib_wire import CONTRIB_READERS, Read
from helmdeck_core import (
    CallFailed,
    Catalog,
    ChatDelta,
    ChatResponse,
    DecodeFailed,
    FailureClass,
    Helmdeck,
    StopReason,
    StreamStripper,
    Tier,
    Usage,
    read_catalog,
    schema_problems,
)
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.context.selection import Limits, select
from helmdeck_core.http import AnswerReader, AnswerTerms, EventFeed, checked
from helmdeck_core.testing.making import make_deck
from helmdeck_plugins.providers.anthropic_wire import MessageAnswer
from helmdeck_plugins.providers.error_words import ERROR_WORDS, QUOTA_HEADERS
from helmdeck_plugins.providers.gemini_wire import GeminiAnswer
from helmdeck_plugins.providers.ollama_wire import OllamaAnswer
from helmdeck_plugins.providers.openai_wire import ChatAnswer
from helmdeck_plugins.providers.responses_wire import ResponsesAnswer


@cache
def _deck() -> Helmdeck:
    """The built-ins with their defaults; the machine's plugins, files and variables stay out."""
    return make_deck()


def ranker(catalog: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """Index a catalog; the function that comes back gives all names for a request, best first."""
    entries = read_catalog(catalog, "benchmark")
    index, ids = _index(entries), [entry.id for entry in entries.entries]
    return lambda intent: [ids[place] for place in index.rank(intent).order]


def selector(catalog: Mapping[str, Any]) -> Callable[[str, int], list[str]]:
    """Prepare a catalog; the function that comes back gives the names that a tier-C model would be shown."""
    entries = read_catalog(catalog, "benchmark")
    runtime = _deck().runtime
    index, prepared = _index(entries), PreparedCatalog(entries, runtime.ladder(Tier.C, ""))
    rules = runtime.config.selection

    def choose(intent: str, max_bytes: int) -> list[str]:
        limits = Limits(cap=max_bytes, max_entries=rules.max_entries[Tier.C], confidence=rules.confidence)
        return [entry.id for entry in select(prepared, index, intent, limits).entries]

    return choose


def _index(catalog: Catalog) -> Any:
    runtime = _deck().runtime
    return runtime.rankers[runtime.config.selection.ranker].value.index(catalog)


def decode(raw: str, finish_reason: str | None, schema: Mapping[str, Any] | None = None) -> tuple[str, Any]:
    """Read an answer that should be one JSON object.

    :returns: ``("value", object)`` or ``("failure", cause)``.
    """
    runtime = _deck().runtime
    fits = None if schema is None else lambda value: not schema_problems(schema, value)
    try:
        decoded = runtime.decoder.decode(raw, dict, runtime.normalise_stop(finish_reason, ""), fits=fits)
    except DecodeFailed as exc:
        return "failure", exc.cause.value
    return "value", decoded.value


def stream_stripper(starts_in_reasoning: bool = False) -> StreamStripper:
    """An object with ``feed(chunk)`` and ``finish()``, each giving newly released (visible, reasoning) text."""
    return _deck().runtime.decoder.stream(starts_in_reasoning=starts_in_reasoning)


def wire(fixture: Mapping[str, Any]) -> dict[str, Any]:
    """Read one recorded response of a provider.

    :raises NotImplementedError: for dialects that no adapter speaks yet.
    """
    read = READERS.get(fixture["dialect"])
    if read is None:
        raise NotImplementedError(fixture["dialect"])
    response, failure = read(fixture)
    if failure is not None and fixture["status"] != 200:
        return _refused(failure)
    said = _said(response)  # also what a user had seen before a failure
    return said if failure is None or failure.raw_stop_reason else {**said, "normalised_in_context": "Unknown(error)"}


def reader_of(
    make: Callable[[AnswerTerms], AnswerReader], dialect: str, *, has_lines: bool = False
) -> Callable[[Mapping[str, Any]], Read]:
    """Make what reads recordings with one of the built-in adapters: from the bytes that they were."""

    def read(fixture: Mapping[str, Any]) -> Read:
        runtime = _deck().runtime
        terms = AnswerTerms(
            words=ERROR_WORDS,
            quota_headers=QUOTA_HEADERS,
            normalise=lambda raw: runtime.normalise_stop(raw, dialect),
            dispose=lambda raw, reason: runtime.disposition_of(raw, reason, dialect),
            status=fixture["status"],
            headers={name.lower(): value for name, value in (fixture.get("headers") or {}).items()},
        )
        answer = make(terms)
        try:
            for _ in _fed(answer, fixture, terms.headers, has_lines=has_lines):
                pass
        except CallFailed as exc:
            return answer.finish(), exc
        return answer.finish(), None

    return read


def _fed(
    answer: AnswerReader, fixture: Mapping[str, Any], headers: Mapping[str, str], *, has_lines: bool
) -> Iterator[ChatDelta]:
    if not fixture["stream"] or fixture["status"] != 200:
        body = json.dumps(fixture["body"]).encode()
        yield from answer.read(checked(fixture["status"], headers, body, ERROR_WORDS, ()))
        return
    events = EventFeed(answer, has_lines=has_lines)
    for event in fixture["events"]:
        data = event["data"] if isinstance(event["data"], str) else json.dumps(event["data"])
        name = f"event: {event['event']}\n" if event.get("event") else ""
        yield from events.feed((f"{data}\n" if has_lines else f"{name}data: {data}\n\n").encode())
    yield from events.finish()


READERS: dict[str, Callable[[Mapping[str, Any]], Read]] = {
    "anthropic-messages": reader_of(MessageAnswer, "anthropic"),
    "gemini": reader_of(GeminiAnswer, "gemini"),
    "ollama-native": reader_of(OllamaAnswer, "ollama", has_lines=True),
    "openai-chat": reader_of(ChatAnswer, "openai"),
    "openai-responses": reader_of(ResponsesAnswer, "openai-responses"),
    **CONTRIB_READERS,
}
"""For each dialect, what reads a recording of it."""


def _said(response: ChatResponse) -> dict[str, Any]:
    strict = response.strict_stop_reason or response.stop_reason
    return {
        "normalised": None if response.raw_stop_reason is None else _reason(strict, response.raw_stop_reason),
        "normalised_in_context": _reason(response.stop_reason, response.raw_stop_reason),
        "text": response.text,
        "reasoning": response.reasoning,
        "tool_calls": [{"name": call.name, "arguments": _arguments(call.arguments)} for call in response.tool_calls],
        # A response does not tell counts that did not come from counts of nothing.
        "usage": attrs.asdict(response.usage) if response.usage != Usage() else None,
    }


ERROR_CLASSES = {
    FailureClass.AUTH_FAILED: "auth",
    FailureClass.QUOTA_EXHAUSTED: "billing",
    FailureClass.RATE_LIMITED: "rate_limit",
    FailureClass.CONTEXT_WINDOW_EXCEEDED: "context_window",
    FailureClass.SAFETY_FILTERED: "safety",
    FailureClass.PROVIDER_UNAVAILABLE: "server",
    FailureClass.CONSTRAINED_DEADLOCK: "bad_tool_call",
    FailureClass.INVALID_REQUEST: "invalid_request",
}
"""What scorers call the causes."""


def _refused(failure: CallFailed) -> dict[str, Any]:
    finer = failure.sub_cause in ("not_found", "permission", "prefill_unsupported")
    error_class = failure.sub_cause if finer else ERROR_CLASSES.get(failure.failure_class, failure.failure_class.value)
    return {"normalised": None, "normalised_in_context": None, "error_class": error_class}


def _reason(reason: StopReason, raw: str | None) -> str:
    return f"Unknown({raw or ''})" if reason is StopReason.UNKNOWN else reason.value


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
