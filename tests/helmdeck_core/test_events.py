"""Call events: names, fields and order, without secrets, and without cost if there is no sink."""

import asyncio
import json
import subprocess
import sys
import typing

import attrs
import pytest

from helmdeck_core import (
    AttemptEnded,
    CallAborted,
    CallExhausted,
    CallFinished,
    CallRef,
    CallStarted,
    ChatRequest,
    ContinuationTerminated,
    EventSink,
    EventSinkWarning,
    FilterFailed,
    Message,
    PluginError,
    ProviderSpec,
    ReasoningStripped,
    RequestSent,
    Role,
    StopReasonObserved,
    TextPart,
    event_data,
    hookimpl,
    log,
)
from helmdeck_core.domain import events as module
from helmdeck_testing import EventRecorder, Fail, Reply, make_deck, scripted_provider
from tests.helmdeck_telemetry.observing_support import GOOD, eventful_deck, eventful_plan, failing_deck, failing_plan

EVENTS = typing.get_args(module.Event)
HELLO = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hello"),)),))


def test_event_names_are_unique():
    names = [event.name for event in EVENTS]
    assert len(set(names)) == len(EVENTS)
    assert {"stop_reason_observed", "continuation_attempt", "continuation_terminated", "tool_payload_repair"} <= set(
        names
    )


def test_events_of_a_call_share_one_id():
    recorder = EventRecorder()
    with eventful_deck(beside=(recorder,)) as deck:
        plan = eventful_plan(deck)
    assert isinstance(recorder.events[0], CallStarted) and isinstance(recorder.events[-1], CallFinished)
    assert {event.call_id for event in recorder.events if isinstance(event, CallRef)} == {plan.call_id}
    assert [event.attempt for event in recorder.of(RequestSent)] == [1, 2, 3, 4]
    assert [event.outcome.number for event in recorder.of(AttemptEnded)] == [1, 2, 3, 4]
    (end,) = recorder.of(CallFinished)
    assert (end.requested_model, end.model, end.served_model) == ("a/one", "b/two", "two-2026")
    assert end.cost_usd == pytest.approx(0.0152) and end.saved_usd == pytest.approx(0.0012)
    assert end.total_s >= end.latency_s
    (stripped,) = recorder.of(ReasoningStripped)
    assert stripped.chars >= len("PLANTED-THOUGHT") and stripped.tokens == 40
    assert recorder.of(AttemptEnded)[-1].outcome.continuations == 1


def test_request_sent_event_has_the_budget_and_changes():
    recorder = EventRecorder()
    with eventful_deck(beside=(recorder,)) as deck:
        eventful_plan(deck)
    first, _, third, last = recorder.of(RequestSent)
    assert (first.tier, first.variant, first.max_catalog_bytes, first.max_tokens) == ("C", "single_pick", 4_000, 1_500)
    assert first.changed == () and third.changed == ("no strict JSON, schema in the prompt",)
    assert last.model == "b/two"


def test_events_convert_to_plain_data():
    recorder = EventRecorder()
    with eventful_deck(beside=(recorder,)) as deck:
        eventful_plan(deck)
    for event in recorder.events:
        data = event_data(event)
        assert json.loads(json.dumps(data)) == data and data["event"] == event.name
        whole = attrs.asdict(event, filter=lambda _, value: value is not None and value not in ("", ()))
        assert data == json.loads(json.dumps({"event": event.name, **whole}))


def test_stream_emits_the_same_events():
    recorder = EventRecorder()
    replies = [Reply("a long answer that", stop_reason="length"), Reply(" ends here")]
    with make_deck(scripted_provider(replies, "a"), recorder, config={"budgets": {"a/": {}}}) as deck:
        assert list(deck.stream(HELLO))
    kinds = [event.name for event in recorder.events]
    assert kinds[:2] == ["call_started", "request_sent"] and kinds[-1] == "call_finished"
    assert recorder.of(StopReasonObserved)[0].stop_reason == "MaxTokens"
    assert recorder.of(ContinuationTerminated)[0].attempts == 1


def test_closed_stream_emits_call_aborted():
    recorder = EventRecorder()
    with make_deck(scripted_provider([Reply("one word after the other")], "a"), recorder) as deck:
        pieces = deck.stream(HELLO)
        next(pieces)
        pieces.close()
    assert [event.error for event in recorder.of(CallAborted)] == ["GeneratorExit"]


def test_stream_closed_after_the_last_delta_is_not_aborted():
    recorder = EventRecorder()
    with make_deck(scripted_provider([Reply("short")], "a"), recorder) as deck:

        async def read():
            async for piece in deck.astream(HELLO):
                if hasattr(piece, "stop_reason"):
                    break

        asyncio.run(read())
    assert recorder.of(CallFinished) and not recorder.of(CallAborted)


