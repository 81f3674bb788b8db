"""Benchmark inputs, generated from a seed so that every machine measures the same."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec

WORDS = (
    "the planner reads a request and picks the tools that serve it while the budget of the model says how much of the "
    "catalog can be sent so every entry counts and the best ones keep their richest form until the room is used up"
).split()


class Step(msgspec.Struct):
    """One step of a plan."""

    order: int
    tool: str
    args: dict[str, Any]
    rationale: str


class Answer(msgspec.Struct):
    """A plan in the format of a model."""

    steps: list[Step]
    complexity: str
    reasoning: str


def prose(rng: random.Random, size: int) -> str:
    """About ``size`` characters of words."""
    text: list[str] = []
    length = 0
    while length < size:
        text.append(rng.choice(WORDS))
        length += len(text[-1]) + 1
    return " ".join(text)[:size]


def payload(size: int, seed: int = 7) -> str:
    """A plan of about ``size`` bytes as compact JSON."""
    rng = random.Random(seed)
    steps: list[dict[str, Any]] = []
    while True:
        text = json.dumps(
            {"steps": steps, "complexity": "pack-chain", "reasoning": prose(rng, 60)}, separators=(",", ":")
        )
        if len(text) >= size:
            return text
        step = {
            "order": len(steps) + 1,
            "tool": f"area{rng.randint(1, 40)}.verb",
            "args": {"text": prose(rng, rng.randint(10, 60)), "limit": rng.randint(1, 99), "quiet": rng.random() < 0.5},
            "rationale": prose(rng, 40),
        }
        steps.append(step)


def reasoning(size: int, seed: int = 8) -> str:
    """A reasoning block of about ``size`` bytes."""
    return f"<think>{prose(random.Random(seed), size)}</think>\n\n"


def fenced(text: str) -> str:
    """Wrap the text as weak models often do."""
    return f"Here is the plan:\n\n```json\n{text}\n```\n\nLet me know if it helps."
