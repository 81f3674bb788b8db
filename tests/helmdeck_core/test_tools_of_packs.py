"""Packs that offer tools: with a question, whose value may be made of calls, and in a conversation of their own."""

from __future__ import annotations

import pytest

from helmdeck_core import (
    CallLimits,
    CallStarted,
    ChatRequest,
    ConstrainedDeadlock,
    ImagePart,
    LengthTruncated,
    LikelyTimeout,
    Message,
    Pack,
    Question,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
    hookimpl,
)
from helmdeck_testing import EventRecorder, Fail, Reply, make_deck, scripted_provider

LOOK = ToolDefinition("look", "Looks at something.", {"type": "object", "properties": {"at": {"type": "string"}}})
CALL = ToolCall("c1", "look", '{"at": "the tide"}')
STRICT = {"a/": {"tier": "A", "wants_strict_json": True}}


class Asks(EventRecorder):
    """Contributes a pack with the given handler, and records events."""

    def __init__(self, handler):
        super().__init__()
        self.handler = handler

    @hookimpl
    def helmdeck_packs(self):
        return [Pack(name="test.ask", version="1", description="Asks.", run=lambda context, _: self.handler(context))]

    @property
    def started(self):
        return [(event.pack, event.caller) for event in self.of(CallStarted)]


def run(handler, *replies, budgets=None, **options):
    """The pack's output, and the requests to the model."""
    script, pack = scripted_provider(replies, "a"), Asks(handler)
    with make_deck(script, pack, config={"budgets": budgets or {}}, model="a/one") as deck:
        return deck.run("test.ask", {}, **options), script.requests, pack


def question(**more):
    wanted = {"instructions": "Answer.", "needs_catalog": False, "schema": {"type": "object"}, "tools": (LOOK,)}
    return Question(caller="test.ask", task="ask", type=dict, request="what?", **{**wanted, **more})


def declaring(**more):
    async def handler(context):
        answer = await context.ask(question(**more))
        return {"value": answer.value, "step": answer.step}

    return handler


def named(calls):
    return {"called": [call.name for call in calls]}


def test_question_with_tools_and_images_is_sent_without_a_response_format():
    picture = ImagePart("image/png", b"x")
    found, (request,), _ = run(declaring(images=(picture,), tool_choice="auto"), '{"a": 1}', budgets=STRICT)
    assert found == {"value": {"a": 1}, "step": "strict"}
    assert (request.tools, request.tool_choice, request.response_format) == ((LOOK,), "auto", None)
    assert request.messages[-1].parts[-1] == picture
    _, (request,), _ = run(declaring(tool_choice="none"), '{"a": 1}', budgets=STRICT)
    assert request.response_format is not None


def test_tool_calls_become_the_value_where_the_pack_reads_them():
    found, _, _ = run(declaring(read_calls=named), Reply("", tool_calls=(CALL,)))
    assert found == {"value": {"called": ["look"]}, "step": "tool_calls"}
    found, _, _ = run(declaring(read_calls=named), '<tool_call>{"name": "look", "arguments": {}}</tool_call>')
    assert found["value"] == {"called": ["look"]}, "also where the model writes them as text"
    assert run(declaring(read_calls=named), '{"a": 1}')[0]["value"] == {"a": 1}
    both = Reply('{"a": 1}', tool_calls=(CALL,))
    assert run(declaring(read_calls=lambda _: None), both)[0]["value"] == {"a": 1}


def test_unread_tool_calls_are_an_error_that_names_them():
    with pytest.raises(ConstrainedDeadlock, match=r"test\.ask: the model called a tool .*read_calls") as caught:
        run(declaring(), *[Reply("", tool_calls=(CALL,))] * 2)
    assert caught.value.sub_cause == "tool_call"


def test_truncated_tool_call_is_never_a_value():
    cut = Reply("", "length", tool_calls=(ToolCall("c1", "look", '{"at": "th'),))
    with pytest.raises(LengthTruncated):
        run(declaring(read_calls=named), *[cut] * 9)


def test_tools_count_against_the_context_window():
    large = ToolDefinition("look", "Looks. " * 20_000, {})
    with pytest.raises(Exception, match="larger than the model's budget"):
        run(declaring(tools=(large,)))


# -- a conversation of the pack's own ------------------------------------------------------------------------------


def conversation(*messages, **more):
    said = (Message(Role.USER, (TextPart("how high is the tide?"),)), *messages)
    return ChatRequest(model="", messages=said, tools=(LOOK,), **more)


async def looks_once(context):
    asked = conversation()
    first = await context.complete(asked)
    turn = Message(Role.ASSISTANT, (), first.tool_calls, opaque=first.opaque)
    result = Message(Role.TOOL, (TextPart("four metres"),), tool_call_id=first.tool_calls[0].id)
    last = await context.complete(conversation(turn, result))
    return {"text": last.text, "attempts": len(last.attempts)}


def test_conversation_of_a_pack_keeps_the_caller_of_the_pack():
    found, requests, pack = run(looks_once, Reply("", tool_calls=(CALL,)), "Four metres.", caller="ada")
    assert found == {"text": "Four metres.", "attempts": 1}
    assert [request.model for request in requests] == ["a/one"] * 2
    assert requests[1].messages[1].tool_calls == (CALL,)
    assert pack.started == [("test.ask", "ada")] * 2


def test_conversation_uses_the_model_of_the_caller_unless_the_pack_names_one():
    assert [request.model for request in run(looks_once, Reply("", tool_calls=(CALL,)), "4", model="a/two")[1]] == [
        "a/two"
    ] * 2


def test_failure_in_a_conversation_starts_with_the_name_of_the_pack():
    async def asks_once(context):
        return {"text": (await context.complete(conversation(), allows_empty=True)).text}

    assert run(asks_once, "")[0] == {"text": ""}
    with pytest.raises(LikelyTimeout, match=r"^test\.ask: "):
        run(asks_once, Fail("likely_timeout", sub_cause="timeout"))


def test_all_calls_of_a_pack_share_its_deadline(virtual_time):
    async def asks_for_ever(context):
        while True:
            await context.complete(conversation())

    with pytest.raises(LikelyTimeout):
        run(asks_for_ever, *[Reply("hm", delay_s=15.0)] * 9, limits=CallLimits(deadline_s=40.0))
    assert virtual_time.passed_s == pytest.approx(40.0)
