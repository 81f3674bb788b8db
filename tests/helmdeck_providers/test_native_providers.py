"""The native providers over loopback HTTP: requests, whole and streamed responses, and failures."""

from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ContextWindowExceeded,
    InvalidRequest,
    ModelInfo,
    ProviderSettings,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    StopReason,
    ToolDefinition,
    TransientUnknown,
    Usage,
)
from helmdeck_testing import Chunks, Ending, chat_server
from tests.helmdeck_providers.natives_support import (
    KEY,
    SPECS,
    asking,
    collected,
    complete,
    connected,
    cut,
    ndjson,
    opened,
    over,
    spoken,
    sse,
    streamed,
    summed,
)

LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
EVENTS = "text/event-stream"


@attrs.frozen
class Case:
    """One response in each wire format: text with multi-byte characters, and one tool call."""

    model: str
    whole: dict
    stream: bytes
    kind: str = EVENTS
    options: dict = attrs.field(factory=dict)

    @property
    def name(self):
        return self.model.partition("/")[0]

    def request(self, **fields):
        return asking(self.model, tools=(LOOK,), max_tokens=100, **fields)


def anthropic():
    begun = {"type": "message", "model": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    said = [{"type": "text_delta", "text": piece} for piece in ("Blåbær ", "og 🫐")]
    asked = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"at":"Tro', 'msø"}')]
    events = [
        {"type": "message_start", "message": begun},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in said),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": use},
        *({"type": "content_block_delta", "index": 1, "delta": delta} for delta in asked),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    whole = {
        **begun,
        "content": [{"type": "text", "text": "Blåbær og 🫐"}, {**use, "input": {"at": "Tromsø"}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 9},
    }
    return Case("anthropic/m", whole, sse(*events))


def gemini(model="gemini/m", **options):
    def chunk(*parts, **fields):
        candidate = {"content": {"role": "model", "parts": list(parts)}, **fields}
        return {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}

    call = {"functionCall": {"name": "look", "args": {"at": "Tromsø"}}, "thoughtSignature": "c2ln"}
    counts = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 9}}
    chunks = [chunk({"text": "Blåbær "}), chunk({"text": "og 🫐"}), {**chunk(call, finishReason="STOP"), **counts}]
    whole = {**chunk({"text": "Blåbær og 🫐"}, call, finishReason="STOP"), **counts}
    return Case(model, whole, sse(*chunks), options=options)


def ollama():
    def line(content, done=False, **fields):
        message = {"role": "assistant", "content": content, **fields.pop("more", {})}
        return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done, **fields}

    calls = {"more": {"tool_calls": [{"function": {"name": "look", "arguments": {"at": "Tromsø"}}}]}}
    last = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 9}
    lines = [line("Blåbær "), line("og 🫐"), line("", **calls), line("", **last)]
    return Case("ollama/m", line("Blåbær og 🫐", **calls, **last), ndjson(*lines), "application/x-ndjson")


CASES = [anthropic(), gemini(), gemini("vertex/m", project="p", location="europe-west1"), ollama()]
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def respond(case, server, way=complete, **fields):
    return way(case.name, server.base_url, case.request(**fields), options=dict(case.options))


def failures(case, server):
    """Return the failures of a request, whole and streamed."""
    found = []
    with connected(case.name, server.base_url, options=dict(case.options)) as (provider, run):
        for act in (provider.complete(case.request()), collected(provider, case.request())):
            with pytest.raises(CallFailed) as caught:
                run(act)
            found.append(caught.value)
    return found


# -- answers --------------------------------------------------------------------------------------------------


@each
def test_whole_answer_is_read(chat_server, case):
    response = respond(case, chat_server(lambda body: case.whole))
    assert (response.text, response.stop_reason) == ("Blåbær og 🫐", StopReason.TOOL_CALL)
    assert [(call.name, json.loads(call.arguments)) for call in response.tool_calls] == [("look", {"at": "Tromsø"})]
    assert response.usage == Usage(input_tokens=3, output_tokens=9)
    assert response.served_model == "m"


