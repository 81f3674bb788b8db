"""Guards in the gateway: what providers and clients see, in every dialect, whole and streamed."""

import json

import pytest

from helmdeck_core import ConfigError, ToolCall
from helmdeck_core.cli import main
from helmdeck_gateway import Gateway
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream

MAIL, KEY = "jane.doe@acme.org", "ghp_" + "a1B2" * 9
ANSWER = "I wrote to [EMAIL_1]; bob@acme.org knows, too."
SHOWN = f"I wrote to {MAIL}; [EMAIL] knows, too."
GUARDS = {
    "personal": {"kind": "personal_data", "action": "redact"},
    "keys": {"kind": "secrets", "models": ["up/m"]},
    "quiet": {"kind": "secrets", "models": ["quiet"], "blocked": "refusal"},
    "tools": {"kind": "tools", "when": ["answer"], "options": {"deny": ["delete_*"]}},
    "report": {"kind": "patterns", "action": "flag", "options": {"patterns": {"project": "Falcon"}}},
}

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
every = pytest.mark.parametrize("name", DIALECTS)


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT)
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(server):
    config = {
        "providers": {"up": upstream(server)},
        "recovery": {"max_attempts": 1},
        "gateway": {"models": {"quiet": "up/q", "free": "up/f"}},
        "guards": GUARDS,
        "events": {"sinks": ["gateway", "prometheus"]},
    }
    with running_gateway(config=config) as running:
        yield running


def ask(gateway, server, name, stream, text, answer, model="up/m", **fields):
    server.requests.clear()
    server.answer = answer
    dialect = DIALECTS[name]
    body = {"model": model, **dialect.body(text), "stream": stream, **fields}
    if not stream:
        body.pop("stream_options", None)
    return gateway.send(dialect.path, body), dialect


@both
@every
def test_provider_sees_placeholders_and_client_the_original(gateway, server, name, stream):
    answer, dialect = ask(gateway, server, name, stream, f"Write to {MAIL}", ScriptedAnswer(text=ANSWER))
    read = dialect.streamed(answer.events) if stream else dialect.whole(answer.body)
    assert read.text == SHOWN
    assert MAIL not in json.dumps(server.requests[0].body)
    assert "Write to [EMAIL_1]" in json.dumps(server.requests[0].body)
    assert "personal redacted (email 1)" in answer.headers["x-helmdeck-guards"]


@both
@every
def test_original_is_restored_in_tool_arguments(gateway, server, name, stream):
    call = ToolCall("call_1", "look_up", '{"to": "[EMAIL_1]", "text": "at \\u0062ob@acme.org"}')
    scripted = ScriptedAnswer(tool_calls=(call,), stop="tool_calls")
    answer, dialect = ask(gateway, server, name, stream, f"Write to {MAIL}", scripted, tools=DIALECTS[name].tools)
    read = dialect.streamed(answer.events) if stream else dialect.whole(answer.body)
    assert [arguments for _, _, arguments in read.calls] == [{"to": MAIL, "text": "at [EMAIL]"}]


@both
@every
def test_blocked_request_is_an_error_without_a_call(gateway, server, name, stream):
    answer, _ = ask(gateway, server, name, stream, f"My key is {KEY}", ScriptedAnswer(text="no"))
    assert (answer.status, server.requests) == (400, [])
    assert "the guard 'keys' blocked the request, found api_key (1)" in answer.body["error"]["message"]
    assert KEY not in answer.raw.decode()


@both
@every
def test_block_can_be_a_refusal_of_the_dialect(gateway, server, name, stream):
    answer, _ = ask(gateway, server, name, stream, f"My key is {KEY}", ScriptedAnswer(text="no"), model="quiet")
    assert (answer.status, server.requests) == (200, [])
    expected = {"chat": '"content_filter"', "messages": '"refusal"', "responses": "content_filter"}[name]
    assert expected in answer.raw.decode()
    assert KEY not in answer.raw.decode()


@every
def test_block_in_a_stream_ends_it_with_an_error_event(gateway, server, name):
    answer, _ = ask(gateway, server, name, True, "hello", ScriptedAnswer(text=f"Of course, here it comes: {KEY} done"))
    raw = answer.raw.decode()
    assert answer.status == 200
    assert "blocked the answer" in raw
    assert "course" in raw
    assert KEY[:12] not in raw


@both
def test_call_of_a_denied_tool_never_reaches_the_client(gateway, server, stream):
    scripted = ScriptedAnswer(tool_calls=(ToolCall("call_1", "delete_all", "{}"),), stop="tool_calls")
    tools = [{"type": "function", "function": {"name": "delete_all", "parameters": {"type": "object"}}}]
    answer, _ = ask(gateway, server, "chat", stream, "clean up", scripted, tools=tools)
    assert "'tools' blocked the answer" in answer.raw.decode()
    assert "tool_calls" not in answer.raw.decode()


def test_reports_are_metrics(gateway, server):
    ask(gateway, server, "chat", False, "What is Falcon?", ScriptedAnswer(text="a bird"))
    metrics = gateway.send("/metrics", method="GET").body
    assert 'helmdeck_guard_reports_total{guard="report",outcome="flagged",stage="request"} 1.0' in metrics


def test_every_mistake_of_all_guards_is_reported():
    tables = {
        "a": {"kind": "secret", "action": "hide", "options": 3},
        "b": {"kind": "secrts"},
        "c": {"kind": "patterns", "options": {"patterns": {"X": "(", "slow": "(a|aa)+$"}}},
    }
    with pytest.raises(ConfigError) as caught:
        Gateway(make_deck(config={"guards": tables}))
    text = str(caught.value)
    assert "guards.a.action: not one of the allowed values" in text
    assert "guards.a.options: " in text
    assert "guards.a.kind: unknown kind of guard (did you mean 'secrets'?)" in text
    assert "guards.b.kind: unknown kind of guard (did you mean 'secrets'?)" in text
    assert "guards.c.options.patterns: not a name, found 'X'" in text
    assert "guards.c.options.patterns.X: not a regular expression" in text
    assert "guards.c.options.patterns.slow: takes too long" in text


def test_config_check_reports_mistakes_of_guards_with_all_others(tmp_path, capsys):
    file = tmp_path / "helmdeck.toml"
    file.write_text(
        '[gateway]\nprot = 1\n[cache]\nmode = "yes"\n[guards.a]\nkind = "secrts"\n[guards."b.c"]\nwhen = 3\nkind = "size"\n'
    )
    assert main(["config", "check", "--config", str(file), "--no-plugins"]) != 0
    text = "".join(capsys.readouterr())
    for each in (
        "gateway.prot",
        "cache.mode",
        "guards.a.kind: unknown kind of guard",
        'guards."b.c".when',
        'guards."b.c".options.max_chars: missing',
    ):
        assert each in text


def test_input_of_embeddings_is_guarded(gateway, server):
    server.requests.clear()
    gateway.send(
        "/v1/embeddings", {"model": "up/m", "input": [f"Write to {MAIL}", "hello"]}
    )  # the server has no vectors
    assert server.requests[0].body["input"] == ["Write to [EMAIL_1]", "hello"]
    refused = gateway.send("/v1/embeddings", {"model": "up/m", "input": f"My key is {KEY}"})
    assert (refused.status, len(server.requests)) == (400, 1)


def test_documents_of_a_ranking_are_guarded(gateway, server):
    server.requests.clear()
    gateway.send("/v1/rerank", {"model": "up/m", "query": "hello", "documents": [f"Write to {MAIL}", "hello"]})
    assert server.requests[0].body["documents"] == ["Write to [EMAIL_1]", "hello"]
