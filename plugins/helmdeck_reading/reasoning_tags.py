"""Reasoning tags of models and gateways, as data.

All were observed in responses of the models named next to them. Names of ordinary markup elements, such as ``<plan>`` or
``<reason>``, are left out: treating an answer as reasoning is worse than the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ReasoningTag, hookimpl

_ELEMENTS = (
    "think",  # DeepSeek R1, Qwen 3, GLM, MiniMax, Nemotron and most open models
    "reasoning",
    "thinking",  # Claude prompts, several fine-tunes
    "thought",  # EXAONE, Gemini through some gateways
    "thoughts",
    "thereasoning",
    "antthinking",  # Claude
    "seed:think",  # Seed-OSS
    "mm:think",  # MiniMax
    "longcat_think",  # LongCat
    "reflection",
    "scratchpad",
    "analysis",
    "inner_monologue",
    "inner_thoughts",
    "internal_monologue",
    "self_reflection",
    "deliberation",
    "chain_of_thought",
    "thought_process",
    "thinking_process",
    "reasoning_process",
    "reasoning_content",
    "reasoning_steps",
    "internal_thoughts",
    "internal_reasoning",
    "internal_thinking",
    "inner_thought",
    "ant_thinking",
    "monologue",
    "cot",
)

_BRACKETED = ("reasoning", "think", "thinking", "thought", "thoughts")  # [THINK]: Magistral

_HARMONY_FINAL = tuple(
    f"{header}<|channel|>final{constrained}<|message|>"
    for header in ("", "<|start|>assistant", "<|end|><|start|>assistant")
    for constrained in ("", " <|constrain|>json", "<|constrain|>json")
)


def _element(name: str) -> ReasoningTag:
    return ReasoningTag(name=name, open=f"<{name}>", close=(f"</{name}>",), has_attributes=True)


def _bracketed(name: str) -> ReasoningTag:
    return ReasoningTag(name=f"[{name}]", open=f"[{name}]", close=(f"[/{name}]",))


def _harmony(channel: str) -> tuple[ReasoningTag, ...]:
    """A channel, with and without the header of its message, which templates put into the prompt."""
    # Another message follows <|end|>; an <|end|> without an opening tag only ends the answer.
    return tuple(
        ReasoningTag(
            name=f"harmony-{channel}{suffix}",
            open=f"{header}<|channel|>{channel}<|message|>",
            close=("<|end|>", "<|return|>", *_HARMONY_FINAL),
            closes_alone=False,
        )
        for header, suffix in (("", ""), ("<|start|>assistant", "-message"))
    )


def _between(start: str, end: str, *, closes_alone: bool = True) -> ReasoningTag:
    return ReasoningTag(name=start, open=start, close=(end,), closes_alone=closes_alone)


_CHANNELS = (
    *_harmony("analysis"),  # gpt-oss
    *_harmony("commentary"),  # gpt-oss, preambles; a tool call has a longer header and does not match
    ReasoningTag(name="harmony-final", open="", close=_HARMONY_FINAL),
    # Stop tokens at the end of a message; servers that do not know the format leave them in the text.
    *(ReasoningTag(name=f"harmony-{name}", open=f"<|{name}|>", close=()) for name in ("end", "return", "call")),
    # Command R and A
    *(ReasoningTag(name=f"{name}-response", open=f"<|{name}_RESPONSE|>", close=()) for name in ("start", "end")),
    ReasoningTag(name="end-of-turn", open="<|END_OF_TURN_TOKEN|>", close=()),
    # The same without its control tokens: analysis...assistantfinal{...}
    ReasoningTag(name="harmony-plain", open="", close=("assistantfinal",)),
    ReasoningTag(name="channel-thought", open="<|channel>thought", close=("<channel|>",)),  # Gemma
    ReasoningTag(name="start-thinking", open="<|START_THINKING|>", close=("<|END_THINKING|>",)),  # Command A
    ReasoningTag(
        name="begin-of-thought", open="<|begin_of_thought|>", close=("<|end_of_thought|>",)
    ),  # OpenThinker, Sky-T1
    *(_between(f"<|{name}|>", f"<|/{name}|>") for name in ("think", "thinking", "reasoning", "thought")),
    *(_between(f"<|{name}_start|>", f"<|{name}_end|>") for name in ("think", "thinking", "reasoning")),
    _between("<unused94>thought", "<unused95>"),  # MedGemma
    _between("<|im_start|>think", "<|im_start|>answer"),  # s1
    *(_between(f"```{name}", "\n```", closes_alone=False) for name in ("think", "thinking", "thought", "reasoning")),
    # From a gateway that escapes markup.
    ReasoningTag(name="think-escaped", open="&lt;think&gt;", close=("&lt;/think&gt;",)),
    ReasoningTag(name="think-triangle", open="◁think▷", close=("◁/think▷",)),  # Kimi
)

# Phrases count only as complete pairs.
_PHRASES = (
    *(
        ReasoningTag(
            name=f"phrase-{number}",
            open=f"{start} my thought process:",
            close=("Here is my response:", "Here's my response:"),
            closes_alone=False,
        )
        for number, start in enumerate(("Here is", "Here's"), 1)
    ),  # Granite 3
    ReasoningTag(
        name="phrase-steps",
        open="Here are my reasoning steps:",
        close=("[BEGIN FINAL RESPONSE]",),
    ),  # Apriel
)

_TAGS: tuple[ReasoningTag, ...] = (
    *(_element(name) for name in _ELEMENTS),
    *(_bracketed(name) for name in _BRACKETED),
    *_CHANNELS,
    *_PHRASES,
)


@hookimpl
def helmdeck_reasoning_tags() -> Sequence[ReasoningTag]:
    """The reasoning tags of known models."""
    return _TAGS
