"""OpenAI's text completions over chat models, and what the gateway refuses with a reason."""

import pytest

from tests.helmdeck_gateway.gateway_key_support import config, keyed
from tests.helmdeck_gateway.gateway_support import running_gateway, upstream


@pytest.fixture(scope="module")
def gateway(server):
    with running_gateway(config={"providers": {"up": upstream(server)}}) as running:
        yield running


def complete(gateway, **fields):
    return gateway.send("/v1/completions", {"model": "up/m", "prompt": "Say it:", **fields})


def test_prompt_becomes_a_message_and_the_answer_a_text(gateway, server):
    server.requests.clear()
    answer = complete(
        gateway, prompt=["Say it:"], max_tokens=50, stop=["END"], top_p=0.1, presence_penalty=1, echo=True
    )
    (choice,) = answer.body["choices"]
    assert (answer.body["object"], choice["text"], choice["finish_reason"]) == (
        "text_completion",
        "Say it:hello",
        "stop",
    )
    assert answer.body["usage"]["total_tokens"] == 7
    sent = server.requests[0].body
    assert sent["messages"] == [{"role": "user", "content": "Say it:"}]
    assert (sent["max_tokens"], sent["stop"], sent["top_p"], sent["presence_penalty"]) == (50, ["END"], 0.1, 1)
    assert "prompt" not in sent and "echo" not in sent


def test_stream_has_the_text_one_finish_reason_and_the_usage(gateway):
    *chunks, end = complete(gateway, stream=True, stream_options={"include_usage": True}).events
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    assert "".join(choice["text"] for choice in choices) == "hello"
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
    assert (chunks[-1]["usage"]["total_tokens"], end) == (7, "[DONE]")


@pytest.mark.parametrize(
    ("fields", "param", "reason"),
    [
        ({"suffix": "end"}, "suffix", "chat APIs"),
        ({"logprobs": 0}, "logprobs", "chat APIs"),
        ({"n": 2}, "n", "one completion"),
        ({"prompt": [1, 2]}, "prompt", "tokens"),
        ({"prompt": ["a", "b"]}, "prompt", "a request for each"),
        ({"prompt": ""}, "prompt", "required"),
        ({"prompt": 7}, "prompt", "expected a string"),
    ],
)
def test_what_chat_models_cannot_do_is_refused_with_the_reason(gateway, fields, param, reason):
    answer = complete(gateway, **fields)
    assert (answer.status, answer.body["error"]["param"]) == (400, param)
    assert reason in answer.body["error"]["message"]


def test_limits_of_a_key_hold(server):
    with keyed(config(server), models=frozenset({"fast"}), day_nusd=0) as gateway:
        body = {"model": "fast", "prompt": "hi"}
        assert gateway.send("/v1/completions", body).status == 402
        assert gateway.send("/v1/completions", {**body, "model": "up/m"}).status == 403


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/realtime?model=m"), ("POST", "/v1/realtime/sessions")])
def test_realtime_is_answered_as_out_of_scope(gateway, method, path):
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
    }
    answer = gateway.send(path, method=method, headers=upgrade if method == "GET" else {})
    assert (answer.status, answer.body["error"]["code"]) == (501, "not_supported")
    assert answer.headers["x-should-retry"] == "false"
