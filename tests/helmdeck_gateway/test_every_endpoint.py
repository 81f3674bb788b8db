"""Every endpoint that calls models: authorised, limited, guarded, and in the events of the request log."""

import contextlib

import pytest

from helmdeck_core import CallFinished
from helmdeck_gateway.accounts.endpoint_names import ENDPOINTS
from helmdeck_gateway.endpoints.calls import CallEndpoint
from helmdeck_gateway.endpoints.gemini import METHODS, GeminiEndpoint
from helmdeck_testing import OPENAI_CHAT, EventRecorder, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config, keyed
from tests.helmdeck_gateway.gateway_support import FormatServer

MAIL, REDACTED = "ann@example.com", "[EMAIL"
PROMPT = f"Write to {MAIL}"
TURN = [{"role": "user", "content": PROMPT}]
PART = {"parts": [{"text": PROMPT}]}
RERANK = {"query": "hi", "documents": [PROMPT]}
GEMINI = "/v1beta/models/up/m:"

BODIES = {
    "/v1/chat/completions": ("chat", {"messages": TURN}),
    "/v1/completions": ("completions", {"prompt": PROMPT}),
    "/v1/messages": ("messages", {"messages": TURN, "max_tokens": 9}),
    "/v1/responses": ("responses", {"input": PROMPT}),
    "/v1/embeddings": ("embeddings", {"input": PROMPT}),
    "/v1/rerank": ("rerank", RERANK),
    "/v2/rerank": ("rerank", RERANK),
    f"{GEMINI}generateContent": ("gemini", {"contents": [PART]}),
    f"{GEMINI}streamGenerateContent": ("gemini", {"contents": [PART]}),
    f"{GEMINI}embedContent": ("embeddings", {"content": PART}),
    f"{GEMINI}batchEmbedContents": ("embeddings", {"requests": [{"content": PART}]}),
}
"""The name of the endpoint and a request, by path."""


class Server(FormatServer):
    """Answers chats, embeddings and rankings."""

    def __init__(self):
        super().__init__(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))

    def respond(self, request):
        """Return the answer."""
        usage = {"prompt_tokens": 2_000, "total_tokens": 2_000}
        if request.path.endswith("/embeddings"):
            return {"data": [{"index": 0, "embedding": [0.5]}], "usage": usage}
        if request.path.endswith("/rerank"):
            return {"results": [{"index": 0, "relevance_score": 0.5}], "usage": usage}
        return super().respond(request)


@pytest.fixture(scope="module")
def server():
    with contextlib.closing(Server()) as server:
        yield server


@pytest.fixture(scope="module")
def recorder():
    return EventRecorder()


@pytest.fixture(scope="module")
def own(server, recorder):
    guards = {"personal": {"kind": "personal_data", "action": "redact"}}
    with keyed(config(server, guards=guards), recorder) as own:
        yield own


def test_table_has_every_endpoint(own):
    routes = [route for route in own.running.gateway.app.routes if hasattr(route, "endpoint")]
    paths = {route.path for route in routes if isinstance(route.endpoint, CallEndpoint)} - {"/v1/messages/count_tokens"}
    assert any(isinstance(route.endpoint, GeminiEndpoint) for route in routes)
    paths |= {f"{GEMINI}{method}" for method in METHODS if method != "countTokens"}
    assert set(BODIES) == paths
    assert {name for name, _ in BODIES.values()} == set(ENDPOINTS)


@pytest.mark.parametrize("path", BODIES)
def test_endpoint_is_authorised_limited_guarded_billed_and_logged(own, server, recorder, path):
    name, body = BODIES[path]
    body = {"model": "up/m", **body}
    number = list(BODIES).index(path)
    others = tuple(each for each in ENDPOINTS if each != name)
    server.requests.clear()
    rows = [
        ("wrong-key", 401),
        (own.add(name=f"endpoint-{number}", dialects=others), 403),
        (own.add(name=f"model-{number}", models=frozenset({"up/other"})), 403),
        (own.add(name=f"money-{number}", day_nusd=0), 402),
        (own.add(name=f"tag-{number}", tags=("none",)), 403, {"x-helmdeck-tags": "some"}),
    ]
    for key, status, *headers in rows:
        assert own.send(path, body, key=key, headers=headers[0] if headers else {}).status == status
    assert server.requests == []
    key = own.add(name=f"rate-{number}", rate=1)
    answers = [own.send(path, body, key=key) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 429]
    (sent,) = server.requests
    assert MAIL not in str(sent.body) and REDACTED in str(sent.body)
    (finished,) = [event for event in recorder.of(CallFinished) if event.caller == f"rate-{number}"]
    assert finished.cost_usd == pytest.approx(COST if finished.pack not in ("embeddings", "rerank") else 0.002)
