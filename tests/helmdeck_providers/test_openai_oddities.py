"""Undocumented behaviour of chat servers: ids, choices, usage and unsupported content."""

from __future__ import annotations

import pytest

from helmdeck_core import CallFailed, Disposition, StopReason, TransientUnknown
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import events, joined, read_stream, terms


def whole(*choices, **body):
    answer = ChatAnswer(terms())
    for _ in answer.read({"choices": list(choices), **body}):
        pass
    return answer.finish()


def choice(reason="stop", index=0, **message):
    found = {"message": {"role": "assistant", "content": None, **message}, "finish_reason": reason}
    return found if index is None else {"index": index, **found}


def chunk(delta=None, reason=None, index=0, **more):
    found = {"delta": delta or {}, "finish_reason": reason}
    return {"choices": [found if index is None else {"index": index, **found}], **more}


def streamed(*chunks, done=True):
    answer = ChatAnswer(terms())
    deltas = read_stream(answer, events(*chunks, done=done))
    response = answer.finish()
    assert joined(deltas)[:2] == (response.text, response.reasoning_content)
    return response


def call(name="look", arguments="{}", **fields):
    return {**fields, "function": {"name": name, "arguments": arguments}}


def both(*calls):
    """Return the calls of one response, whole and as a single stream event."""
    return (
        whole(choice("tool_calls", tool_calls=list(calls))).tool_calls,
        streamed(chunk({"tool_calls": list(calls)}), chunk(reason="tool_calls")).tool_calls,
    )


# -- calls ----------------------------------------------------------------------------------------------------


@each_case("ids", [("", ""), ("a", ""), ("", "a"), ("a", "a"), (None, None), (7, "a")])
@each_case("names", [("look", "see"), ("look", "look")])
def test_every_tool_call_has_a_unique_id_and_its_own_arguments(ids, names):
    calls = [call(name, f'{{"n":{n}}}', id=given) for n, (name, given) in enumerate(zip(names, ids, strict=True))]
    for found in both(*calls):
        assert [(each.name, each.arguments) for each in found] == [(names[0], '{"n":0}'), (names[1], '{"n":1}')]
        assert len({each.id for each in found}) == 2 and all(each.id for each in found)
        assert {given for given in ids if isinstance(given, str) and given} <= {each.id for each in found}


def test_generated_ids_are_unique_per_answer_and_deterministic():
    def ids(answer_id):
        return [each.id for each in whole(choice("tool_calls", tool_calls=[call(), call()]), id=answer_id).tool_calls]

    assert ids("one") == ids("one")
    assert len({*ids("one"), *ids("two")}) == 4


def test_call_repeated_at_the_end_is_one_call():
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"at":'}},
        {"index": 0, "function": {"arguments": "1}"}},
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"at":1}'}},
    ]
    found = streamed(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk(reason="tool_calls")).tool_calls
    assert [(each.id, each.arguments) for each in found] == [("a", '{"at":1}')]


def test_interleaved_chunks_of_parallel_calls_are_separated():
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}},
        {"index": 1, "id": "b", "function": {"name": "see", "arguments": '{"x"'}},
        {"index": 0, "function": {"arguments": "{}"}},
        {"index": 1, "function": {"arguments": ":1}"}},
    ]
    found = streamed(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk(reason="tool_calls")).tool_calls
    assert [(each.id, each.name, each.arguments) for each in found] == [("a", "look", "{}"), ("b", "see", '{"x":1}')]


# -- choices --------------------------------------------------------------------------------------------------


@each_case("indices", [(0, 1), (None, None), (1, 0), (1, 2)])
def test_only_one_of_several_choices_is_read(indices):
    texts = dict(zip(indices, ("first", "second"), strict=True))
    response = whole(
        *(choice(index=index, content=text) for index, text in zip(indices, ("first", "second"), strict=True))
    )
    expected = "first" if indices == (None, None) else texts[min(indices)]
    assert response.text == expected
    chunks = [chunk({"content": piece}, index=index) for piece in "ab" for index in indices]
    if None not in indices:
        assert streamed(*chunks, chunk(reason="stop", index=indices[0])).text == "ab"


def test_only_choice_is_read_whatever_its_index():
    assert whole(choice(index=3, content="hello")).text == "hello"
    assert streamed(chunk({"content": "hello"}, index=1), chunk(reason="stop", index=1)).text == "hello"


