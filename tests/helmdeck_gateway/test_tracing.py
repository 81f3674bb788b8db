"""Request ids and the W3C trace context of clients; traces of calls are found by the id in the response."""

import json

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from helmdeck_core.cli import main
from tests.helmdeck_gateway.gateway_support import running_gateway, upstream

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
CONTEXT = {"traceparent": PARENT, "tracestate": "vendor=1"}


@pytest.fixture(scope="module")
def gateway(server):
    with running_gateway(
        config={"providers": {"up": upstream(server)}, "events": {"sinks": ["gateway", "traces"]}}
    ) as it:
        yield it


def send(gateway, headers, path="/v1/chat/completions", model="up/m", **fields):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "input": "x", **fields}
    return gateway.send(path, body, headers=headers)


@pytest.mark.parametrize("stream", [False, True])
def test_request_id_is_echoed_and_recorded_in_the_trace_of_the_call(gateway, stream):
    answer = send(gateway, {"x-request-id": "req-7", **CONTEXT}, stream=stream)
    assert answer.headers["x-request-id"] == "req-7"
    events = gateway.gateway.deck.call_trace(answer.headers["x-helmdeck-call-id"]).events
    (received,) = [event for event in events if event["event"] == "request_received"]
    assert (received["request_id"], received["trace_parent"]) == ("req-7", PARENT)


@pytest.mark.parametrize("model", ["nowhere/m", ""])
def test_request_id_is_echoed_with_errors(gateway, model):
    answer = send(gateway, {"x-request-id": "req-8"}, model=model, messages=[])
    assert (answer.status >= 400, answer.headers["x-request-id"]) == (True, "req-8")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings"])
def test_trace_context_reaches_the_provider_and_no_other_request(gateway, server, path):
    server.requests.clear()
    send(gateway, CONTEXT, path)
    send(gateway, {}, path)
    sent = [{name: request.headers.get(name) for name in CONTEXT} for request in server.requests]
    assert sent == [CONTEXT, dict.fromkeys(CONTEXT)]


@pytest.mark.parametrize(
    "headers",
    [
        {"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"},
        {"traceparent": f"{PARENT}\tx: y"},
        {"tracestate": "vendor=1"},
        {"x-request-id": "a b"},
        {"x-request-id": "x" * 129},
    ],
)
def test_invalid_ids_are_ignored(gateway, server, headers):
    server.requests.clear()
    answer = send(gateway, headers)
    assert answer.status == 200 and "x-request-id" not in answer.headers
    assert not {"traceparent", "tracestate"} & {name.lower() for name in server.requests[0].headers}


def test_span_of_the_client_is_the_parent_and_that_of_the_attempt_the_parent_of_the_provider(server, monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with running_gateway(config={"providers": {"up": upstream(server)}, "events": {"sinks": ["otel"]}}) as gateway:
        server.requests.clear()
        send(gateway, CONTEXT)
        send(gateway, {})
    attempt, call, _, other = exporter.get_finished_spans()
    assert (f"{call.context.trace_id:032x}", f"{call.parent.span_id:016x}") == (TRACE, "00f067aa0ba902b7")
    assert server.requests[0].headers["traceparent"] == f"00-{TRACE}-{attempt.context.span_id:016x}-01"
    assert server.requests[0].headers["tracestate"] == "vendor=1"
    assert other.parent is None and "traceparent" not in server.requests[1].headers


def test_call_is_explained_by_its_id_without_a_configuration(capsys, server, tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    with running_gateway(
        config={"providers": {"up": upstream(server)}, "events": {"sinks": ["gateway", "traces"]}}
    ) as it:
        call_id = send(it, {"x-request-id": "req-9"}).headers["x-helmdeck-call-id"]
    assert (tmp_path / "traces.db").is_file()
    empty = tmp_path / "helmdeck.toml"
    empty.write_text("")
    for option in ("--run", "--call"):
        assert main(["explain", option, call_id, "--config", str(empty), "--no-plugins"]) == 0
        out = capsys.readouterr().out
        assert call_id in out and "request id req-9" in out
    assert main(["explain", "--run", "nothing", "--config", str(empty), "--no-plugins"]) == 2
    assert call_id in capsys.readouterr().err
    assert main(["explain", "--run", call_id, "--json", "--config", str(empty), "--no-plugins"]) == 0
    assert json.loads(capsys.readouterr().out)["call_id"] == call_id