@each
def test_streamed_answer_does_not_depend_on_chunk_boundaries(case):
    pieces = []
    answers = [lambda: case.whole, lambda: Chunks(pieces, headers={"content-type": case.kind})]
    with (
        chat_server(lambda body: answers[0]()) as server,
        connected(case.name, server.base_url, options=dict(case.options)) as (provider, run),
    ):
        whole = run(provider.complete(case.request()))
        answers.pop(0)

        @settings(max_examples=25, deadline=None)
        @given(st.lists(st.integers(0, len(case.stream)), max_size=12))
        def check(places):
            pieces[:] = cut(case.stream, places)
            deltas, response = run(collected(provider, case.request()))
            assert attrs.evolve(response, latency_s=0.0) == attrs.evolve(whole, latency_s=0.0)
            assert summed(deltas) == spoken(whole)

        check()


@each
def test_stream_of_single_bytes_is_read(chat_server, case):
    pieces = [case.stream[at : at + 1] for at in range(len(case.stream))]
    server = chat_server(lambda body: Chunks(pieces, headers={"content-type": case.kind}))
    assert respond(case, server, streamed)[1].text == "Blåbær og 🫐"


@each
def test_whole_response_to_a_streaming_request_is_read(chat_server, case):
    deltas, response = respond(case, chat_server(lambda body: case.whole), streamed)
    assert "".join(delta.text for delta in deltas) == response.text == "Blåbær og 🫐"


@each
def test_incomplete_stream_is_unknown_and_broken_stream_is_a_failure(chat_server, case):
    half = case.stream[: case.stream.index(b"og ")]
    kind = {"content-type": case.kind}
    deltas, response = respond(case, chat_server(lambda body: Chunks([half], headers=kind)), streamed)
    assert (response.text, response.stop_reason) == ("Blåbær ", StopReason.UNKNOWN)
    assert "".join(delta.text for delta in deltas) == "Blåbær "
    with pytest.raises(ProviderUnavailable) as caught:
        respond(case, chat_server(lambda body: Chunks([half], Ending.CUT, headers=kind)), streamed)
    assert (caught.value.excerpt, caught.value.raw_length) == ("Blåbær", len("Blåbær ".encode()))
    assert caught.value.stop_reason == "Unknown" and caught.value.raw_stop_reason is None
    assert caught.value.usage == response.usage


def test_usage_of_a_broken_stream_is_reported(chat_server):
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 30, "output_tokens": 2}}}
    end = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    bodies = {
        "an error": Chunks([sse(start, end)]),
        "damage": Chunks([sse(start) + b"data: {]\n\n"]),
        "a connection that is lost": Chunks([sse(start)], Ending.CUT),
    }
    for what, body in bodies.items():
        server = chat_server(lambda _, body=body: body)
        with pytest.raises(ProviderUnavailable) as caught:
            streamed("anthropic", server.base_url, asking("anthropic/m"))
        assert caught.value.usage == Usage(input_tokens=30, output_tokens=2), what


@each
def test_empty_stream_is_unknown(chat_server, case):
    server = chat_server(lambda body: Chunks([], headers={"content-type": case.kind}))
    deltas, response = respond(case, server, streamed)
    assert (deltas, response.text, response.stop_reason) == ([], "", StopReason.UNKNOWN)


@each
def test_damaged_event_is_a_failure(chat_server, case):
    bad = b'{"half": \n' if case.name == "ollama" else b'data: {"half": \n\n'
    server = chat_server(lambda body: Chunks([bad + case.stream], headers={"content-type": case.kind}))
    with pytest.raises(CallFailed, match="not JSON"):
        respond(case, server, streamed)