# -- counts ---------------------------------------------------------------------------------------------------


@each_case(
    ("total", "output"),
    [(135, 103), (41, 9), (None, 9), (500, 9)],
)
def test_separately_counted_reasoning_tokens_are_added_to_output(total, output):
    usage = {"prompt_tokens": 32, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 94}}
    found = whole(choice(content="a"), usage=usage if total is None else {**usage, "total_tokens": total}).usage
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == (32, output, 94)


def test_late_usage_is_read_and_null_usage_is_ignored():
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    response = streamed(
        chunk({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": 1}),
        chunk(reason="stop", usage=None),
        {"choices": [], "usage": usage},
        {"choices": [], "usage": None},
    )
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 2)


@each_case(
    ("usage", "message", "disposition"),
    [
        ({"prompt_tokens": 4096, "completion_tokens": 0}, {}, Disposition.SHRINK),
        ({"prompt_tokens": 4096, "completion_tokens": 9}, {}, Disposition.LONGER),
        ({"prompt_tokens": 4096}, {"content": "one"}, Disposition.LONGER),
        ({"prompt_tokens": 4096}, {"reasoning": "hm"}, Disposition.LONGER),
        ({}, {}, Disposition.LONGER),
    ],
)
def test_prompt_that_fills_the_window_needs_shrinking(usage, message, disposition):
    response = whole(choice("length", **message), usage=usage)
    assert (response.stop_reason, response.disposition) == (StopReason.MAX_TOKENS, disposition)


# -- other content --------------------------------------------------------------------------------------------


def test_unsupported_content_is_reported():
    parts = [
        {"type": "text", "text": "look: "},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "reference"},
    ]
    message = {"content": parts, "audio": {"id": "", "data": "UklG"}, "images": [{"type": "image_url"}]}
    for response in (whole(choice(**message)), streamed(chunk(message), chunk(reason="stop"))):
        assert response.text == "look: "
        assert response.unread == ("image_url", "reference", "audio", "images")


def test_empty_objects_are_no_content():
    response = whole(choice(content="a", audio={"id": "", "data": "", "expires_at": 0}, images=[], executed_tools=None))
    assert response.unread == ()


def test_failed_content_filter_is_reported_also_within_a_stream():
    failed = {"error": {"code": "content_filter_error", "message": "The contents are not filtered"}}
    checked = {"hate": {"filtered": False}}

    def piece(results):
        return {"choices": [{"index": 0, "delta": {"content": "a"}, "content_filter_results": results}]}

    assert streamed(piece(checked), piece(checked), piece({}), chunk(reason="stop")).downgrades == ()
    for results in ([failed, checked, checked], [checked, failed, checked], [checked, checked, failed]):
        [said] = streamed(*map(piece, results), chunk(reason="stop")).downgrades
        assert said.startswith("content filter left out")


# -- ends and errors ------------------------------------------------------------------------------------------


@each_case("end", [b"data: [DONE]\n\n", b"data: [DONE] \r\n\r\n", b"data:[DONE]", b"data:  [DONE]\n", b""])
def test_done_mark_may_vary_or_be_missing(end):
    answer = ChatAnswer(terms())
    read_stream(answer, events(chunk({"content": "hi"}), chunk(reason="stop"), done=False) + end)
    assert answer.finish().stop_reason is StopReason.END_TURN


def test_body_without_choices_keeps_its_message_and_usage():
    answer = ChatAnswer(terms())
    with pytest.raises(TransientUnknown, match="maintenance at noon") as caught:
        list(answer.read({"message": "maintenance at noon", "usage": {"prompt_tokens": 7}}))
    assert caught.value.sub_cause == "no_choices"
    assert answer.finish().usage.input_tokens == 7


def test_error_next_to_a_choice_keeps_its_stop_reason():
    answer = ChatAnswer(terms())
    with pytest.raises(CallFailed) as caught:
        read_stream(
            answer,
            events(
                chunk({"content": "half"}),
                chunk(reason="length"),
                {**chunk(), "error": {"message": "lost", "code": 502}},
            ),
        )
    assert (caught.value.raw_stop_reason, caught.value.stop_reason) == ("length", "MaxTokens")
