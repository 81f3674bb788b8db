"""Text formats of tool calls, as data, and text that only looks like a call.

The formats are those of the chat templates and guides of the models named next to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from helmdeck_core import ToolCallFormat, ToolCallFormatKind, hookimpl
from helmdeck_reading.tool_calls.introductions import EXAMPLE_INTRODUCTION
from helmdeck_reading.tool_calls.notations import braces_to_json, python_to_json

_NAME = r"(?P<name>[\w.:/-]{1,200})"
_PREFIX = "antml:"
_FUNCTION = r"(?:functions?\.)?(?P<name>[\w./-]{1,200})"

_TAGS = (
    "tool_call",  # Hermes, Qwen 2.5 and 3, Granite 4, GLM, and most others in JSON
    "tool_calls",  # Jamba, Hunyuan
    "toolcall",
    "tool-call",
    "minimax:tool_call",
    "minimax:toolcall",
    "invoke",
    "function_call",
    "seed:tool_call",  # Seed-OSS
    "longcat_tool_call",  # LongCat
    "tool_use",
)


def _elements(*names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the opening and closing tags of elements."""
    return tuple(f"<{name}>" for name in names), tuple(f"</{name}>" for name in names)


_TAGS_OPEN, _TAGS_CLOSE = _elements(*_TAGS)

# -- arrow-style maps --------------------------------------------------------------------------------------------

_ARROW_TOKEN = re.compile(
    r"""
    \s*+ (?:
      (?P<string> " (?: [^"\\]++ | \\. )*+ " )
    | --(?P<flag> [\w-]++ )
    | (?P<arrow> => | : | = )
    | (?P<open> \{ ) | (?P<close> \} ) | (?P<comma> , )
    | (?P<word> [\w.+-]++ )
    )
    """,
    re.VERBOSE | re.DOTALL,
)