@each
def test_closed_stream_closes_its_connection(case):
    def endless():
        yield case.stream[: case.stream.index(b"og ")]
        while True:
            yield b"\n" * 100_000

    async def leave(provider):
        answer = provider.stream(case.request())
        async for delta in answer:
            assert delta.text == "Blåbær "
            break
        await answer.aclose()

    with chat_server(lambda body: Chunks(endless(), headers={"content-type": case.kind})) as server:
        over(case.name, server.base_url, leave, options=dict(case.options))
        assert server.dropped.wait(60)


# -- requests -------------------------------------------------------------------------------------------------


WHERE = {
    "anthropic": ("/v1/messages", "/v1/messages"),
    "gemini": ("/v1/models/m:generateContent", "/v1/models/m:streamGenerateContent?alt=sse"),
    "vertex": (
        "/v1/projects/p/locations/europe-west1/publishers/google/models/m:generateContent",
        "/v1/projects/p/locations/europe-west1/publishers/google/models/m:streamGenerateContent?alt=sse",
    ),
    "ollama": ("/v1/api/chat", "/v1/api/chat"),
}
KEYS = {
    "anthropic": ("x-api-key", KEY),
    "gemini": ("x-goog-api-key", KEY),
    "vertex": ("authorization", f"Bearer {KEY}"),
    "ollama": ("authorization", f"Bearer {KEY}"),
}


@each
def test_request_has_its_path_and_key_header(chat_server, case):
    server = chat_server(lambda body: case.whole)
    respond(case, server)
    respond(case, server, streamed)
    whole, stream = server.requests
    assert (whole.path, stream.path) == WHERE[case.name]
    name, value = KEYS[case.name]
    assert whole.headers[name] == stream.headers[name] == value
    assert KEY not in json.dumps(whole.body) + whole.path
    if case.name in ("anthropic", "ollama"):
        assert (whole.body.get("stream", False), stream.body["stream"]) == (False, True)


def test_version_betas_and_a_bearer_token_are_sent_to_anthropic(chat_server):
    case = anthropic()
    server = chat_server(lambda body: case.whole)
    complete("anthropic", server.base_url, case.request(), options={"auth": "bearer", "betas": ["one", "two"]})
    headers = server.requests[0].headers
    assert (headers["anthropic-version"], headers["anthropic-beta"]) == ("2023-06-01", "one,two")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in headers


def test_local_ollama_needs_no_key(chat_server):
    case = ollama()
    server = chat_server(lambda body: case.whole)
    complete("ollama", server.base_url, case.request(), api_key=None)
    assert "authorization" not in server.requests[0].headers


def test_vertex_base_url_depends_on_the_region_and_project_is_required():
    spec = SPECS["vertex"]
    assert spec.base_url is None
    with pytest.raises(InvalidRequest, match="providers.vertex.options.project cannot be used: missing"):
        opened("vertex", None)
    for location, host in (("global", "aiplatform"), ("europe-west1", "europe-west1-aiplatform")):
        provider = opened("vertex", None, options={"project": "p", "location": location})
        assert f"https://{host}.googleapis.com/v1beta1" in str(vars(provider._connection).values())


# -- failures -------------------------------------------------------------------------------------------------


def google(code, status, message, *details):
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def anthropics(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}}


