"""Unmodified SDKs and the endpoints beyond plain chats: Gemini's API, text completions, vectors, files, schemas, reasoning.

An SDK that is not installed is skipped: ``pip install openai anthropic google-genai``.
"""

import base64

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, chat_server
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

pytestmark = pytest.mark.filterwarnings("default")  # deprecations inside the SDKs

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
CALL = ToolCall("call_1", "look_up", '{"word":"tide"}')
FENCED = ScriptedAnswer(text='Sure:\n```json\n{"word": "tide"}\n```')
PDF = base64.b64encode(b"%PDF-1.7").decode()


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT)
    yield running
    running.close()


@pytest.fixture(scope="module")
def vectors():
    rows = [{"object": "embedding", "index": i, "embedding": [0.5, 0.25]} for i in range(2)]
    with chat_server(
        lambda _: {"object": "list", "data": rows, "model": "e", "usage": {"prompt_tokens": 2, "total_tokens": 2}}
    ) as it:
        yield it


@pytest.fixture(scope="module")
def gateway(server, vectors):
    with running_gateway(config={"providers": {"up": upstream(server), "vectors": upstream(vectors)}}) as running:
        yield running


@pytest.fixture(autouse=True)
def hello(server):
    server.answer = ScriptedAnswer(text="The tide is high.", reasoning="Let me think.")
    server.requests.clear()


