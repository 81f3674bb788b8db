"""Two requests have one key exactly if their answers may be the same; the tenant is not part of it."""

import attrs
import pytest

from helmdeck_cache.request_keys import NotCacheable, problem_of, query_of
from helmdeck_core import (
    ChatRequest,
    FilePart,
    ImagePart,
    Message,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from tests.case_support import each_case


def message(text, role=Role.USER, **fields):
    return Message(role, (TextPart(text),), **fields)


TOOL = ToolDefinition("look_up", "d", {"type": "object", "properties": {"a": {}, "b": {}}})
BASE = ChatRequest(
    model="up/m",
    messages=(message("be brief", Role.SYSTEM), message("which port?")),
    max_tokens=50,
    tools=(TOOL,),
    extra={"top_p": 0.5, "seed": 1},
)


def query(request, detail=None, tenant="t"):
    return query_of(request, tenant, detail, chain=(request.model,))


def key(request, detail=None):
    return query(request, detail).key


EQUAL = [
    {"stream": True},
    {"keeps_limit": True},
    {"extra": {"seed": 1, "top_p": 0.5}},
    {"extra": {"seed": 1, "top_p": 0.5, "user": "u-7", "metadata": {"x": 1}, "prompt_cache_key": "k"}},
    {"tools": (ToolDefinition("look_up", "d", {"properties": {"b": {}, "a": {}}, "type": "object"}),)},
    {"messages": (Message(Role.SYSTEM, (TextPart("be brief", ends_prefix=True),)), message("which port?"))},
]

PNG = ImagePart("image/png", b"1")
FILES = [
    FilePart("application/pdf", b"1"),
    FilePart("application/pdf", b"2"),
    FilePart("application/pdf", b"2", name="a.pdf"),
]
DIFFERENT = [
    {"model": "up/n"},
    {"max_tokens": 51},
    {"temperature": 0.0},
    {"tools": ()},
    {"tools": (attrs.evolve(TOOL, description="e"),)},
    {"tool_choice": "required"},
    {"stop": ("END",)},
    {"continues": True},
    {"extra": {"top_p": 0.5, "seed": 2}},
    {"extra": {"top_p": 0.5, "seed": "1"}},
    {"response_format": ResponseFormat("json_object")},
    {"messages": (message("be brief", Role.SYSTEM), message("which port? "))},
    {"messages": (message("be brief"), message("which port?"))},
    {"messages": (message("be briefwhich", Role.SYSTEM), message(" port?"))},
    {"messages": (message("be brief", Role.SYSTEM), Message(Role.USER, (TextPart("which"), TextPart(" port?"))))},
    {"messages": (message("be brief", Role.SYSTEM), Message(Role.USER, (TextPart("which port?"), PNG)))},
    {"messages": (message("be brief", Role.SYSTEM), Message(Role.USER, (TextPart("which port?"), ImagePart("image/png", b"2"))))},
    *({"messages": (message("be brief", Role.SYSTEM), Message(Role.USER, (TextPart("which port?"), file)))} for file in FILES),
    {"messages": (*BASE.messages, message("", Role.ASSISTANT, tool_calls=(ToolCall("1", "look_up", "{}"),)))},
    {"messages": (*BASE.messages, message("", Role.ASSISTANT, tool_calls=(ToolCall("1", "look_up", '{"a":1}'),)))},
    {"messages": (*BASE.messages, message("x", Role.TOOL, tool_call_id="1"))},
    {"messages": (*BASE.messages, message("x", Role.ASSISTANT, opaque={"signature": "s"}))},
]  # fmt: skip


@each_case("change", EQUAL)
def test_what_no_answer_depends_on_is_not_part_of_the_key(change):
    assert key(attrs.evolve(BASE, **change)) == key(BASE)


def test_each_other_difference_makes_another_key():
    keys = [key(BASE), key(BASE, "ask"), *(key(attrs.evolve(BASE, **change)) for change in DIFFERENT)]
    assert len(set(keys)) == len(keys)


def test_the_scope_is_the_request_without_the_last_text_of_the_user():
    first, second = query(BASE), query(attrs.evolve(BASE, messages=(BASE.messages[0], message("what else?"))))
    assert (first.scope, first.text, second.text) == (second.scope, "which port?", "what else?")
    assert query(attrs.evolve(BASE, max_tokens=9)).scope != first.scope
    with_image = attrs.evolve(BASE, messages=(Message(Role.USER, (TextPart("a"), PNG)),))
    assert query(with_image).text == ""


@each_case("bad", [{"extra": {"x": object()}}, {"messages": (message("\ud800"),)}, {"extra": {"x": 1j}}])
def test_a_request_without_a_canonical_form_has_no_key(bad):
    with pytest.raises(NotCacheable):
        key(attrs.evolve(BASE, **bad))


def test_nesting_beyond_the_limit_of_recursion_has_no_key():
    deep = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(NotCacheable):
        key(attrs.evolve(BASE, extra=deep))


def test_a_temperature_above_0_needs_the_setting():
    assert [problem_of(attrs.evolve(BASE, temperature=t), sampled=False) for t in (None, 0.0, 0.1)] == [
        "",
        "",
        "temperature",
    ]
    assert problem_of(attrs.evolve(BASE, temperature=1.0), sampled=True) == ""
    assert problem_of(attrs.evolve(BASE, logprobs=2), sampled=True) == "logprobs"