FAILURES = [
    ("anthropic", 401, {}, anthropics("authentication_error", "invalid x-api-key"), AuthFailed, ""),
    ("anthropic", 403, {}, anthropics("permission_error", "no"), AuthFailed, "permission"),
    ("anthropic", 404, {}, anthropics("not_found_error", "model: c"), InvalidRequest, "not_found"),
    ("anthropic", 400, {}, anthropics("invalid_request_error", "prompt is too long: 9 > 8"), ContextWindowExceeded, ""),
    ("anthropic", 400, {}, anthropics("invalid_request_error", "Your credit balance is too low"), QuotaExhausted, ""),
    ("anthropic", 400, {}, anthropics("invalid_request_error", "This model does not support assistant message prefill."), InvalidRequest, "prefill_unsupported"),
    ("anthropic", 429, {"retry-after": "7"}, anthropics("rate_limit_error", "slow down"), RateLimited, ""),
    ("anthropic", 529, {}, anthropics("overloaded_error", "Overloaded"), ProviderUnavailable, ""),
    ("anthropic", 500, {}, "<html>oops</html>", ProviderUnavailable, ""),
    ("anthropic", 529, {"x-should-retry": "false"}, anthropics("overloaded_error", "Overloaded"), ProviderUnavailable, "not_retryable"),
    ("anthropic", 400, {"x-should-retry": "false"}, anthropics("invalid_request_error", "bad"), InvalidRequest, ""),
    ("anthropic", 409, {"x-should-retry": "true"}, anthropics("invalid_request_error", "in flight"), ProviderUnavailable, ""),
    ("gemini", 400, {}, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), AuthFailed, ""),
    ("gemini", 400, {}, google(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."), ContextWindowExceeded, ""),
    ("gemini", 403, {}, google(403, "PERMISSION_DENIED", "enable it"), AuthFailed, "permission"),
    ("gemini", 503, {}, google(503, "UNAVAILABLE", "overloaded"), ProviderUnavailable, ""),
    ("gemini", 429, {}, google(429, "RESOURCE_EXHAUSTED", "quota", {"@type": "RetryInfo", "retryDelay": "7s"}), RateLimited, ""),
    ("gemini", 429, {}, google(429, "RESOURCE_EXHAUSTED", "quota", {"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}), QuotaExhausted, ""),
    ("ollama", 404, {}, {"error": "model 'm' not found"}, InvalidRequest, "not_found"),
    ("ollama", 500, {}, {"error": "llama runner process has terminated"}, ProviderUnavailable, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "headers", "body", "kind", "sub_cause"), FAILURES)
def test_error_has_its_cause_whole_and_streamed(chat_server, name, status, headers, body, kind, sub_cause):
    case = next(case for case in CASES if case.name == name)
    server = chat_server(lambda _: (status, headers, body))
    for failure in failures(case, server):
        assert (type(failure), failure.sub_cause, failure.status) == (kind, sub_cause, status)
        if kind is RateLimited:
            assert failure.retry_after_s == 7


ERRORS = {
    "anthropic": sse(anthropics("overloaded_error", f"Overloaded, {KEY}")),
    "gemini": sse(google(503, "UNAVAILABLE", f"overloaded, {KEY}")),
    "vertex": sse(google(503, "UNAVAILABLE", f"overloaded, {KEY}")),
    "ollama": ndjson({"error": f"the runner stopped, {KEY}"}),
}


@each
def test_error_within_a_stream_is_a_failure_without_the_key(chat_server, case):
    half = case.stream[: case.stream.index(b"og ")].rpartition(b"\n")[0] + b"\n\n"
    server = chat_server(lambda _: Chunks([half, ERRORS[case.name]], headers={"content-type": case.kind}))
    with pytest.raises(CallFailed) as caught:
        respond(case, server, streamed)
    assert caught.value.excerpt == "Blåbær"
    assert caught.value.sub_cause == "error_in_200"
    assert KEY not in str(caught.value) + repr(caught.value)
    assert "[redacted]" in caught.value.detail


@each
def test_key_in_an_error_is_redacted(chat_server, case):
    server = chat_server(lambda _: (401, {}, {"error": {"message": f"wrong key {KEY}"}}))
    for failure in failures(case, server):
        assert isinstance(failure, AuthFailed)
        assert KEY not in str(failure) + repr(failure) + str(failure.to_dict())


@each
def test_error_with_status_200_is_a_failure(chat_server, case):
    server = chat_server(lambda _: {"error": {"message": "it went wrong"}})
    for failure in failures(case, server):
        assert (failure.detail, failure.sub_cause) == ("it went wrong", "error_in_200")


@each
def test_quota_headers_are_reported(chat_server, case):
    told = {
        "anthropic-ratelimit-tokens-remaining": "5",
        "anthropic-priority-input-tokens-remaining": "4",
        "x-ratelimit-remaining": "6",
        "x-ratelimit-renewalperiod-tokens": "60",
        "x-ms-is-spilled-over": "true",
    }
    headers = {"content-type": "application/json", "x-other": "7", **told}
    assert respond(case, chat_server(lambda _: (200, headers, json.dumps(case.whole)))).quota_metadata == told


# -- models ---------------------------------------------------------------------------------------------------


def listed(name, server, **options):
    return over(name, server.base_url, lambda provider: provider.models(), options=options)


def paged(*pages):
    left = list(pages)
    return lambda body: left.pop(0)


def test_anthropic_models_are_listed_page_by_page(chat_server):
    first = {
        "data": [{"id": "a", "max_input_tokens": 9, "max_tokens": 4}, {"id": 7}],
        "has_more": True,
        "last_id": "a b",
    }
    server = chat_server(paged(first, {"data": [{"id": "c"}], "has_more": False}))
    assert listed("anthropic", server) == (ModelInfo(id="a", input_tokens=9, output_tokens=4), ModelInfo(id="c"))
    assert [request.path for request in server.requests] == [
        "/v1/models?limit=1000",
        "/v1/models?limit=1000&after_id=a%20b",
    ]
    assert server.requests[0].headers["x-api-key"] == KEY


def test_gemini_list_contains_only_generating_models(chat_server):
    models = [
        {
            "name": "models/g",
            "inputTokenLimit": 9,
            "outputTokenLimit": 4,
            "supportedGenerationMethods": ["generateContent"],
        },
        {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/odd", "supportedGenerationMethods": 7},
    ]
    server = chat_server(paged({"models": models, "nextPageToken": "x/y"}, {"models": [{"name": "models/h"}]}))
    assert listed("gemini", server) == (ModelInfo(id="g", input_tokens=9, output_tokens=4), ModelInfo(id="h"))
    assert [request.path for request in server.requests][1] == "/v1/models?pageSize=1000&pageToken=x%2Fy"


def test_page_without_generating_models_does_not_end_the_list(chat_server):
    embedding = {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]}
    pages = paged(
        {"models": [embedding], "nextPageToken": "2"}, {"nextPageToken": "3"}, {"models": [{"name": "models/g"}]}
    )
    assert listed("gemini", chat_server(pages)) == (ModelInfo(id="g"),)


def test_vertex_models_are_listed_page_by_page_without_project(chat_server):
    first = {"publisherModels": [{"name": "publishers/google/models/g"}], "nextPageToken": "b"}
    server = chat_server(paged(first, {"publisherModels": [{"name": "publishers/google/models/h"}]}))
    assert listed("vertex", server, project="p") == (ModelInfo(id="g"), ModelInfo(id="h"))
    path = "/v1/publishers/google/models?pageSize=1000"
    assert [request.path for request in server.requests] == [path, f"{path}&pageToken=b"]


def test_ollama_lists_local_models(chat_server):
    server = chat_server(lambda body: {"models": [{"name": "q:8b"}, {"model": "r"}, {}]})
    assert listed("ollama", server) == (ModelInfo(id="q:8b"), ModelInfo(id="r"))
    assert server.requests[0].path == "/v1/api/tags"


def test_endless_model_list_is_truncated(chat_server):
    server = chat_server(lambda body: {"data": [{"id": "a"}], "has_more": True, "last_id": "a"})
    assert len(listed("anthropic", server)) == 20


@pytest.mark.parametrize("name", ["anthropic", "gemini", "ollama"])
def test_invalid_model_list_is_a_failure_or_empty(chat_server, name):
    with pytest.raises(TransientUnknown, match="not a list of models"):
        listed(name, chat_server(lambda body: (200, {}, "7")))
    with pytest.raises(AuthFailed):
        listed(name, chat_server(lambda body: (401, {}, "{}")))
    assert listed(name, chat_server(lambda body: {"models": 7, "data": "x"})) == ()


def test_repr_of_settings_does_not_contain_the_key():
    assert KEY not in repr(ProviderSettings(name="anthropic", api_key=lambda: KEY))
