"""Laws of tool-call recovery: well-formed calls are read, truncated ones never run, and work grows linearly."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from helmdeck_core import StopReason
from helmdeck_reading.tool_calls.regions import RegionReader
from helmdeck_testing import make_deck
from tests.case_support import each_case

DECK = make_deck()
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
PIECES = [
    "</tool_call>", "<tool_call>", "</parameter>", "<parameter=x>", "</function>", "</invoke>", "</arg_value>", "{", "}", '"',
    "\\", "[", "]", "'", "\n", " ", "é😀", "｜", "<think>", "</think>", "```", "`", "[TOOL_CALLS]", "<|call|>", "Action:", "a",
    '{"name": "evil", "arguments": {}}', "5", "true", "<function=evil></function>", "[/TOOL_CALL]", ",", ":", "=>", "--k",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3)
PLAIN = st.dictionaries(NAMES, TEXTS, max_size=3)


def dumped(value):
    return json.dumps(value, ensure_ascii=False)


def named(name, args):
    return dumped({"name": name, "arguments": args})


JSON_FORMS = {
    "tags": lambda name, args: f"<tool_call>\n{named(name, args)}\n</tool_call>",
    "list": lambda name, args: f"<tool_calls>[{named(name, args)}]</tool_calls>",
    "twice encoded": lambda name, args: f"<tool_call>{named(name, dumped(dumped(args)))}</tool_call>",
    "mistral": lambda name, args: f"[TOOL_CALLS] [{named(name, args)}]",
    "mistral named": lambda name, args: f"[TOOL_CALLS]{name}[ARGS]{dumped(args)}",
    "llama": lambda name, args: f"<|python_tag|>{dumped({'name': name, 'parameters': args})}<|eom_id|>",
    "function": lambda name, args: f"<function={name}>{dumped(args)}</function>",
    "kimi": lambda name, args: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{dumped(args)}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "deepseek": lambda name, args: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dumped(args)}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek 3.1": lambda name, args: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dumped(args)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "harmony": lambda name, args: (
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{dumped(args)}<|call|>"
    ),
    "react": lambda name, args: f"Action: {name}\nAction Input: {dumped(args)}",
    "fence": lambda name, args: f"```tool_call\n{named(name, args)}\n```",
    "named fence": lambda name, args: f"```tool {name}\n{dumped(args)}\n```",
    "brackets": lambda name, args: f"[TOOL_CALL]{dumped({'tool': name, 'args': args})}[/TOOL_CALL]",
    "json": lambda name, args: dumped(
        {"tool_calls": [{"id": "x", "type": "function", "function": {"name": name, "arguments": dumped(args)}}]}
    ),
}
TEXT_FORMS = {
    "qwen": (
        lambda key, value: f"<parameter={key}>\n{value}\n</parameter>\n",
        lambda name, inside: f"<tool_call>\n<function={name}>\n{inside}</function>\n</tool_call>",
        r"</parameter>|<parameter=",
    ),
    "invoke": (
        lambda key, value: f'<parameter name="{key}">{value}</parameter>',
        lambda name, inside: f'<function_calls><invoke name="{name}">{inside}</invoke></function_calls>',
        r"</parameter>|<parameter=|\A\n(?s:.*)\n\Z",
    ),
    "glm": (
        lambda key, value: f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
        lambda name, inside: f"<tool_call>{name}\n{inside}</tool_call>",
        r"</arg_value>|<arg_key>|\A\n(?s:.*)\n\Z",
    ),
    "dsml": (
        lambda key, value: f'<｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\n',
        lambda name, inside: (
            f'<｜DSML｜function_calls><｜DSML｜invoke name="{name}">\n{inside}</｜DSML｜invoke></｜DSML｜function_calls>'
        ),
        r"\A\n(?s:.*)\n\Z",
    ),
    "arrows": (
        lambda key, value: f"--{key} {dumped(value)}\n",
        lambda name, inside: f'[TOOL_CALL]\n{{tool => "{name}", args => {{\n{inside}}}}}\n[/TOOL_CALL]',
        r"(?!)",
    ),
}

CLOSES = {"qwen": "</function>", "invoke": "</invoke>", "glm": "</tool_call>", "dsml": "</｜DSML｜invoke>"}


def found(text, **options):
    return [(each.call.name, dict(each.args)) for each in DECK.tool_calls(text, **options).calls]


@pytest.mark.parametrize("form", JSON_FORMS)
@given(name=NAMES, args=ARGUMENTS)
@settings(max_examples=20)
def test_calls_written_as_json_are_read(form, name, args):
    text = JSON_FORMS[form](name, args)
    assert found(text) == [(name, args)]
    assert found(f"Some words.\n{text}") == [(name, args)]


@pytest.mark.parametrize("form", TEXT_FORMS)
@given(name=NAMES, args=PLAIN)
@settings(max_examples=20)
def test_calls_written_argument_by_argument_are_read(form, name, args):
    write, wrap, ambiguous = TEXT_FORMS[form]
    assume(not any(re.search(ambiguous, value) for value in args.values()))
    text = wrap(name, "".join(write(key, value) for key, value in args.items()))
    assert found(text) == [(name, args)]


@pytest.mark.parametrize("form", [*JSON_FORMS, *TEXT_FORMS])
@given(args=PLAIN, data=st.data())
@settings(max_examples=15)
def test_truncation_yields_the_whole_call_or_none(form, args, data):
    if form in JSON_FORMS:
        text = JSON_FORMS[form]("tool", args)
    else:
        write, wrap, ambiguous = TEXT_FORMS[form]
        assume(not any(re.search(ambiguous, value) for value in args.values()))
        text = wrap("tool", "".join(write(key, value) for key, value in args.items()))
    cut = data.draw(st.integers(0, len(text) - 1))
    for options in ({}, {"partial": True}, {"stop_reason": "length"}, {"stop_reason": "length", "partial": True}):
        assert found(text[:cut], **options) in ([], [("tool", args)])
    last = "}" if form in JSON_FORMS or form == "arrows" else CLOSES[form]
    if cut <= text.rfind(last):
        assert found(text[:cut]) == []


@given(args=PLAIN)
@settings(max_examples=15)
def test_calls_inside_reasoning_are_ignored(args):
    assume("think>" not in "".join(args.values()))
    for write in JSON_FORMS.values():
        assert found(f"<think>{write('tool', args)}</think>Done.") == []


@given(st.text(st.characters(exclude_characters="<&[`{\"'A*T")))
@settings(deadline=None)
def test_text_without_tags_is_returned_unchanged(text):
    read = DECK.tool_calls(text)
    assert (read.text, read.calls, read.broken, read.is_truncated) == (text, (), (), False)


MARKS = [
    "<tool_call>", "</tool_call>", "<function=a>", "</function>", "<parameter=b>", "</parameter>", "<invoke name='a'>", "</invoke>",
    "<function_calls>", "[TOOL_CALLS]", "[TOOL_CALL]", "[/TOOL_CALL]", "{tool => ", "<|python_tag|>", "<think>", "</think>", "```",
    "```tool_call\n", "\n```json\n", "`", '{"name": "a", "arguments": {}}', '{"tool_calls": [', "{", "}", "[", "]", '"', "\\", "\n",
    "Action: a\nAction Input: ", "<tool_result>", "</tool_result>", "<eom>", "for example:\n", "> ", "a", "\x00", "\ud800", "é", "<tools>",
    "</tools>", "get/key>value", "<|channel|>commentary to=", "functions.a <|message|>", "<arg_key>k</arg_key><arg_value>", "{'a': ",
]  # fmt: skip


@given(st.lists(st.sampled_from(MARKS), max_size=14).map("".join), st.sampled_from([None, *StopReason]))
@example("\n```json\n\n```json\n", None)
def test_reading_never_fails_and_is_idempotent(text, stop):
    read = DECK.runtime.tool_calls.read(text, stop=stop, model="glm")
    for each in (*read.calls, *read.withheld):
        assert json.loads(each.call.arguments) == each.args
    ids = [each.call.id for each in (*read.calls, *read.withheld)] + [each.id for each in read.broken]
    assert len(set(ids)) == len(ids) and all(ids)
    assert not (read.calls and stop not in (None, StopReason.END_TURN, StopReason.TOOL_CALL))


@pytest.fixture
def counted_deck(work_counter):
    """Made while work is counted, so that its patterns count."""
    with make_deck() as deck:
        yield deck


@each_case(
    "piece",
    [
        *MARKS,
        "<tool_call>{",
        '<tool_call>{"',
        "[TOOL_CALLS][",
        '{"',
        '{"a":',
        "[{",
        "example: <tool_call>",
        "> <tool_call>",
    ],
)
def test_work_grows_linearly_with_the_text(work_counter, counted_deck, piece):
    work_counter.assert_linear(lambda count: counted_deck.tool_calls("x" + piece * count, model="glm llama"), 200)


def test_a_text_of_marks_is_not_read_to_its_end_and_no_call_of_it_runs():
    one = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    found = DECK.tool_calls(one * 20_000)
    assert found.is_truncated
    assert not found.calls
    assert len(found.withheld) == 500
    assert [each.error for each in found.broken] == [
        "the text has more than 500 marks of calls, and is not read further"
    ]


def test_as_many_calls_as_may_be_in_one_response_run():
    one = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    assert len(DECK.tool_calls(one * 500).calls) == 500


@pytest.mark.parametrize("mark", ["[TOOL_CALLS]", "<tool_call>{}</tool_call>", "```json\n[TOOL_CALLS]\n```\n"])
def test_marks_cost_the_same_however_many_follow(mark, monkeypatch):
    reads = []
    read_region = RegionReader.read
    monkeypatch.setattr(RegionReader, "read", lambda *args: reads.append(1) or read_region(*args))
    DECK.tool_calls(mark * 5_000)
    few = len(reads)
    DECK.tool_calls(mark * 10_000)
    assert len(reads) - few == few