def arrows_to_json(text: str) -> str:
    """Convert ``{tool => "x", args => { --key "value" }}`` to JSON; empty for JSON input, which other formats read."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while match := _ARROW_TOKEN.match(text, position):
        tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
        position = match.end()
    if text[position:].strip() or not any(kind == "flag" or (kind, word) == ("arrow", "=>") for kind, word in tokens):
        return ""
    try:
        return json.dumps(_ArrowParser(iter(tokens)).map())
    except (ValueError, StopIteration):
        return ""


class _ArrowParser:
    """Parses an arrow-style map: the call and its nested arguments."""

    def __init__(self, tokens: Iterator[tuple[str, str]]) -> None:
        self._tokens = tokens

    def map(self, depth: int = 0) -> dict[str, object]:
        result: dict[str, object] = {}
        if depth == 0:
            self._expect("open")
        for kind, word in self._tokens:
            if kind == "close":
                return result
            if kind == "comma":
                continue
            if kind not in ("flag", "word", "string"):
                raise ValueError(word)
            key = json.loads(word) if kind == "string" else word
            result[key] = self._value(depth, needs_arrow=kind != "flag")
        raise ValueError("unclosed map")

    def _value(self, depth: int, *, needs_arrow: bool) -> object:
        kind, word = next(self._tokens)
        if kind == "arrow":
            kind, word = next(self._tokens)
        elif needs_arrow:
            raise ValueError(word)
        if kind == "string":
            return json.loads(word, strict=False)
        if kind == "open" and depth < 8:
            return self.map(depth + 1)
        if kind == "word":
            try:
                return json.loads(word)
            except ValueError:
                return word
        raise ValueError(word)

    def _expect(self, kind: str) -> None:
        if next(self._tokens)[0] != kind:
            raise ValueError(kind)


# -- calls ---------------------------------------------------------------------------------------------------------

_ATTRIBUTES = r"""(?:\s++[\w:.-]{1,60}\s*+=\s*+(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[^\s"'<>]{1,200})){0,8}"""
_PARAMETER = (
    rf"""<parameter(?:=\s*|{_ATTRIBUTES}?\s+name\s*=\s*)["']?(?P<key>[^<>"'=\s]{{1,200}})["']?{_ATTRIBUTES}\s*>"""
)
_KIMI_HEAD = rf"\s*(?P<id>{_FUNCTION}(?::\d+)?)\s*<\|tool_call_argument_begin\|>\s*"

_CALLS = (
    ToolCallFormat(
        name="arrows",
        open=("[TOOL_CALL]", "\nTOOL_CALL\n", *_TAGS_OPEN),
        close=("[/TOOL_CALL]", "\n/TOOL_CALL", *_TAGS_CLOSE),
        translate=arrows_to_json,
        order=5,
    ),
    ToolCallFormat(name="tags", open=_TAGS_OPEN, close=_TAGS_CLOSE, order=10),
    ToolCallFormat(
        name="brackets",
        open=("[TOOL_CALL]", "[TOOL_REQUEST]", "\nTOOL_CALL\n"),  # LM Studio's default format
        close=("[/TOOL_CALL]", "[END_TOOL_REQUEST]", "\n/TOOL_CALL"),
        order=10,
    ),
    ToolCallFormat(
        name="fences",
        open=("\n```tool_call", "\n```tool_calls", "\n```toolcall", "\n```tool-call", "\n```tool", "\n```invoke"),
        close=("\n```",),
        order=10,
    ),
    ToolCallFormat(
        name="fences.named",
        open=("\n```tool", "\n```tool_call", "\n```invoke"),
        close=("\n```",),
        head=rf"[ \t]+{_NAME}[ \t\r]*\n",
        order=20,
    ),
    # Qwen 3 Coder, Nemotron, Seed-OSS
    ToolCallFormat(
        name="function.parameters",
        open=("<function=",),
        close=("</function>",),
        head=r"[\"']?(?P<name>[^<>\s\"']{1,200})[\"']?\s*>",
        argument=_PARAMETER,
        argument_close="</parameter>",
        order=20,
    ),
    # Llama 3.1
    ToolCallFormat(
        name="function.json",
        open=("<function=",),
        close=("</function>",),
        head=r"[\"']?(?P<name>[^<>\s\"']{1,200})[\"']?\s*>(?=\s*\{)",
        order=10,
    ),
    # Claude's own, MiniMax M2
    ToolCallFormat(
        name="invoke",
        open=("<invoke>", "<function>"),
        close=("</invoke>", "</function>"),
        argument=_PARAMETER,
        argument_close="</parameter>",
        order=20,
    ),
    # Claude's prompts, verbatim
    ToolCallFormat(
        name="invoke.prefixed",
        open=(f"<{_PREFIX}invoke>",),
        close=(f"</{_PREFIX}invoke>",),
        argument=rf'<{_PREFIX}parameter\s+name="(?P<key>[^<>"]{{1,200}})"{_ATTRIBUTES}\s*>',
        argument_close=f"</{_PREFIX}parameter>",
        order=20,
    ),
    # DeepSeek V3.2
    ToolCallFormat(
        name="dsml",
        open=("<｜DSML｜invoke>",),
        close=("</｜DSML｜invoke>",),
        argument=r'<｜DSML｜parameter\s+name="(?P<key>[^<>"]{1,200})"(?:\s+string="(?:true|(?P<json>false))")?\s*>',
        argument_close="</｜DSML｜parameter>",
        order=20,
    ),
    # GLM 4.5 and later
    ToolCallFormat(
        name="glm",
        open=("<tool_call>",),
        close=("</tool_call>",),
        head=rf"(?:\n\s*)?{_NAME}\s*(?=<arg_key>|</tool_call>)",
        argument=r"<arg_key>(?P<key>[^<>]{1,200})</arg_key>\s*<arg_value>",
        argument_close="</arg_value>",
        order=20,
    ),
    ToolCallFormat(
        name="glm.lines",
        open=("\n",),
        head=r"(?P<name>[a-z][\w-]{0,99})/(?P<key>[a-z]\w{0,99})>[ \t]*(?P<value>[^\s][^\n]*)",
        models=("glm",),
        order=90,
    ),
    ToolCallFormat(
        name="glm.lines.json",
        open=("\n",),
        head=r"(?P<name>[a-z][\w-]{0,99})/(?=\{)",
        models=("glm",),
        order=90,
    ),
    ToolCallFormat(
        name="control-tokens",  # Granite 3, Phi 4, LFM2 in JSON
        open=("<|tool_call|>", "<|tool_calls|>", "<|tool_call_start|>"),
        close=("<|/tool_call|>", "<|/tool_calls|>", "<|tool_call_end|>"),
        needs_close=False,
        order=10,
    ),
    ToolCallFormat(name="mistral", open=("[TOOL_CALLS]",), order=10),
    ToolCallFormat(
        name="mistral.named",
        open=("[TOOL_CALLS]",),
        head=r"\s*(?P<name>[\w.:/-]{1,200})(?:\[CALL_ID\](?P<id>\w{1,100}))?(?:\[ARGS\])?(?=\s*\{)",
        order=20,
    ),
    ToolCallFormat(
        name="llama",
        open=("<|python_tag|>",),
        close=("<|eom_id|>", "<|eot_id|>"),
        needs_close=False,
        order=10,
    ),
    ToolCallFormat(
        name="llama.python",  # built-in tools of Llama 3
        open=("<|python_tag|>",),
        close=("<|eom_id|>", "<|eot_id|>"),
        needs_close=False,
        translate=python_to_json,
        order=5,
    ),
    ToolCallFormat(
        name="python",  # Llama 4, LFM2
        open=("<|python_start|>", "<|tool_call_start|>"),
        close=("<|python_end|>", "<|tool_call_end|>"),
        translate=python_to_json,
        order=5,
    ),
    ToolCallFormat(
        name="python.tags",  # OLMo 3, and models that were trained on other formats
        open=(*_TAGS_OPEN, "<function_calls>", "\n```tool_code"),  # Gemma 3 and Gemini
        close=(*_TAGS_CLOSE, "</function_calls>", "\n```"),
        translate=python_to_json,
        order=6,
    ),
    ToolCallFormat(
        name="gemma",  # Gemma 4, FunctionGemma
        open=("<|tool_call>", "<start_function_call>"),
        close=("<tool_call|>", "<end_function_call>"),
        translate=braces_to_json,
        order=5,
    ),
    ToolCallFormat(
        name="kimi",
        open=("<|tool_call_begin|>",),
        close=("<|tool_call_end|>",),
        head=_KIMI_HEAD,
        order=10,
    ),
    ToolCallFormat(
        name="deepseek",  # V3 and R1
        open=("<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"),
        close=("<｜tool▁call▁end｜>", "<|tool▁call▁end|>"),
        head=rf"\s*(?:function)?<[｜|]tool▁sep[｜|]>\s*{_NAME}\s*(?=```|\{{)",
        order=10,
    ),
    ToolCallFormat(
        name="deepseek.named",  # V3.1
        open=("<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"),
        close=("<｜tool▁call▁end｜>", "<|tool▁call▁end|>"),
        head=rf"\s*{_NAME}\s*<[｜|]tool▁sep[｜|]>",
        order=20,
    ),
    # gpt-oss; the closing tag is a stop token, which servers remove
    ToolCallFormat(
        name="harmony",
        open=tuple(
            f"{start}<|channel|>{channel} to="
            for start in ("<|start|>assistant", "")
            for channel in ("commentary", "analysis")
        ),
        close=("<|call|>",),
        needs_close=False,
        head=rf"{_FUNCTION}\s*(?:<\|channel\|>\w+\s*)?(?:(?:<\|constrain\|>)?\s*\w{{1,40}}\s*)?<\|message\|>",
        order=10,
    ),
    ToolCallFormat(
        name="harmony.recipient",
        open=("<|start|>assistant to=",),
        close=("<|call|>",),
        needs_close=False,
        head=rf"{_FUNCTION}\s*<\|channel\|>\w+\s*(?:(?:<\|constrain\|>)?\s*\w{{1,40}}\s*)?<\|message\|>",
        order=10,
    ),
    ToolCallFormat(
        name="react",
        open=("\nAction:",),
        head=r"[ \t*]*`?(?!(?:none|null|n/a)\b)(?P<name>[\w.:-]{1,200})`?[ \t\r]*\n[\s*]*Action Input:[ \t*]*",
        plain="input",
        order=10,
    ),
    ToolCallFormat(
        name="action.json",  # Command R and R+
        open=("\nAction: ```json", "\nAction:```json", "\nAction:\n```json"),
        close=("\n```",),
        order=10,
    ),
    ToolCallFormat(
        name="actions",  # Command R7B and A
        open=("<|START_ACTION|>",),
        close=("<|END_ACTION|>",),
        order=10,
    ),
    ToolCallFormat(
        name="plugin-action",  # InternLM
        open=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"),
        close=("<|action_end|>",),
        order=10,
    ),
    ToolCallFormat(
        name="json",
        protocol=("tool_calls", "tool_call", "function_call", "function", "tool_use"),
        order=10,
    ),
    # Llama 3 writes calls without any tag when the prompt requests JSON.
    ToolCallFormat(name="json.bare", protocol=("parameters", "arguments"), models=("llama",), order=90),
)

_GROUPS = (
    ToolCallFormat(name="tags.group", kind=ToolCallFormatKind.GROUP, open=_TAGS_OPEN, close=_TAGS_CLOSE, order=50),
    ToolCallFormat(
        name="lists",
        kind=ToolCallFormatKind.GROUP,
        is_list=True,
        open=(
            "<function_calls>",
            f"<{_PREFIX}function_calls>",
            "<tool_uses>",
            "<｜DSML｜function_calls>",
            "<｜DSML｜tool_calls>",
        ),
        close=(
            "</function_calls>",
            f"</{_PREFIX}function_calls>",
            "</tool_uses>",
            "</｜DSML｜function_calls>",
            "</｜DSML｜tool_calls>",
        ),
        order=50,
    ),
    ToolCallFormat(
        name="kimi.section",
        kind=ToolCallFormatKind.GROUP,
        is_list=True,
        open=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        close=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
        order=50,
    ),
    ToolCallFormat(
        name="deepseek.section",
        kind=ToolCallFormatKind.GROUP,
        is_list=True,
        open=("<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>"),
        close=("<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>"),
        order=50,
    ),
    ToolCallFormat(
        name="fences.group",
        kind=ToolCallFormatKind.GROUP,
        open=("\n```tool_call", "\n```tool_calls", "\n```invoke"),
        close=("\n```",),
        order=50,
    ),
)

_QUOTES_OPEN, _QUOTES_CLOSE = _elements("tools", "available_tools", "example", "examples", "tool_code_example")
_RESULTS_OPEN, _RESULTS_CLOSE = _elements(
    "tool_result", "tool_results", "tool_response", "function_result", "function_results", "tool_output"
)

_OTHERS = (
    ToolCallFormat(name="declarations", kind=ToolCallFormatKind.QUOTE, open=_QUOTES_OPEN, close=_QUOTES_CLOSE),
    ToolCallFormat(name="results", kind=ToolCallFormatKind.LEFTOVER, open=_RESULTS_OPEN, close=_RESULTS_CLOSE),
    ToolCallFormat(
        name="tokens",
        kind=ToolCallFormatKind.LEFTOVER,
        open=(
            "<eom>",
            "<|eom_id|>",
            "<|eot_id|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<|end_of_text|>",
            "<|end|>",
            "<|observation|>",
            "<|user|>",
            "[|endofturn|]",
            "<end_of_turn>",
            "<|call|>",
            "<|return|>",
            "<|END_OF_TURN_TOKEN|>",
            "<start_function_response>",
            "<|tool_response>",
            "<｜end▁of▁sentence｜>",
            "</s>",
        ),
    ),
    ToolCallFormat(
        name="introductions",
        kind=ToolCallFormatKind.INTRODUCTION,
        head=EXAMPLE_INTRODUCTION,
    ),
)


@hookimpl
def helmdeck_tool_call_formats() -> Sequence[ToolCallFormat]:
    """The tool-call formats of known models."""
    return (*_CALLS, *_GROUPS, *_OTHERS)
