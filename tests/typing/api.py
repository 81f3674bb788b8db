"""Only type-checked, never run: what an application and a plugin write must be understood from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_type

import msgspec

from helmdeck_cache import CachedDeck, CacheUse
from helmdeck_core import (
    Answer,
    AttemptTexts,
    Budget,
    BudgetLookup,
    BudgetRow,
    CachedAnswer,
    CacheQuery,
    CacheSetup,
    ChatRequest,
    ChatResponse,
    Decoded,
    Entry,
    EntryData,
    Event,
    EventSink,
    Helmdeck,
    PackContext,
    Plan,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    Question,
    ResponseCacheSpec,
    Route,
    Selection,
    TextRecorder,
    Tier,
    ToolCallFormat,
    ToolCalls,
    TrimStep,
    hookimpl,
)


class Title(msgspec.Struct):
    text: str


def application() -> None:
    with Helmdeck(model="local/lexical", catalog_sources="example") as deck:
        assert_type(deck.plan("draft a post"), Plan)
        assert_type(deck.route("draft a post"), Route)
        assert_type(deck.select("draft a post"), Selection)
        assert_type(deck.budget("acme/x"), BudgetLookup)
        assert_type(deck.decode("{}", Title), Decoded[Title])
        assert_type(deck.tool_calls("", tools=["search"]), ToolCalls)


async def asynchronous_application(request: ChatRequest) -> None:
    async with Helmdeck() as deck:
        assert_type(await deck.aplan("draft a post"), Plan)
        assert_type(await deck.acomplete(request), ChatResponse)


async def pack(context: PackContext) -> str:
    answer = await context.ask(
        Question(
            caller="acme.title", task="acme.title", type=Title, request="a post", needs_catalog=False, instructions="x"
        )
    )
    assert_type(answer, Answer[Title])
    return answer.value.text


class Acme:
    async def complete(self, request: ChatRequest) -> ChatResponse:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


def open_acme(settings: ProviderSettings, context: ProviderContext) -> Acme:
    return Acme()


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    return [ProviderSpec(name="acme", open=open_acme)]


@hookimpl
def helmdeck_budget_rows() -> Sequence[BudgetRow]:
    return [BudgetRow(prefix="acme/", budget=Budget(model="", tier=Tier.B, max_catalog_bytes=None))]


def without_description(entry: Entry, data: EntryData) -> EntryData:
    return {key: value for key, value in data.items() if key != "description"}


@hookimpl
def helmdeck_trim_steps() -> Sequence[TrimStep]:
    return [TrimStep(name="acme.description", trim=without_description)]


@hookimpl
def helmdeck_tool_call_formats() -> Sequence[ToolCallFormat]:
    return [ToolCallFormat(name="acme.at", open=("@@",), head=r"(?P<name>\w+)")]


class AcmeCache:
    async def find(self, query: CacheQuery) -> CachedAnswer | None:
        return None

    async def keep(self, query: CacheQuery, answer: CachedAnswer) -> None: ...

    async def clear(self, tenant: str | None = None) -> int:
        return 0

    async def stats(self) -> Mapping[str, int]:
        return {}

    async def aclose(self) -> None: ...


def open_cache(setup: CacheSetup) -> AcmeCache:
    return AcmeCache()


@hookimpl
def helmdeck_response_caches() -> Sequence[ResponseCacheSpec]:
    return [ResponseCacheSpec(name="acme", open=open_cache)]


async def cached_calls(deck: Helmdeck) -> None:
    cached = CachedDeck(deck)
    use = CacheUse(tenant="acme")
    assert_type(await cached.acomplete("x", cache=use), ChatResponse)
    assert_type(await cached.aask("x", cache=use), Answer[str])
    assert_type(await cached.aask("x", Title, cache=None), Answer[Title])


class AcmeRecorder:
    records_texts = True

    def handle(self, event: Event) -> None: ...

    def handle_texts(self, texts: AttemptTexts) -> None:
        assert_type(texts.request_text(1_000), str)
        assert_type(texts.answer_text(1_000), str)


def open_recorder(folder: str) -> AcmeRecorder:
    return AcmeRecorder()


recorder: TextRecorder = AcmeRecorder()


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    return [EventSink(name="acme", open=open_recorder, options={"folder": ""})]
