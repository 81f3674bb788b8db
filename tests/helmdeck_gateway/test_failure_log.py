"""The log of a gateway: what clients are not shown of an internal error is written under the id that they see."""

import contextlib
import io

import pytest

from helmdeck_core import AuthFailed, log
from helmdeck_gateway.calls.service import Service
from helmdeck_gateway.dialects import chat
from helmdeck_gateway.problems import problem_of
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream

UPSTREAM_KEY = "upstream-key-0123456789"
CLIENT_KEY = "a-key-of-a-client-0123456789"
STORED_KEY = f"hd-{'0a' * 6}-{'x' * 43}"


@pytest.fixture
def gateway(monkeypatch):
    monkeypatch.setenv("UPSTREAM_KEY", UPSTREAM_KEY)
    server = FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))
    with running_gateway(config={"providers": {"up": upstream(server, api_key="env:UPSTREAM_KEY")}}) as running:
        yield running
    server.close()


@pytest.fixture
def written():
    """Returns what was logged."""
    lines = io.StringIO()
    with contextlib.redirect_stderr(lines):
        log.enable("WARNING")
    yield lines.getvalue
    log.disable()


def fail(*_):
    raise RuntimeError(f"broken: {UPSTREAM_KEY} {CLIENT_KEY} {STORED_KEY}")


def check(text, request_id):
    assert "ERROR" in text
    assert f"'request_id': '{request_id}'" in text
    assert "in fail" in text
    assert "RuntimeError: broken: [redacted] [redacted] [redacted]" in text
    assert not [each for each in (UPSTREAM_KEY, CLIENT_KEY, STORED_KEY) if each in text]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_internal_error_is_logged_with_its_reason_and_without_secrets(gateway, written, monkeypatch, name, stream):
    dialect = DIALECTS[name]
    monkeypatch.setattr(Service, "stream" if stream else "complete", fail)
    headers = {"x-request-id": "r-17", "x-api-key": CLIENT_KEY}
    answer = gateway.send(dialect.path, {"model": "up/m", **dialect.body("hi"), "stream": stream}, headers=headers)
    assert answer.status == 500
    assert "broken" not in answer.raw.decode()
    check(written(), "r-17")


def test_request_without_an_id_gets_one_that_the_log_has(gateway, written, monkeypatch):
    monkeypatch.setattr(Service, "complete", fail)
    answer = gateway.send("/v1/chat/completions", {"model": "up/m", **DIALECTS["chat"].body("hi")}, headers={"x-api-key": CLIENT_KEY})  # fmt: skip
    check(written(), answer.body["error"]["request_id"])


def test_response_that_cannot_be_written_is_an_error_in_the_dialect(gateway, written, monkeypatch):
    monkeypatch.setattr(chat, "whole", fail)
    answer = gateway.chat()
    assert (answer.status, answer.body["error"]["code"]) == (500, "internal_error")
    assert "in fail" in written()


def test_error_of_an_endpoint_that_makes_no_call_is_logged(gateway, written, monkeypatch):
    monkeypatch.setattr("helmdeck_gateway.app.list_models", fail)
    assert gateway.send("/v1/models", method="GET").status == 500
    assert "in fail" in written()


def test_mistake_of_a_client_is_not_logged(gateway, written):
    assert gateway.chat(max_tokens=-1).status == 400
    assert written() == ""


class RedirectingServer(FormatServer):
    """Answers every request with a redirect."""

    def respond(self, request):
        """Return the redirect."""
        return 302, {"location": "https://vault.internal.example:8200/v1/secret"}, ""


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"])
def test_addresses_of_the_network_are_logged_and_not_shown(written, path):
    server = RedirectingServer(OPENAI_CHAT)
    providers = {"far": upstream(server), "gone": {**upstream(server), "base_url": "http://gone.invalid:81/inside"}}
    fields = {"messages": [{"role": "user", "content": "x"}], "input": "x", "max_tokens": 9}
    with running_gateway(config={"providers": providers, "recovery": {"max_attempts": 1}}) as running:
        for model in ("far/m", "gone/m"):
            answer = running.send(path, {"model": model, **fields})
            assert answer.status in (400, 503)
            assert not [each for each in ("vault", "8200", "inside", "gone.invalid") if each in answer.raw.decode()]
    server.close()
    assert "vault.internal.example" in written()
    assert "gone.invalid:81" in written()


def test_link_in_an_error_of_a_provider_is_shown():
    failure = AuthFailed("the key was rejected", status=401, detail="see https://provider.example/keys")
    assert "https://provider.example/keys" in problem_of(failure).message