def test_cancelled_call_emits_call_aborted_once():
    recorder = EventRecorder()

    async def cancelled(deck):
        call = asyncio.create_task(deck.acomplete(HELLO))
        for _ in range(20):  # until the request is sent
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with make_deck(scripted_provider([Reply("late", delay_s=60)], "a"), recorder) as deck:
        asyncio.run(cancelled(deck))
    (aborted,) = recorder.of(CallAborted)
    assert (aborted.error, aborted.model) == ("CancelledError", "a/one")
    assert not recorder.of(CallExhausted) and not recorder.of(CallFinished)


def test_failed_attempt_before_an_abort_is_reported():
    """The fallback model's filter call hangs, so the recovery decision is still pending."""
    recorder = EventRecorder()
    small = {"tier": "C", "max_catalog_bytes": 4_000, "allows_llm_filter": True}
    config = {
        "fallback": {"a/": ["b/two"]},
        "selection": {"confidence": 1.0, "filter": True},
        "budgets": {"a/": small, "b/": small},
    }

    async def cancelled(deck):
        call = asyncio.create_task(deck.aplan("draft a blog post", model="a/one"))
        for _ in range(1_000):
            await asyncio.sleep(0)
            if len(recorder.of(CallStarted)) == 3:
                break
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    first = scripted_provider([Reply('{"ids":["blog.draft"]}'), Fail("quota_exhausted")], "a")
    with make_deck(first, scripted_provider([Reply(delay_s=60)], "b"), recorder, config=config) as deck:
        asyncio.run(cancelled(deck))
    (ended,) = [event for event in recorder.of(AttemptEnded) if event.pack == "helmdeck.plan"]
    assert (ended.outcome.cause, ended.outcome.then) == ("quota_exhausted", "stopped: the call was aborted")
    assert isinstance(recorder.events[-1], CallAborted)


def test_plugin_exception_emits_call_aborted():
    class Broken:
        @hookimpl
        def helmdeck_providers(self):
            return [ProviderSpec(name="a", open=lambda settings, context: 1 / 0)]

    recorder = EventRecorder()
    with make_deck(Broken(), recorder) as deck, pytest.raises(PluginError):
        deck.complete(HELLO)
    assert [event.error for event in recorder.of(CallAborted)] == ["PluginError"]


def test_sink_that_raises_is_reported_and_fails_neither_the_call_nor_other_sinks():
    class Raising:
        @hookimpl
        def helmdeck_event_sinks(self):
            return [EventSink(name="raising", handle=self.handle, order=-1)]

        def handle(self, event):
            raise OSError("the disk is full")

    recorder = EventRecorder()
    reported = pytest.warns(EventSinkWarning, match="EventSink 'raising' raised OSError: the disk is full")
    with make_deck(scripted_provider([Reply("hello")], "a"), Raising(), recorder) as deck, reported:
        assert deck.complete(HELLO).text == "hello"
    assert len(recorder.of(CallFinished)) == 1


@pytest.mark.filterwarnings("ignore::helmdeck_core.EventSinkWarning")
def test_failing_sink_does_not_hide_a_cancellation():
    class Refusing:
        @hookimpl
        def helmdeck_event_sinks(self):
            return [EventSink(name="refusing", handle=self.handle)]

        def handle(self, event):
            if isinstance(event, CallAborted):
                raise RuntimeError("no")

    async def cancelled(deck):
        call = asyncio.create_task(deck.acomplete(HELLO))
        for _ in range(20):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with make_deck(scripted_provider([Reply("late", delay_s=60)], "a"), Refusing()) as deck:
        asyncio.run(cancelled(deck))


def test_filter_call_event_has_its_parent_and_a_cause_without_provider_text():
    recorder = EventRecorder()
    config = {
        "selection": {"confidence": 1.0, "filter": True},
        "budgets": {"a/": {"tier": "C", "max_catalog_bytes": 4_000, "allows_llm_filter": True}},
    }
    replies = [Fail("rate_limited", detail="PLANTED-DETAIL"), Reply(GOOD)]
    with make_deck(scripted_provider(replies, "a"), recorder, config=config) as deck:
        plan = deck.plan("draft a blog post", model="a/one")
    parents = {event.pack: event.parent for event in recorder.of(CallStarted)}
    assert parents == {"helmdeck.plan": "", "helmdeck.filter": plan.call_id}
    assert [event.detail for event in recorder.of(FilterFailed)] == ["rate_limited"]


# -- secrets ---------------------------------------------------------------------------------------------------


