"""Texts in which an inner object, a draft or a part of a truncated value looks like the answer, and streams of marks."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import DecodeFailed, StopReason
from helmdeck_reading import json_repair, refusals
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder

DECODER = JsonDecoder(
    reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps(), refusals.helmdeck_refusal_patterns()
)
END, LENGTH = StopReason.END_TURN, StopReason.MAX_TOKENS
CASES = [
    pytest.param('"a": 1, "b": {"c": 2}}', END, None, id="prefill"),
    pytest.param('"steps": [{"pack": "x"}]}', END, None, id="prefill-list"),
    pytest.param('a": {"b": 1}}', END, None, id="prefill-half"),
    pytest.param('```json\n"a": {"b": 1}\n}\n```', END, None, id="prefill-fence"),
    pytest.param('<think>x</think>"a": {"b": 1}', END, None, id="prefill-think"),
    pytest.param('The "plan": {"a": 1}', END, {"a": 1}, id="label-prose"),
    pytest.param('It is called "plan":\n{"a": 1}\nDone.', END, {"a": 1}, id="label-quote-end"),
    pytest.param("'a': {'b': 1}}", END, None, id="prefill-single"),
    pytest.param("a: {b: 1}}", END, None, id="prefill-bare"),
    pytest.param("query { user(id: 1) { name } }", END, None, id="graphql"),
    pytest.param("@media print { .a { display: none } }", END, None, id="css-media"),
    pytest.param("f({a: () => { return 1 }})", END, None, id="js-fn"),
    pytest.param("type A = { a: number; b: string }", END, None, id="ts-type"),
    pytest.param('｛"a": ｛"b": 1｝', END, None, id="cut-wide"),
    pytest.param('{{"a": {{"b": 1}}', END, None, id="cut-doubled"),
    pytest.param("{&quot;a&quot;: {&quot;b&quot;: 1}", END, None, id="cut-entity"),
    pytest.param('{\\"a\\": {\\"b\\": 1}', END, None, id="cut-escaped"),
    pytest.param('> {\n> "a": {"b": 1}', END, None, id="cut-quoted-lines"),
    pytest.param('// {\n// "a": {"b": 1}', END, None, id="cut-commented"),
    pytest.param('{\u200b"a": {\u200b"b": 1}', END, None, id="cut-zero-width"),
    pytest.param('{"a": [{"b": 1}}', END, None, id="mismatch2"),
    pytest.param('{"a": {"b": 1]}', END, None, id="mismatch3"),
    pytest.param('{"a": , "b": 1}', END, None, id="key-no-value2"),
    pytest.param('{"a": "x" "y"}', END, None, id="two-values-str"),
    pytest.param("{True: 1}", END, {"True": 1}, id="True-key"),
    pytest.param("{None: 1}", END, {"None": 1}, id="none-key"),
    pytest.param("{'a': b'x'}", END, None, id="bytes"),
    pytest.param("{'a': <Foo at 0x1>}", END, None, id="obj-repr"),
    pytest.param('<think>{"a": 0}</think>no<think>{"a": 1}</think>', END, None, id="two-thinks"),
    pytest.param('<think><think>{"a": 0}</think>{"a": 9}</think>{"a": 1}', END, {"a": 1}, id="think-nested"),
    pytest.param('{"a": 0}</think>', LENGTH, None, id="reason-prompt-len"),
    pytest.param('<|muse:start|>{"a": 0}<|muse:end|>{"a": 1}', END, {"a": 1}, id="unk-colon"),
    pytest.param('<|BEGIN_MUSE|>{"a": 0}<|END_MUSE|>{"a": 1}', END, {"a": 1}, id="unk-BEGIN"),
    pytest.param('<｜plan▁begin｜>{"a": 0}<｜plan▁end｜>{"a": 1}', END, {"a": 1}, id="unk-ds"),
    pytest.param('<|begin_of_answer|>{"a": 1}<|end_of_answer|>', END, {"a": 1}, id="unk-answer"),
    pytest.param('<|plan_open|>{"a": 0}<|plan_close|>{"a": 1}', END, {"a": 1}, id="unk-mixed"),
    pytest.param('<|plan start|>{"a": 0}<|plan end|>{"a": 1}', END, {"a": 1}, id="unk-space"),
    pytest.param('{"a": "<|x_start|>y<|x_end|>"}', END, {"a": "<|x_start|>y<|x_end|>"}, id="unk-in-str"),
    pytest.param('<|channel|>analysis<|message|>{"a": 0}<|end|>', END, None, id="harm-no-final"),
    pytest.param('<|channel|>final<|message|>{"a": 1}', END, {"a": 1}, id="harm-final-nostart"),
    pytest.param(
        '<|channel|>analysis<|message|>{"a": 0}<|end|><|start|>assistant<|channel|>final<|message|>{"a": {"b": 1}',
        LENGTH,
        None,
        id="harm-cut-final",
    ),
    pytest.param(
        '<|channel|>analysis <|constrain|>json<|message|>{"a": 0}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 1}',
        END,
        {"a": 1},
        id="harm-json-an",
    ),
    pytest.param('{"q": "say &quot;hi&quot; &amp; go"}', END, {"q": "say &quot;hi&quot; &amp; go"}, id="ent-inside"),
    pytest.param("{&quot;a&quot;: &quot;x \\&quot;y\\&quot;&quot;}", END, {"a": 'x "y"'}, id="ent-escaped"),
    pytest.param('{{"a": "{{x}}"}}', END, {"a": "{{x}}"}, id="brace-tpl-str"),
    pytest.param("｛＂a＂：＂b，c＂，＂n＂：1｝", END, {"a": "b，c", "n": 1}, id="wide-all"),
    pytest.param('{"a": "｛x｝：，"}', END, {"a": "｛x｝：，"}, id="wide-instr"),
    pytest.param('# {\n#   "a": 1,\n#   "b": "#x"\n# }', END, {"a": 1, "b": "#x"}, id="comment-hash"),
    pytest.param('<think>x</think>{"a": "<think>y</think>"}', END, {"a": "<think>y</think>"}, id="tag-in-str2"),
]
"""Text, stop reason, and the value, or ``None`` if the text has none."""

FINAL = "<|start|>assistant<|channel|>final<|message|>"
STREAMS = [
    ("<think\nstep='1'\n>a</ think >b", "b", "a", False),
    ("<think>a</thinking>b</think>c", "c", "a</thinking>b", False),
    ("<think>a</thin", "", "a</thin", False),
    ("a < b <thin", "a < b <thin", "", False),
    ("Use `<think>` here", "Use `<think>` here", "", False),
    ("&lt;think&gt;a&lt;/think&gt;b", "b", "a", False),
    ("<|channel>thought\na<channel|>b", "b", "\na", False),
    ("<|channel|>final<|message|>b", "b", "", False),
    ("<|channel|>final <|constrain|>json<|message|>{}", "{}", "", False),
    (f"<|channel|>analysis<|message|>a<|end|>{FINAL}b", "b", "a", False),
    (f"<|channel|>analysis<|message|>a{FINAL}b", "b", "a", False),
    (f"a<|end|>{FINAL}b", "b", "a", True),
    ("a<|END_THINKING|>b", "b", "a", True),
    ("a</THINK >b", "b", "a", True),
]
"""Text, the visible text, the reasoning, and whether the stream starts in reasoning."""


@pytest.mark.parametrize(("text", "stop", "value"), CASES)
def test_only_a_complete_answer_becomes_a_value(text: str, stop: StopReason, value: dict[str, Any] | None) -> None:
    try:
        decoded = DECODER.decode(text, dict, stop).value
    except DecodeFailed:
        decoded = None
    assert decoded == value


@pytest.mark.parametrize(("text", "visible", "reasoned", "starts_in_reasoning"), STREAMS)
def test_marks_are_found_over_all_borders_of_chunks(
    text: str, visible: str, reasoned: str, starts_in_reasoning: bool
) -> None:
    for size in range(1, len(text) + 1):
        stream = DECODER.stream(starts_in_reasoning=starts_in_reasoning)
        chunks = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)] + [stream.finish()]
        assert ("".join(shown for shown, _ in chunks), "".join(hidden for _, hidden in chunks)) == (visible, reasoned)
