"""Pages in a browser cannot use a gateway that needs no key."""

import pytest

from helmdeck_gateway.accounts.local_only import LocalOnly
from helmdeck_gateway.problems import Problem
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import config, keyed
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "http://127.0.0.1.evil.example:8930"},
    {"host": "evil.example"},
    {"host": "evil.example:8930", "origin": "http://evil.example:8930"},
    {"host": "10.0.0.1"},
    {"host": "[::"},
    {"host": "[fe80::1]:8930"},
    {"sec-fetch-site": "cross-site"},
]
LOCAL = [
    {},
    {"host": "localhost:8930", "origin": "http://localhost:3000", "sec-fetch-site": "same-site"},
    {"host": "127.0.0.1:8930", "origin": "http://127.0.0.2"},
    {"host": "[::1]:8930", "origin": "https://[::1]"},
    {"host": "gateway:8930", "origin": "http://webui:3000"},
    {"host": "host.docker.internal:8930"},
    {"host": "LOCALHOST", "origin": "vscode-webview://abc", "sec-fetch-site": "cross-site"},
]


def encoded(headers):
    return {name.encode(): value.encode() for name, value in headers.items()}


@pytest.mark.parametrize("headers", LOCAL, ids=str)
def test_local_programs_and_pages_are_served(headers):
    LocalOnly().check(encoded(headers))


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_pages_of_other_hosts_are_refused(headers):
    with pytest.raises(Problem) as caught:
        LocalOnly(["other.example"]).check(encoded(headers))
    assert caught.value.status == 403
    LocalOnly(["*"]).check(encoded({each: headers[each] for each in headers if each == "host"}))


def test_configured_hosts_are_served():
    LocalOnly(["Chat.example"]).check(encoded({"host": "chat.example:80", "origin": "https://chat.example"}))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/embeddings"])
def test_page_cannot_use_a_gateway_without_keys(path):
    server = FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))
    body = {"model": "up/m", "messages": [{"role": "user", "content": "x"}], "input": "x"}
    with running_gateway(config={"providers": {"up": upstream(server)}}) as running:
        for headers in FOREIGN[0], FOREIGN[4]:
            answer = running.send(path, body, headers={**headers, "content-type": "text/plain"})
            assert (answer.status, answer.body["error"]["type"]) == (403, "permission_error")
        assert running.send("/v1/models", method="GET", headers=FOREIGN[0]).status == 403
    server.close()
    assert server.requests == []


def test_page_with_a_key_is_served():
    server = FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))
    with keyed(config(server)) as running:
        body = {"model": "up/m", "messages": [{"role": "user", "content": "x"}]}
        assert running.send(body=body, headers={"origin": "https://chat.example", "host": "gw.example"}).status == 200
    server.close()
