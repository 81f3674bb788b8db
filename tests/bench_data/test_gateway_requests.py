"""The recorded requests of real clients over the gateway: each gets a usable answer from every family, and loses no field silently.

The recordings are in ``CLIENT_REQUESTS``; without them the tests are skipped.
"""

import contextlib
import json
import os
from pathlib import Path

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import ScriptedAnswer
from helmdeck_testing.server_formats import SERVER_FORMATS
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_support import DIALECTS, KINDS, FormatServer, running_gateway, upstream

DATA = Path(os.environ.get("CLIENT_REQUESTS") or Path(__file__).parents[3] / "shared" / "fixtures" / "clients")
FAMILIES = ("openai-chat", "openai-responses", "anthropic")
PATHS = {dialect.path: name for name, dialect in DIALECTS.items()}

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"there are no recorded requests in {DATA}; set CLIENT_REQUESTS"
)


def recordings():
    """Yield the name of a recording, its path without a query, and its body."""
    for file in sorted(DATA.glob("*.json")):
        for number, request in enumerate(json.loads(file.read_text())["requests"]):
            yield f"{file.stem}-{number}", request["path"], request.get("body")
    for file in sorted((DATA / "agents").glob("*.json")):
        recorded = json.loads(file.read_text())
        yield f"agent {file.stem}", recorded["path"], recorded.get("body")


ROWS = [
    pytest.param(PATHS[path.partition("?")[0]], path, body, id=name)
    for name, path, body in recordings()
    if path.partition("?")[0] in PATHS and isinstance(body, dict)
] or [pytest.param("chat", "", {}, id="no recordings")]


@pytest.fixture(scope="module")
def servers():
    with contextlib.ExitStack() as stack:
        running = {name: FormatServer(SERVER_FORMATS[name]) for name in FAMILIES}
        for server in running.values():
            stack.callback(server.close)
        yield running


@pytest.fixture(scope="module")
def gateway(servers):
    providers = {f"to-{name}": upstream(server, KINDS[name]) for name, server in servers.items()}
    with running_gateway(config={"providers": providers}) as running:
        yield running


def tools_of(name, body):
    """The names of the tools that clients execute."""
    tools = [inner for tool in body.get("tools") or () for inner in tool.get("tools") or [tool]]
    described = [tool.get("function", tool) for tool in tools]
    return [tool["name"] for tool in described if "name" in tool]


def answer_in_form(body):
    """An answer in the form that a request demands, as JSON; ``None`` if it demands none."""
    form = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    if form.get("type") not in ("json_object", "json_schema"):
        return None
    schema = form.get("json_schema", form).get("schema") or {"properties": {"answer": {}}}
    values = {"integer": 3, "number": 3, "boolean": True, "array": [], "object": {}, "null": None}
    return json.dumps({name: values.get(each.get("type"), "tide") for name, each in schema["properties"].items()})


@pytest.mark.parametrize(("name", "path", "body"), ROWS)
@each_case("stream", [False, True], ids=["whole", "streamed"])
@each_case("family", FAMILIES)
def test_recorded_request_gets_a_usable_answer(gateway, servers, name, path, body, family, stream):
    dialect, server = DIALECTS[name], servers[family]
    server.requests.clear()
    tools = tools_of(name, body)
    form = answer_in_form(body)
    text = form or "The tide is high."
    calls = (ToolCall("call_1", tools[0], "{}"),) if tools and not form else ()
    server.answer = ScriptedAnswer(text=text, stop="tool_calls" if calls else "stop", tool_calls=calls)
    sent = {**body, "model": f"to-{family}/m", "stream": stream}
    sent.pop("stream_options", None)
    if stream and name == "chat":
        sent["stream_options"] = {"include_usage": True}
    answer = gateway.send(path, sent)
    assert answer.status == 200, answer
    read = dialect.streamed(answer.events) if stream else dialect.whole(answer.body)
    assert json.loads(read.text) == json.loads(form) if form else read.text == text
    assert [call[1] for call in read.calls] == [call.name for call in calls]
    assert read.finish == dialect.ends[1 if calls else 0]
    dropped = {field.strip().partition(".")[0] for field in answer.headers.get("x-helmdeck-dropped", "").split(",")}
    lost = {field for field in body if field not in TRANSLATED[name] and field not in server.requests[-1].body}
    assert lost <= dropped | NEUTRAL


TRANSLATED = {
    "chat": {
        "reasoning_effort",
        "messages",
        "tools",
        "tool_choice",
        "max_tokens",
        "max_completion_tokens",
        "response_format",
        "stop",
        "stream_options",
    },
    "responses": {"input", "tools", "tool_choice", "instructions", "max_output_tokens", "text", "store"},
    "messages": {"messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "output_config"},
}
"""Fields that every family has in some form."""
NEUTRAL = {"stream", "model", "temperature"}
