"""Tool calls of other models, and images and files of tool results, in chat completions."""

from __future__ import annotations

import re

from helmdeck_core import ChatRequest, FilePart, ImagePart, Message, Role, TextPart, ToolCall
from helmdeck_providers.wire_formats.openai_chat.request import Options, render
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import body_of
from tests.helmdeck_providers.openai_support import PRESETS

PIXEL = ImagePart("image/png", b"x")
PIXEL_SENT = {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}
ATTACHED = {"type": "text", "text": "(attached to the results of the tools)"}


def message(role, *parts, **fields):
    return Message(role, tuple(TextPart(part) if isinstance(part, str) else part for part in parts), **fields)


def sent(*messages, **options):
    return body_of(render(ChatRequest(model="any/m", messages=messages), Options(**options)))["messages"]


CALLS = message(Role.ASSISTANT, tool_calls=(ToolCall("a", "see", "{}"), ToolCall("b", "see", "{}")))
RESULTS = (message(Role.TOOL, "a ship", PIXEL, tool_call_id="a"), message(Role.TOOL, PIXEL, tool_call_id="b"))


def test_images_of_tool_results_follow_in_the_next_message_of_the_user():
    *_, first, second, asked = sent(message(Role.USER, "look"), CALLS, *RESULTS, message(Role.USER, "and now?"))
    assert first == {"role": "tool", "content": "a ship", "tool_call_id": "a"}
    assert second == {"role": "tool", "content": ATTACHED["text"], "tool_call_id": "b"}
    assert asked == {
        "role": "user",
        "content": [ATTACHED, PIXEL_SENT, PIXEL_SENT, {"type": "text", "text": "and now?"}],
    }


def test_images_of_tool_results_are_a_message_of_the_user_where_none_follows():
    attached = {"role": "user", "content": [ATTACHED, PIXEL_SENT, PIXEL_SENT]}
    assert sent(CALLS, *RESULTS)[-1] == attached
    assert sent(CALLS, *RESULTS, message(Role.ASSISTANT, "ships"))[-2:] == [
        attached,
        {"role": "assistant", "content": "ships"},
    ]


def test_files_of_tool_results_follow_as_well():
    document = message(Role.TOOL, FilePart("application/pdf", b"x", name="a.pdf"), tool_call_id="a")
    assert [part["type"] for part in sent(CALLS, document)[-1]["content"]] == ["text", "file"]


def test_server_with_images_in_tool_results_gets_them_there():
    results = sent(CALLS, *RESULTS, has_tool_media=True)[1:]
    assert [each["content"] for each in results] == [[{"type": "text", "text": "a ship"}, PIXEL_SENT], [PIXEL_SENT]]


def test_mistral_gets_ids_of_nine_letters_and_digits_that_stay_different():
    options = {**PRESETS["mistral"].options}
    given = ["Ab3dE6gH9", "call_0fypS1hVX", "call_0fypS1hVY", "toolu-12", ""]
    calls = message(Role.ASSISTANT, tool_calls=tuple(ToolCall(each, "see", "{}") for each in given))
    called, *results = sent(calls, *(message(Role.TOOL, "x", tool_call_id=each) for each in given), **options)
    ids = [call["id"] for call in called["tool_calls"]]
    assert ids == [result["tool_call_id"] for result in results]
    assert ids[0] == given[0]
    assert len(set(ids)) == len(given)
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in ids)


def test_mistral_gets_a_message_of_the_assistant_between_results_and_the_user():
    user = message(Role.USER, "and now?")
    found = sent(CALLS, *RESULTS, user, user, **PRESETS["mistral"].options)
    assert [each["role"] for each in found] == ["assistant", "tool", "tool", "assistant", "user", "user"]
    assert found[3]["content"]
    assert [each["role"] for each in sent(CALLS, *RESULTS[:1], user)] == ["assistant", "tool", "user"]


@each_case(
    "model", ["mistralai/mistral-large-2512", "mistralai/Mistral-7B-Instruct-v0.3", "Mistral-Nemo", "devstral-small"]
)
@each_case("preset", ["vllm", "openrouter", "llamacpp"])
def test_mistrals_rules_follow_its_models_to_other_servers(preset, model):
    messages = (CALLS, *RESULTS, message(Role.USER, "and now?"))
    request = ChatRequest(model=f"{preset}/{model}", messages=messages)
    found = body_of(render(request, Options(**PRESETS[preset].options)))["messages"]
    assert [each["role"] for each in found] == ["assistant", "tool", "tool", "assistant", "user"]
    ids = [call["id"] for call in found[0]["tool_calls"]]
    assert ids == [found[1]["tool_call_id"], found[2]["tool_call_id"]]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in ids)


def test_mistrals_rules_can_be_turned_off():
    request = ChatRequest(model="vllm/mistralai/x", messages=(CALLS, *RESULTS, message(Role.USER, "and now?")))
    found = body_of(render(request, Options(mistral_models=())))["messages"]
    assert found[0]["tool_calls"][0]["id"] == "a" and found[3]["role"] == "user"


EARLIER = {"type": "text", "text": "(attached to an earlier message)"}


@each_case("has_tool_media", [False, True])
def test_images_of_the_assistant_and_of_system_messages_follow_in_the_next_message_of_the_user(has_tool_media):
    found = sent(
        message(Role.SYSTEM, "the logo:", PIXEL),
        message(Role.USER, "draw it"),
        message(Role.ASSISTANT, PIXEL),
        message(Role.ASSISTANT, "done"),
        has_tool_media=has_tool_media,
    )
    assert found == [
        {"role": "system", "content": "the logo:"},
        {"role": "user", "content": [EARLIER, PIXEL_SENT, {"type": "text", "text": "draw it"}]},
        {"role": "assistant", "content": EARLIER["text"]},
        {"role": "user", "content": [EARLIER, PIXEL_SENT]},
        {"role": "assistant", "content": "done"},
    ]


def test_images_of_a_turn_with_calls_follow_after_the_results():
    calls = message(Role.ASSISTANT, PIXEL, tool_calls=(ToolCall("a", "see", "{}"),))
    called, result, shown = sent(calls, message(Role.TOOL, "a ship", tool_call_id="a"))
    assert (called["content"], result["role"], shown["content"]) == (None, "tool", [EARLIER, PIXEL_SENT])


def test_empty_arguments_are_an_empty_object():
    calls = message(Role.ASSISTANT, tool_calls=(ToolCall("a", "see", ""), ToolCall("b", "see", '{"at": ')))
    arguments = [call["function"]["arguments"] for call in sent(calls)[0]["tool_calls"]]
    assert arguments == ["{}", '{"at": ']


def test_other_servers_get_the_ids_as_they_are():
    assert sent(CALLS)[0]["tool_calls"][0]["id"] == "a"