def test_sinks_receive_no_content_and_no_secrets(tmp_path, capsys, monkeypatch):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    recorder, shown = EventRecorder(), []
    try:
        for make, call in ((eventful_deck, eventful_plan), (failing_deck, failing_plan)):
            options = {"traces": {"file": str(tmp_path / "traces.db")}}
            monkeypatch.setattr("helmdeck_core.log._enabled", True)
            log.enable("TRACE")
            with make("prometheus", "otel", "traces", options=options, beside=(recorder,)) as deck:
                call(deck)
                shown += [deck.sink("prometheus").render().decode(), repr([each.to_dict() for each in deck.traces()])]
    finally:
        log.disable()
        provider.shutdown()
    shown += [capsys.readouterr().err, repr(recorder.events), repr([event_data(event) for event in recorder.events])]
    shown += [span.to_json() for span in exporter.get_finished_spans()]
    shown += [path.read_bytes().decode("utf-8", "replace") for path in tmp_path.iterdir()]
    assert all(shown) and len(exporter.get_finished_spans()) == 7
    assert not [text for text in shown if "PLANTED" in text]


# -- no sinks ----------------------------------------------------------------------------------------------------


@pytest.fixture
def created(monkeypatch):
    """Records the types of created events."""
    count = []
    for event in EVENTS:

        def counting(self, *args, before=event.__init__, **fields):
            count.append(type(self).__name__)
            before(self, *args, **fields)

        monkeypatch.setattr(event, "__init__", counting)
    return count


@pytest.mark.parametrize(("make", "call"), [(eventful_deck, eventful_plan), (failing_deck, failing_plan)])
def test_no_event_is_created_without_sinks(created, make, call):
    with make() as deck:
        assert deck.runtime.sinks == ()
        call(deck)
    assert created == []
    with make(beside=(EventRecorder(),)) as deck:
        call(deck)
    assert len(created) >= 5


def test_stream_and_cancellation_create_no_event_without_sinks(created):
    async def cancelled(deck):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(deck.acomplete(HELLO), 0.01)

    with make_deck(scripted_provider([Reply("short"), Reply("late", delay_s=60)], "a")) as deck:
        assert list(deck.stream(HELLO))
        asyncio.run(cancelled(deck))
    assert created == []


def test_offline_deck_without_sinks_and_logs_imports_neither_their_libraries_nor_that_of_the_transport():
    code = (
        "import sys; from helmdeck_core import Helmdeck; "
        "Helmdeck(autoload=False, environ={}).plan('draft a blog post', model='local/lexical'); "
        "print({'prometheus_client', 'opentelemetry', 'loguru', 'httpx', 'httpx2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# -- sinks that are opened -------------------------------------------------------------------------------------


class Opened:
    """A plugin with a sink that is opened on demand."""

    def __init__(self, **changes):
        self.options, self.events, self.changes = [], [], changes

    @hookimpl
    def helmdeck_event_sinks(self):
        sink = EventSink(name="acme", open=self.open, options={"size": 3})
        return [attrs.evolve(sink, **self.changes)]

    def open(self, **options):
        self.options.append(options)
        return self

    def handle(self, event):
        self.events.append(event)


def test_named_sink_is_opened_with_options_and_defaults():
    plugin = Opened()
    with make_deck(plugin, config={"events": {"sinks": ["acme"], "options": {"acme": {"size": 5}}}}) as deck:
        deck.plan("draft a blog post")
        assert plugin.options == [{"size": 5}] and plugin.events and deck.sink("acme") is plugin
    other = Opened()
    with make_deck(other) as deck:
        deck.plan("draft a blog post")
    assert other.options == [] and other.events == []


def test_deck_closes_opened_sinks():
    plugin = Opened()
    plugin.close = lambda: plugin.events.append("closed")
    with make_deck(plugin, config={"events": {"sinks": ["acme"]}}):
        pass
    assert plugin.events == ["closed"]

    async def used():
        async with make_deck(plugin, config={"events": {"sinks": ["acme"]}}):
            pass

    asyncio.run(used())
    assert plugin.events == ["closed", "closed"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"handle": print}, "takes one of handle and open"),
        ({"open": lambda size: 1 / 0}, "cannot be opened: ZeroDivisionError"),
        ({"open": lambda size: None}, "opened NoneType, which has no method handle"),
    ],
)
def test_sink_open_error_names_the_plugin(changes, problem):
    with pytest.raises(PluginError, match="takes one of handle and open"):
        make_deck(Opened(open=None))
    with pytest.raises(PluginError, match=problem):
        make_deck(Opened(**changes), config={"events": {"sinks": ["acme"]}})