@pytest.fixture(scope="module")
def openai(gateway):
    module = pytest.importorskip("openai", reason="pip install openai")
    with module.OpenAI(base_url=f"{gateway.url}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def anthropic(gateway):
    module = pytest.importorskip("anthropic", reason="pip install anthropic")
    with module.Anthropic(base_url=gateway.url, api_key="any", max_retries=0) as client:
        yield client


def test_openai_text_completions_and_streams(openai):
    made = openai.completions.create(model="up/m", prompt="Say it:", max_tokens=9)
    assert (made.choices[0].text, made.choices[0].finish_reason) == ("The tide is high.", "stop")
    chunks = openai.completions.create(model="up/m", prompt="Say it:", stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == "The tide is high."


def test_openai_embeddings_in_its_default_encoding(openai, vectors):
    made = openai.embeddings.create(model="vectors/e", input=["a", "b"])
    assert [row.embedding for row in made.data] == [[0.5, 0.25]] * 2
    assert vectors.requests[-1].body["encoding_format"] == "base64"


def test_openai_chat_with_a_file_a_tool_and_a_schema(openai, server):
    part = {"type": "file", "file": {"filename": "t.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "read it"}, part]}]
    assert openai.chat.completions.create(model="up/m", messages=messages).choices[0].message.content
    assert server.requests[0].body["messages"][0]["content"][1] == part
    server.answer = ScriptedAnswer(stop="tool_calls", tool_calls=(CALL,))
    tool = {"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}
    made = openai.chat.completions.create(model="up/m", messages=messages, tools=[tool])
    assert made.choices[0].message.tool_calls[0].function.arguments == CALL.arguments
    server.answer = FENCED
    form = {"type": "json_schema", "json_schema": {"name": "w", "schema": SCHEMA, "strict": True}}
    made = openai.chat.completions.create(model="up/m", messages=messages, response_format=form)
    assert made.choices[0].message.content == '{"word":"tide"}'


def test_openai_responses_with_reasoning_a_schema_and_a_stream(openai, server):
    made = openai.responses.create(model="up/m", input="hi", reasoning={"effort": "low", "summary": "auto"})
    assert (made.output_text, made.status) == ("The tide is high.", "completed")
    assert server.requests[0].body["reasoning_effort"] == "low"
    with openai.responses.stream(model="up/m", input="hi") as stream:
        assert stream.get_final_response().output_text == "The tide is high."
    server.answer = FENCED
    form = {"format": {"type": "json_schema", "name": "w", "schema": SCHEMA, "strict": True}}
    assert openai.responses.create(model="up/m", input="hi", text=form).output_text == '{"word":"tide"}'


def test_openai_background_conversations_and_stored_files(openai, server):
    made = openai.responses.create(model="up/m", input="hi", background=True, stream=True)
    events = list(made)
    assert [event.type for event in events[:2]] == ["response.created", "response.queued"]
    assert (events[-1].type, events[-1].response.output_text) == ("response.completed", "The tide is high.")
    name = events[0].response.id
    more = openai.responses.retrieve(name, stream=True, starting_after=events[3].sequence_number)
    assert [event.sequence_number for event in more] == [event.sequence_number for event in events[4:]]
    assert openai.responses.cancel(name).status == openai.responses.retrieve(name).status == "completed"
    with openai.responses.stream(response_id=name) as stream:
        assert stream.get_final_response().id == name
    file = openai.files.create(file=("t.pdf", b"%PDF-1.7"), purpose="user_data")
    talk = openai.conversations.create(
        items=[{"type": "message", "role": "user", "content": "hi"}], metadata={"a": "b"}
    )
    content = [{"type": "input_file", "file_id": file.id}, {"type": "input_text", "text": "read it"}]
    item = {"role": "user", "content": content}
    answer = openai.responses.create(model="up/m", input=[item], conversation=talk.id)
    assert answer.conversation.id == talk.id
    assert server.requests[-1].body["messages"][1]["content"][0]["type"] == "file"
    items = list(openai.conversations.items.list(talk.id, order="asc", limit=1))
    assert [each.type for each in items] == ["message", "message", "reasoning", "message"]
    assert openai.conversations.items.retrieve(items[0].id, conversation_id=talk.id).content[0].text == "hi"
    assert openai.conversations.items.delete(items[0].id, conversation_id=talk.id).id == talk.id
    assert openai.conversations.update(talk.id, metadata={"c": "d"}).metadata == {"c": "d"}
    assert openai.conversations.delete(talk.id).deleted


def test_openai_lists_input_items_and_names_stored_ones(openai, server):
    module = pytest.importorskip("openai")
    first = openai.responses.create(model="up/m", input="when is high tide?")
    second = openai.responses.create(model="up/m", input="and low tide?", previous_response_id=first.id)
    items = list(openai.responses.input_items.list(second.id, order="asc", limit=1))
    assert [each.type for each in items] == ["message", "reasoning", "message", "message"]
    assert items[-1].content[0].text == "and low tide?"
    named = [{"type": "item_reference", "id": items[0].id}, {"type": "item_reference", "id": items[2].id}]
    openai.responses.create(model="up/m", input=[*named, {"role": "user", "content": "sure?"}])
    told = [each["content"] for each in server.requests[-1].body["messages"]]
    assert told == ["when is high tide?", "The tide is high.", "sure?"]
    openai.responses.delete(first.id)
    with pytest.raises(module.NotFoundError) as raised:
        openai.responses.create(model="up/m", input=[{"type": "item_reference", "id": items[0].id}])
    assert (raised.value.code, raised.value.param) == ("item_not_found", "input[0].id")
    with pytest.raises(module.NotFoundError):
        openai.responses.input_items.list(first.id)


def test_openai_errors_keep_their_class_and_field(openai):
    module = pytest.importorskip("openai")
    with pytest.raises(module.BadRequestError) as raised:
        openai.completions.create(model="up/m", prompt="Say it:", suffix="end")
    assert raised.value.param == "suffix"
    with pytest.raises(module.NotFoundError):
        openai.embeddings.create(model="nowhere/e", input="a")


def test_anthropic_messages_streams_tools_and_documents(anthropic, server):
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
    messages = [{"role": "user", "content": [document, {"type": "text", "text": "read it"}]}]
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    made = anthropic.messages.create(model="up/gpt-5", max_tokens=2_000, messages=messages, thinking=thinking)
    assert [block.type for block in made.content] == ["thinking", "text"]
    assert server.requests[0].body["reasoning_effort"] == "low"
    assert server.requests[0].body["messages"][0]["content"][0]["type"] == "file"
    with anthropic.messages.stream(model="up/m", max_tokens=50, messages=messages) as stream:
        assert "".join(stream.text_stream) == "The tide is high."
    server.answer = ScriptedAnswer(stop="tool_calls", tool_calls=(CALL,))
    tools = [{"name": "look_up", "input_schema": SCHEMA}]
    made = anthropic.messages.create(model="up/m", max_tokens=50, messages=messages, tools=tools)
    assert (made.stop_reason, made.content[-1].input) == ("tool_use", {"word": "tide"})


def test_anthropic_files_are_stored_named_and_deleted(anthropic, server):
    module = pytest.importorskip("anthropic")
    files = anthropic.beta.files
    made = [files.upload(file=(f"{number}.pdf", b"%PDF-1.7", "application/pdf")) for number in range(3)]
    assert (made[0].mime_type, made[0].size_bytes, made[0].downloadable) == ("application/pdf", 8, True)
    assert files.retrieve_metadata(made[0].id) == made[0]
    assert files.download(made[0].id).read() == b"%PDF-1.7"
    assert list(files.list(limit=1))[:3] == made[::-1]
    by_ids = [made[1].id, made[0].id]  # the paging of earlier versions of the API
    assert [each.id for each in files.list(extra_query={"limit": 2, "after_id": made[2].id}).data] == by_ids
    document = {"type": "document", "source": {"type": "file", "file_id": made[0].id}}
    ask = {"model": "up/m", "max_tokens": 50, "messages": [{"role": "user", "content": [document]}]}
    assert anthropic.beta.messages.create(**ask, betas=["files-api-2025-04-14"]).content[-1].text == "The tide is high."
    assert server.requests[-1].body["messages"][0]["content"][0]["type"] == "file"
    for each in made:
        assert files.delete(each.id).type == "file_deleted"
    with pytest.raises(module.NotFoundError, match="there is no file"):
        files.retrieve_metadata(made[0].id)


@pytest.mark.parametrize(
    "fields",
    [
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"output_format": {"type": "json_schema", "schema": SCHEMA}},
    ],
    ids=["output_config", "output_format"],
)
def test_anthropic_structured_output_under_both_of_its_names(anthropic, server, fields):
    server.answer = FENCED
    messages = [{"role": "user", "content": "hi"}]
    made = anthropic.messages.create(model="up/m", max_tokens=50, messages=messages, extra_body=fields)
    assert made.content[-1].text == '{"word":"tide"}'


def test_anthropic_errors_keep_their_class(anthropic):
    module = pytest.importorskip("anthropic")
    content = [{"type": "document", "source": {"type": "disk", "path": "f"}}]
    with pytest.raises(module.BadRequestError, match="supported: base64, url, text"):
        anthropic.messages.create(model="up/m", max_tokens=50, messages=[{"role": "user", "content": content}])


@pytest.mark.parametrize("version", ["v1beta", "v1"])
def test_google_genai_reads_answers_streams_tools_schemas_and_errors(gateway, server, version):
    genai = pytest.importorskip("google.genai", reason="pip install google-genai")
    options = genai.types.HttpOptions(base_url=gateway.url, api_version=version)
    client = genai.Client(api_key="any", http_options=options)
    server.answer = ScriptedAnswer(text="The tide is high.", reasoning="hm")
    config = genai.types.GenerateContentConfig(
        system_instruction="be brief", thinking_config=genai.types.ThinkingConfig(include_thoughts=True)
    )
    answer = client.models.generate_content(model="up/m", contents="hi", config=config)
    assert (answer.text, answer.usage_metadata.total_token_count) == ("The tide is high.", 7)
    assert answer.candidates[0].finish_reason is genai.types.FinishReason.STOP
    chunks = list(client.models.generate_content_stream(model="up/m", contents="hi"))
    assert "".join(chunk.text or "" for chunk in chunks) == "The tide is high."
    assert client.models.count_tokens(model="up/m", contents="hi").total_tokens > 0

    def look_up(word: str, most: int = 1) -> str:
        """Look up."""
        server.answer = ScriptedAnswer(text="found")
        return f"{word} {most}"

    server.answer = ScriptedAnswer(stop="tool_calls", tool_calls=(CALL,))
    chat = client.chats.create(model="up/m", config=genai.types.GenerateContentConfig(tools=[look_up]))
    assert chat.send_message("look it up").text == "found"
    assert server.requests[-1].body["messages"][-1] == {"role": "tool", "content": "tide 1", "tool_call_id": "call_1"}
    server.answer = FENCED
    form = genai.types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=SCHEMA)
    assert client.models.generate_content(model="up/m", contents="hi", config=form).parsed == {"word": "tide"}
    with pytest.raises(genai.errors.ClientError) as raised:
        list(client.models.generate_content_stream(model="nope/m", contents="hi"))
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")
