"""Google's generateContent: over every provider family, whole, as events and as an array."""

import json

import pytest

from helmdeck_core import ChatDelta, ChatRequest, ToolCall
from helmdeck_gateway.dialects.gemini_writer import Writer
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_gateway.dialects.reply import Opening
from helmdeck_gateway.problems import Problem
from helmdeck_testing import SERVER_FORMATS, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import keyed
from tests.helmdeck_gateway.gateway_support import KINDS, FormatServer, Read, events_of, running_gateway, upstream

CALLS = (
    ToolCall("call_1", "look_up", '{"word":"tide","most":3}'),
    ToolCall("call_2", "look_up", '{"word":"moon"}'),
)
PROPERTIES = {"word": {"type": "STRING"}, "most": {"type": "INTEGER", "nullable": True}}
TOOLS = [{"function_declarations": [{"name": "look_up", "description": "d", "parameters": {"type": "OBJECT", "properties": PROPERTIES}}]}]  # fmt: skip
THOUGHTS = {"thinkingConfig": {"includeThoughts": True}}


@pytest.fixture(scope="module")
def gateway(servers):
    providers = {f"to-{name}": upstream(server, KINDS[name]) for name, server in servers.items()}
    config = {"providers": providers, "agent": {"continuation_max_attempts": 0}, "gateway": {"models": {"short": "to-openai-chat/m"}}}  # fmt: skip
    with running_gateway(config=config) as running:
        yield running


def request(gateway, method="generateContent", model="to-openai-chat/m", text="hi", **fields):
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}], **fields}
    return gateway.send(f"/v1beta/models/{model}:{method}", body)


FORMS = ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"]


def read(answer):
    """The response as a client reads it: a stream is the sum of its parts."""
    assert answer.status == 200, answer
    payloads = answer.events or (answer.body if isinstance(answer.body, list) else [answer.body])
    parts = [part for each in payloads for part in each["candidates"][0]["content"]["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    reasons = [reason for each in payloads if (reason := each["candidates"][0].get("finishReason"))]
    assert len(reasons) == 1 and "finishReason" in payloads[-1]["candidates"][0]
    usage = payloads[-1]["usageMetadata"]
    return Read(
        "".join(part.get("text", "") for part in parts if not part.get("thought")),
        "".join(part["text"] for part in parts if part.get("thought")),
        [(call["id"], call["name"], call["args"]) for call in calls],
        reasons[0],
        (usage["promptTokenCount"], usage["candidatesTokenCount"]),
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("family", SERVER_FORMATS)
def test_text_reasoning_calls_and_truncation_survive_from_every_provider(gateway, servers, family, form):
    server, model = servers[family], f"to-{family}/m"
    server.answer = ScriptedAnswer(text="The tide is high today.", reasoning="Let me think about it.")
    shown = read(request(gateway, form, model, generationConfig=THOUGHTS))
    assert shown == Read("The tide is high today.", "Let me think about it.", [], "STOP", (5, 2))
    assert read(request(gateway, form, model)).reasoning == ""
    server.answer = ScriptedAnswer(stop="tool_calls", tool_calls=CALLS)
    called = read(request(gateway, form, model, tools=TOOLS))
    assert [call[0] for call in called.calls] == ["call_1", "call_2"]
    assert [call[2] for call in called.calls] == [{"word": "tide", "most": 3}, {"word": "moon"}]
    assert called.finish == "STOP"
    server.answer = ScriptedAnswer(text="The tide is", stop="length", output_tokens=500)
    assert read(request(gateway, form, model)).finish == "MAX_TOKENS"


def test_request_is_the_same_for_the_provider_as_a_chat_completion(gateway, servers):
    server = servers["openai-chat"]
    server.answer = ScriptedAnswer(stop="tool_calls", tool_calls=CALLS)
    server.requests.clear()
    contents = [
        {"role": "user", "parts": [{"text": "look it up"}]},
        {"role": "model", "parts": [{"functionCall": {"name": c.name, "args": json.loads(c.arguments)}} for c in CALLS]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look_up", "response": {"result": word}}} for word in ("high", "full")]},
    ]  # fmt: skip
    config = {"maxOutputTokens": 50, "temperature": 0.5, "stop_sequences": ["END"], "topP": 0.1, "topK": 4}
    calling = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look_up"]}}
    more = {
        "system_instruction": {"parts": [{"text": "be brief"}]},
        "tools": [*TOOLS, {"googleSearch": {}}],
        "toolConfig": calling,
    }
    answer = gateway.send(
        "/v1beta/models/short:generateContent", {"contents": contents, "generationConfig": config, **more}
    )
    sent = server.requests[0].body
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    ids = [call["id"] for call in sent["messages"][2]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [(m["tool_call_id"], m["content"]) for m in sent["messages"][3:]] == [(ids[0], "high"), (ids[1], "full")]
    schema = sent["tools"][0]["function"]["parameters"]
    assert schema == {
        "type": "object",
        "properties": {"word": {"type": "string"}, "most": {"type": ["integer", "null"]}},
    }
    assert (sent["max_tokens"], sent["temperature"], sent["stop"], sent["top_p"]) == (50, 0.5, ["END"], 0.1)
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "look_up"}}
    assert answer.headers["x-helmdeck-dropped"] == "tools.googleSearch, generationConfig.topK"
    assert answer.body["modelVersion"] == "short"


def test_fields_of_the_same_api_and_signatures_reach_the_provider(gateway, servers):
    server = servers["gemini"]
    server.answer = ScriptedAnswer(text="done")
    server.requests.clear()
    config = {"topK": 4, "thinkingConfig": {"thinkingBudget": 7, "includeThoughts": True}}
    signed = {"functionCall": {"id": "a", "name": "look_up", "args": {}}, "thoughtSignature": "c2ln"}
    contents = [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, signed]},
        {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "look_up", "response": {"n": 1}}}]},
    ]
    body = {"contents": contents, "generationConfig": config, "safetySettings": [{"category": "C"}]}
    assert gateway.send("/v1beta/models/to-gemini/m:generateContent", body).status == 200
    sent = server.requests[0].body
    assert (sent["generationConfig"], sent["safetySettings"]) == (config, [{"category": "C"}])
    assert sent["contents"][1]["parts"][1] == signed
    assert sent["contents"][2]["parts"][0]["functionResponse"]["response"] == {"result": '{"n":1}'}


