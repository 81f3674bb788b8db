"""A stable interface for scorers outside this repository.

Each function takes plain data and returns plain data; behind it stands what a user of the library gets, with its defaults.
What is not there yet raises ``NotImplementedError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from benchmarks.contrib_wire import COHERE, CONVERSE, PLUGINS, frames
from helmdeck_core import (
    CallFailed,
    Catalog,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    DecodeFailed,
    FailureClass,
    Helmdeck,
    RankContext,
    Ranker,
    RankIndex,
    Secrets,
    StopReason,
    StreamStripper,
    Tier,
    Usage,
    schema_problems,
)
from helmdeck_core.calls.provider_registry import ProviderRegistry
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.context.selection import SelectionLimits, select
from helmdeck_providers import HttpResponse, ReaderContext, ResponseReader, WireFormat
from helmdeck_providers.wire_formats.anthropic.wire_format import make_wire_format as make_anthropic
from helmdeck_providers.wire_formats.gemini.wire_format import make_wire_format as make_gemini
from helmdeck_providers.wire_formats.ollama.wire_format import make_wire_format as make_ollama
from helmdeck_providers.wire_formats.openai_chat.wire_format import make_wire_format as make_openai_chat
from helmdeck_providers.wire_formats.openai_responses.wire_format import make_wire_format as make_openai_responses
from helmdeck_selection import read_catalog
from helmdeck_testing.deck_factory import make_deck


@cache
def deck() -> Helmdeck:
    """Return a deck with the built-ins and the contributed providers; configuration files and variables are ignored."""
    return make_deck(*PLUGINS)


def ranker(catalog: Mapping[str, Any], vectors: bool = False) -> Callable[[str], list[str]]:
    """Index a catalog; return a function from request to all names, best first.

    :param vectors: whether sentence vectors are used as well; needs the extra ``vectors``.
    """
    entries = read_catalog(catalog, "benchmark")
    index = _index(entries, vectors)
    return lambda intent: list(index.rank(intent).ids)


def selector(catalog: Mapping[str, Any]) -> Callable[[str, int], list[str]]:
    """Prepare a catalog; return a function from request to the names shown to a tier-C model."""
    entries = read_catalog(catalog, "benchmark")
    runtime = deck().runtime
    index, prepared = _index(entries), PreparedCatalog(entries, runtime.ladder(Tier.C, ""))
    rules = runtime.config.selection

    def choose(intent: str, max_bytes: int) -> list[str]:
        limits = SelectionLimits(cap=max_bytes, max_entries=rules.max_entries[Tier.C], confidence=rules.confidence)
        return [entry.id for entry in select(prepared, lambda: index.rank(intent), limits).entries]

    return choose


def _index(catalog: Catalog, vectors: bool = False) -> RankIndex:
    runtime = deck().runtime
    rankers = runtime.contributed(Ranker)
    base = rankers[runtime.config.selection.ranker].value.index(catalog)
    if not vectors:
        return base
    ranker = rankers["vectors"].value
    context = RankContext(base=base, settings=ProviderRegistry(runtime).first_settings)
    return ranker.index(catalog, context=context, **ranker.options)


def decode(raw: str, finish_reason: str | None, schema: Mapping[str, Any] | None = None) -> tuple[str, Any]:
    """Decode a response that should be one JSON object.

    :returns: ``("value", object)`` or ``("failure", cause)``.
    """
    runtime = deck().runtime
    fits = None if schema is None else lambda value: not schema_problems(schema, value)
    try:
        decoded = runtime.decoder.decode(raw, dict, runtime.normalise_stop(finish_reason, ""), fits=fits)
    except DecodeFailed as exc:
        return "failure", exc.cause.value
    return "value", decoded.value


def stream_stripper(starts_in_reasoning: bool = False) -> StreamStripper:
    """An object with ``feed(chunk)`` and ``finish()``, each giving newly released (visible, reasoning) text."""
    return deck().runtime.decoder.stream(starts_in_reasoning=starts_in_reasoning)


def wire(fixture: Mapping[str, Any]) -> dict[str, Any]:
    """Read one recorded provider response.

    :raises NotImplementedError: for wire formats that no adapter supports yet.
    """
    interface = INTERFACES.get(fixture["dialect"])
    if interface is None:
        raise NotImplementedError(fixture["dialect"])
    deltas: list[ChatDelta] = []
    answer = _reader(interface, fixture)
    try:
        deltas.extend(_read(interface, answer, fixture))
    except CallFailed as exc:
        # A whole response has no deltas.
        seen = deltas if fixture["stream"] else ()
        return broken(seen, answer.with_partial_response(exc)) if fixture["status"] == 200 else refused(exc)
    return said(answer.finish())


INTERFACES: dict[str, WireFormat] = {
    "anthropic-messages": make_anthropic(),
    "gemini": make_gemini(),
    "ollama-native": make_ollama(),
    "openai-chat": make_openai_chat(),
    "openai-responses": make_openai_responses(),
    "bedrock-converse": CONVERSE,
    "cohere-v2": COHERE,
}
"""The wire format of each dialect of the fixtures."""


def _reader(interface: WireFormat, fixture: Mapping[str, Any]) -> ResponseReader:
    """Return the response reader of an open provider."""
    runtime, name = deck().runtime, interface.name
    terms = ReaderContext(
        error_rules=interface.error_rules,
        quota_headers=interface.quota_headers,
        normalise=lambda raw: runtime.normalise_stop(raw, name),
        dispose=lambda raw, reason: runtime.disposition_of(raw, reason, name),
        status=fixture["status"],
        headers=_headers(fixture),
    )
    return interface.answer(ChatRequest(model="recorded/model", messages=()), terms)


def _read(interface: WireFormat, answer: ResponseReader, fixture: Mapping[str, Any]) -> Iterator[ChatDelta]:
    """Read a recorded response from its original bytes."""
    if not fixture["stream"] or fixture["status"] != 200:
        received = HttpResponse(fixture["status"], _headers(fixture), json.dumps(fixture["body"]).encode())
        yield from answer.read(interface.decode_body(received, Secrets()))
        return
    events = interface.events(answer)
    for event in fixture["events"]:
        for piece in pieces(interface, event):
            yield from events.feed(piece)
    yield from events.finish()


def pieces(interface: WireFormat, event: Mapping[str, Any]) -> Iterable[bytes]:
    """Return the original bytes of an event."""
    if interface is CONVERSE:
        return frames(event)
    data = event["data"] if isinstance(event["data"], str) else json.dumps(event["data"])
    name = f"event: {event['event']}\n" if event.get("event") else ""
    return [(f"{data}\n" if interface.has_lines else f"{name}data: {data}\n\n").encode()]


def _headers(fixture: Mapping[str, Any]) -> dict[str, str]:
    return {name.lower(): value for name, value in (fixture.get("headers") or {}).items()}


def said(response: ChatResponse) -> dict[str, Any]:
    """Return a response in the scorers' format."""
    strict = response.strict_stop_reason or response.stop_reason
    return {
        "normalised": None if response.raw_stop_reason is None else _reason(strict, response.raw_stop_reason),
        "normalised_in_context": _reason(response.stop_reason, response.raw_stop_reason),
        "text": response.text,
        "reasoning": response.reasoning_content,
        "tool_calls": [{"name": call.name, "arguments": _arguments(call.arguments)} for call in response.tool_calls],
        "usage": _usage(response.usage),
    }


