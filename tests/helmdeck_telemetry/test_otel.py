"""Spans: one per call and per attempt, under the names of the semantic conventions, through a real exporter."""

import asyncio
import http.server
import sys
import threading
import time

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from helmdeck_core import ChatRequest, ConfigError, Message, Role, TextPart
from helmdeck_telemetry import otel
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.helmdeck_telemetry.observing_support import GOOD, eventful_deck, eventful_plan, failing_deck, failing_plan

HELLO = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hello"),)),))


@pytest.fixture
def tracing(monkeypatch):
    """An SDK with its own provider instead of the global one, which a process can set only once."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield provider, exporter
    provider.shutdown()


@pytest.fixture
def spans(tracing):
    with eventful_deck("otel") as deck:
        eventful_plan(deck)
    return tracing[1].get_finished_spans()


def test_call_span_has_one_child_span_per_attempt(spans):
    *attempts, call = spans
    assert call.name == "helmdeck.plan" and call.parent is None and call.kind is trace.SpanKind.INTERNAL
    assert [span.name for span in attempts] == ["chat one", "chat one", "chat one", "chat two"]
    assert {span.parent.span_id for span in attempts} == {call.context.span_id}
    assert {span.kind for span in attempts} == {trace.SpanKind.CLIENT}


def test_attempt_span_has_models_and_usage(spans):
    said = spans[-2].attributes
    assert said["gen_ai.operation.name"] == "chat" and said["gen_ai.provider.name"] == "b"
    assert (said["gen_ai.request.model"], said["gen_ai.response.model"]) == ("two", "two-2026")
    assert said["gen_ai.usage.input_tokens"] == 2_000 and said["gen_ai.usage.output_tokens"] == 1_000
    assert said["gen_ai.usage.cache_read.input_tokens"] == 800
    assert said["gen_ai.response.finish_reasons"] == ("stop",)
    assert said["helmdeck.cost_usd"] == pytest.approx(0.0108)


def test_failed_attempt_has_the_cause_as_error_type(spans):
    assert [span.attributes.get("error.type") for span in spans[:3]] == [
        "provider_unavailable", "constrained_deadlock", "constrained_deadlock",
    ]  # fmt: skip
    assert spans[0].status.status_code is trace.StatusCode.ERROR
    assert spans[-1].status.status_code is trace.StatusCode.UNSET


def test_names_follow_the_semantic_conventions(spans):
    known = {
        value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI") and isinstance(value, str)
    }
    used = {name for span in spans for name in span.attributes if name.startswith("gen_ai.")}
    newer = {"gen_ai.usage.reasoning.output_tokens"}
    assert used - newer <= known and len(used) >= 9


def test_provider_names_follow_the_semantic_conventions():
    known = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
    assert set(otel.PROVIDERS.values()) <= known


def test_events_without_duration_are_span_events(spans):
    of_answer = {event.name: event.attributes for event in spans[-2].events}
    assert {"stop_reason_observed", "continuation_attempt", "continuation_terminated", "reasoning_stripped"} <= set(
        of_answer
    )
    assert of_answer["continuation_terminated"]["terminal_reason"] == "completed"
    assert not [event for span in spans[:-1] for event in span.events if event.name == "catalog_selected"]
    selected = next(event for event in spans[-1].events if event.name == "catalog_selected")
    assert selected.attributes["record.before_bytes"] > selected.attributes["record.after_bytes"]


def test_attempt_spans_are_sequential_within_the_call(spans):
    *attempts, call = spans
    times = [time for span in attempts for time in (span.start_time, span.end_time)]
    assert times == sorted(times)
    assert call.start_time <= times[0] and times[-1] <= call.end_time


def test_attempt_span_ends_when_its_response_arrived(virtual_time, tracing, monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: int(virtual_time() * 1e9))
    replies = [Reply("not json", delay_s=3.0), Reply(GOOD)]
    config = {"events": {"sinks": ["otel"]}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        deck.plan("draft a blog post", model="a/one")
    first, *_ = tracing[1].get_finished_spans()
    assert (first.end_time - first.start_time) / 1e9 == pytest.approx(3.0)


def test_call_span_is_a_child_of_the_current_span(tracing):
    async def make_calls(deck):
        with trace.get_tracer("app").start_as_current_span("checkout") as span:
            await asyncio.gather(*(deck.acomplete(HELLO) for _ in range(3)))
        return span

    replies = [Reply("fine", delay_s=0.01)] * 3
    with make_deck(scripted_provider(replies, "a"), config={"events": {"sinks": ["otel"]}}) as deck:
        span = asyncio.run(make_calls(deck))
    calls = [each for each in tracing[1].get_finished_spans() if each.name == "helmdeck.complete"]
    assert len(calls) == 3 and {each.parent.span_id for each in calls} == {span.context.span_id}


def test_cancelled_call_leaves_no_open_span(tracing):
    async def cancelled(deck):
        call = asyncio.create_task(deck.acomplete(HELLO))
        for _ in range(20):  # until the request is out
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    replies = [Reply("late", delay_s=60)]
    with make_deck(scripted_provider(replies, "a"), config={"events": {"sinks": ["otel"]}}) as deck:
        asyncio.run(cancelled(deck))
        assert deck.sink("otel")._open == {}
    assert {span.attributes["error.type"] for span in tracing[1].get_finished_spans()} == {"CancelledError"}


def test_exhausted_call_has_its_reason(tracing):
    with failing_deck("otel") as deck:
        failing_plan(deck)
    call = tracing[1].get_finished_spans()[-1]
    assert call.attributes["error.type"] == "auth_failed" and call.status.status_code is trace.StatusCode.ERROR


def test_filter_call_is_a_child_of_its_call(tracing):
    replies = [Reply('{"ids":["blog.draft"]}'), Reply(GOOD)]
    config = {
        "events": {"sinks": ["otel"]},
        "selection": {"confidence": 1.0, "filter": True},
        "budgets": {"a/": {"tier": "C", "max_catalog_bytes": 4_000, "allows_llm_filter": True}},
    }
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        deck.plan("draft a blog post", model="a/one")
    spans = {span.name: span for span in tracing[1].get_finished_spans()}
    assert spans["helmdeck.filter"].parent.span_id == spans["helmdeck.plan"].context.span_id


def test_missing_sdk_records_nothing_and_raises_nothing(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    with eventful_deck("otel") as deck:
        assert eventful_plan(deck).steps


def test_missing_library_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match=r"pip install 'helmdeck\[otel\]'"):
        eventful_deck("otel")


# -- through a real exporter ---------------------------------------------------------------------------------


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    server.received = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_otlp_receiver_gets_the_spans(receiver, monkeypatch):
    provider = TracerProvider()
    address = f"http://127.0.0.1:{receiver.server_port}/v1/traces"
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(address)))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    try:
        with eventful_deck("otel") as deck:
            plan = eventful_plan(deck)
    finally:
        provider.shutdown()
    spans = [
        span
        for request in receiver.received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert [span.name for span in spans] == ["chat one"] * 3 + ["chat two", "helmdeck.plan"]
    call = spans[-1]
    assert {span.parent_span_id for span in spans[:-1]} == {call.span_id}
    assert {span.trace_id for span in spans} == {call.trace_id}
    said = {each.key: each.value for each in spans[-2].attributes}
    assert said["gen_ai.request.model"].string_value == "two"
    assert said["gen_ai.usage.output_tokens"].int_value == 1_000
    assert said["helmdeck.call_id"].string_value == plan.call_id
    assert b"PLANTED" not in b"".join(request.SerializeToString() for request in receiver.received)


def test_endpoint_sends_spans_without_an_application(receiver, monkeypatch):
    monkeypatch.setenv("COLLECTOR", f"http://127.0.0.1:{receiver.server_port}/v1/traces")
    with failing_deck("otel", options={"otel": {"endpoint": "env:COLLECTOR"}}) as deck:
        failing_plan(deck)
    (found,) = receiver.received[0].resource_spans
    assert "helmdeck" in {each.value.string_value for each in found.resource.attributes}
    assert [span.name for span in found.scope_spans[0].spans][-1] == "helmdeck.plan"