def test_signature_of_another_provider_returns_with_the_turn(gateway, servers):
    server = servers["anthropic"]
    server.answer = ScriptedAnswer(reasoning="Look it up.", stop="tool_calls", tool_calls=CALLS[:1])
    turn = request(gateway, model="to-anthropic/m", tools=TOOLS).body["candidates"][0]["content"]
    server.requests.clear()
    result = {"role": "user", "parts": [{"functionResponse": {"name": "look_up", "response": {"output": "high"}}}]}
    contents = [{"role": "user", "parts": [{"text": "hi"}]}, turn, result]
    assert gateway.send("/v1beta/models/to-anthropic/m:generateContent", {"contents": contents}).status == 200
    blocks = server.requests[0].body["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "Look it up.", "signature": "c2ln"}


@pytest.mark.parametrize("data", ["+/8=", "-_8=", "-_8"])
def test_inline_data_is_accepted_in_both_alphabets_of_base64(gateway, servers, data):
    part = {"inline_data": {"mime_type": "image/png", "data": data}}
    servers["openai-chat"].requests.clear()
    body = {"contents": [{"parts": [{"text": "what is it?"}, part]}]}
    assert gateway.send("/v1beta/models/short:generateContent", body).status == 200
    sent = servers["openai-chat"].requests[0].body["messages"][0]["content"][1]
    assert sent == {"type": "image_url", "image_url": {"url": "data:image/png;base64,+/8="}}


def test_structured_output_is_decoded_whatever_the_model_supports(gateway, servers):
    servers["openai-chat"].answer = ScriptedAnswer(text='Sure:\n```json\n{"word": "tide", "most": null}\n```')
    config = {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT", "properties": PROPERTIES, "required": ["word"], "propertyOrdering": ["word"]}}  # fmt: skip
    assert json.loads(read(request(gateway, generationConfig=config)).text) == {"word": "tide", "most": None}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "contents"),
        ({"contents": []}, "contents"),
        ({"contents": "hi"}, "contents"),
        ({"contents": [{"role": "pirate", "parts": []}]}, "contents[0].role"),
        ({"contents": [{"parts": [{"executableCode": {}}]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "?"}}]}]}, "contents[0].parts[0].inlineData.data"),
        ({"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"candidateCount": 2}}, "generationConfig.candidateCount"),
        ({"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"responseMimeType": "text/x.enum"}}, "generationConfig.responseMimeType"),
        ({"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"responseModalities": ["AUDIO"]}}, "generationConfig.responseModalities"),
    ],
)  # fmt: skip
def test_invalid_request_names_its_field_in_googles_form(gateway, body, param):
    answer = gateway.send("/v1beta/models/short:generateContent", body)
    error = answer.body["error"]
    assert (answer.status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["details"][0]["metadata"]["param"] == param


def test_unknown_method_and_model_are_errors_in_googles_form(gateway):
    unknown = request(gateway, "predict").body["error"]
    assert (unknown["code"], unknown["status"]) == (404, "NOT_FOUND")
    assert "generateContent" in unknown["message"]
    error = gateway.send("/v1beta/models/none", method="GET").body["error"]
    assert (error["status"], error["details"][0]["reason"]) == ("NOT_FOUND", "MODEL_NOT_FOUND")


def test_final_error_for_gemini_cli_has_a_status_that_it_does_not_repeat():
    down = FormatServer(SERVER_FORMATS["openai-chat"])
    down.close()
    config = {
        "providers": {"up": {"kind": "openai-compatible", "base_url": down.base_url}},
        "recovery": {"max_attempts": 1},
    }
    body = {"contents": [{"parts": [{"text": "hi"}]}]}
    with running_gateway(config=config) as gateway:
        for agent, code in (("GeminiCLI/0.61.0/m (linux; x64)", 424), ("other", 503)):
            answer = gateway.send("/v1beta/models/up/m:generateContent", body, headers={"user-agent": agent})
            error = answer.body["error"]
            assert (answer.status, error["code"]) == (code, code)
            assert ("RetryInfo" in str(error["details"])) is (code == 503)


def test_stream_that_fails_ends_with_an_error_and_stays_readable():
    problem = Problem(message="no model answered", status=503, code="provider_unavailable", retry_after_s=8)
    for form, load in (("events", lambda raw: list(events_of(raw))), ("array", json.loads)):
        writer = Writer(Opening(model="m"), Parsed(request=ChatRequest(model="m", messages=()), body={"stream": form}))
        raw = writer.start() + writer.feed(ChatDelta("The tide")) + writer.ping + writer.fail(problem)
        text, error = load(raw)
        assert text["candidates"][0]["content"]["parts"] == [{"text": "The tide"}]
        assert (error["error"]["code"], error["error"]["status"]) == (503, "UNAVAILABLE")
        assert error["error"]["details"][1]["retryDelay"] == "8s"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("", {"x-goog-api-key": "KEY"}, 200),
        ("?key=KEY", {}, 200),
        ("", {"authorization": "Bearer KEY"}, 200),
        ("", {}, 401),
        ("?key=KEY", {"x-goog-api-key": "hd-000000000000-00000000000000000000000"}, 400),
    ],
)
def test_key_is_read_where_googles_clients_put_it_and_its_limits_hold(servers, path, headers, status):
    config = {"providers": {"up": upstream(servers["openai-chat"])}}
    servers["openai-chat"].answer = ScriptedAnswer(text="hello")
    with keyed(config, models=frozenset({"up/m"})) as gateway:
        sent = {name: value.replace("KEY", gateway.key) for name, value in headers.items()}
        query = path.replace("KEY", gateway.key)

        def send(path, body=None, method="POST"):
            return gateway.running.send(path + query, body, method=method, headers=sent)

        body = {"contents": [{"parts": [{"text": "hi"}]}]}
        assert send("/v1beta/models/up/m:generateContent", body).status == status
        assert send("/v1beta/models/up/m:countTokens", body).status == status
        listed = send("/v1beta/models", method="GET")
        assert (listed.status == 200) is (status == 200)
        if status == 200:
            assert [each["name"] for each in listed.body["models"]] in ([], ["models/up/m"])
            other = send("/v1beta/models/up/other:generateContent", body)
            assert other.body["error"]["status"] == "PERMISSION_DENIED"
            assert gateway.usage.day.requests == 1