_OUR_JUDGEMENT = ("wrong_shape", "no_choices", "not_json", "cut_body", "empty_body", "damaged_frame")
"""Failures detected locally; all others were reported by the provider."""


def broken(deltas: Sequence[ChatDelta], failure: CallFailed) -> dict[str, Any]:
    """Return the deltas of a failed response and the facts of its failure."""
    reason, raw = StopReason(failure.stop_reason), failure.raw_stop_reason
    told = _reason(reason, raw)
    calls: dict[int, list[str]] = {}
    for piece in (delta.tool_call for delta in deltas):
        if piece is not None:
            name, written = calls.get(piece.index, ["", ""])
            calls[piece.index] = [name + piece.name, written + piece.arguments]
    return {
        "normalised": None if raw is None else told,
        "normalised_in_context": told if raw or failure.sub_cause in _OUR_JUDGEMENT else "Unknown(error)",
        "text": "".join(delta.text for delta in deltas) or failure.excerpt or "",
        "reasoning": "".join(delta.reasoning_content for delta in deltas),
        "tool_calls": [{"name": name, "arguments": _arguments(written)} for name, written in calls.values()],
        "usage": _usage(failure.usage or Usage()),
    }


def _usage(usage: Usage) -> dict[str, int] | None:
    # A response does not distinguish missing counters from zero.
    return attrs.asdict(usage) if usage != Usage() else None


ERROR_CLASSES = {
    FailureClass.AUTH_FAILED: "auth",
    FailureClass.QUOTA_EXHAUSTED: "billing",
    FailureClass.RATE_LIMITED: "rate_limit",
    FailureClass.CONTEXT_WINDOW_EXCEEDED: "context_window",
    FailureClass.SAFETY_FILTERED: "safety",
    FailureClass.PROVIDER_UNAVAILABLE: "server",
    FailureClass.LIKELY_TIMEOUT: "server",
    FailureClass.TRANSIENT_UNKNOWN: "server",
    FailureClass.CONSTRAINED_DEADLOCK: "bad_tool_call",
    FailureClass.INVALID_REQUEST: "invalid_request",
}
"""Cause names of the scorers."""


def refused(failure: CallFailed) -> dict[str, Any]:
    """Return a failure with a status in the scorers' format."""
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
