"""Calls and output tokens per complete response: Helmdeck's continuation, hand-written loops, and full retries.

A simulated model generates a known response at four characters per token, stops at its output limit, and continues with
one of the habits. The limit is a half, a third or a fifth of the response; a full retry doubles it each time.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Callable, Iterator

import attrs

from benchmarks.continuation.habits import HABITS
from benchmarks.continuation.joins import JOINS, MERGER
from benchmarks.continuation.payloads import Payload, payloads
from helmdeck_core import ChatRequest, ChatResponse, Message, Role, StopReason, TextPart, Usage
from helmdeck_core.calls.answer_shape import AnswerShapeCheck
from helmdeck_core.calls.continuation.turn import SendRequest, Turn, TurnResult
from helmdeck_core.domain.continuation import ContinuationLimits
from helmdeck_testing.deck_factory import make_deck

CHARS_PER_TOKEN = 4
PARTS = (2, 3, 5)
MAX_CALLS = 12
RUNTIME = make_deck().runtime


@attrs.define
class CostSums:
    """Sums over responses."""

    answers: int = 0
    exact: int = 0
    calls: int = 0
    tokens: int = 0
    needed: int = 0


class Model:
    """Generates one response in parts up to the output limit."""

    def __init__(self, payload: Payload, habit: str) -> None:
        self.text = payload.text
        self.calls = self.tokens = self._at = 0
        self._continue = HABITS[habit]
        self._rng = random.Random(f"{payload.kind}{payload.size}{habit}")

    def write(self, limit: int, *, is_first: bool = False) -> tuple[str, bool]:
        """Generate from the start or continue; return the text and whether it is truncated."""
        done, rest = self.text[: self._at], self.text[self._at :]
        text = self.text
        if is_first:
            self._at, rest = 0, text
        else:
            continuations = list(self._continue(done, rest, self._rng)) or [(rest, True)]
            text = self._rng.choice(
                [more for more, is_unique in continuations if is_unique] or [more for more, _ in continuations]
            )
        most = limit * CHARS_PER_TOKEN
        self.calls += 1
        self.tokens += min(limit, -(-len(text) // CHARS_PER_TOKEN))
        self._at += max(0, min(most, len(text)) - (len(text) - len(rest)))
        return text[:most], len(text) > most


def ours(model: Model, limit: int) -> str:
    """Helmdeck's turn with enough budget for all continuations."""
    request = ChatRequest(model="any/model", messages=(Message(Role.USER, (TextPart("go"),)),), max_tokens=limit)
    limits = ContinuationLimits(max_attempts=MAX_CALLS, max_completion_tokens=MAX_CALLS * limit, max_output_chars=10**9)
    turn = Turn(request, limits, AnswerShapeCheck(RUNTIME, request), RUNTIME.texts, MERGER)
    text, is_truncated = model.write(limit, is_first=True)
    step: SendRequest | TurnResult = turn.feed(_response(text, is_truncated))
    while isinstance(step, SendRequest):
        text, is_truncated = model.write(step.request.max_tokens or limit)
        step = turn.feed(_response(text, is_truncated))
    return step.response.text


def by_hand(join: str) -> Callable[[Model, int], str]:
    """Return a loop around a merge."""

    def run(model: Model, limit: int) -> str:
        text, is_truncated = model.write(limit, is_first=True)
        while is_truncated and model.calls < MAX_CALLS:
            more, is_truncated = model.write(limit)
            text = JOINS[join](text, more)
        return text

    return run


def again(model: Model, limit: int) -> str:
    """No continuation: retry the whole request with twice the limit."""
    text, is_truncated = model.write(limit, is_first=True)
    while is_truncated and model.calls < MAX_CALLS:
        limit *= 2
        text, is_truncated = model.write(limit, is_first=True)
    return text


WAYS: dict[str, Callable[[Model, int], str]] = {
    "helmdeck": ours,
    "concatenation": by_hand("concatenation"),
    "longest overlap": by_hand("longest overlap"),
    "retried, limit doubled": again,
}


def runs() -> Iterator[tuple[Payload, str, int]]:
    """Yield every kind except refrains, with every habit and limit."""
    for payload in payloads():
        if payload.kind != "refrain" and payload.size != "large":
            for habit in HABITS:
                for parts in PARTS:
                    yield payload, habit, -(-len(payload.text) // (parts * CHARS_PER_TOKEN))


def rows() -> list[tuple[str, ...]]:
    """Return the table rows: every method, then Helmdeck by habit."""
    scores: dict[tuple[str, str], CostSums] = collections.defaultdict(CostSums)
    for payload, habit, limit in runs():
        for way, run in WAYS.items():
            model = Model(payload, habit)
            text = run(model, limit)
            for key in (way, ""), (way, habit):
                sums = scores[key]
                sums.answers += 1
                sums.exact += text == payload.text
                sums.calls += model.calls
                sums.tokens += model.tokens
                sums.needed += -(-len(payload.text) // CHARS_PER_TOKEN)
    labelled = [(way, scores[way, ""]) for way in WAYS]
    labelled += [(f"helmdeck, {habit}", scores["helmdeck", habit]) for habit in HABITS]
    return [
        (
            label,
            f"{sums.answers:,}",
            f"{100 * sums.exact / sums.answers:.1f}",
            f"{sums.calls / sums.answers:.2f}",
            f"{sums.tokens / sums.needed:.2f}",
        )
        for label, sums in labelled
    ]


def _response(text: str, is_truncated: bool) -> ChatResponse:
    stop = StopReason.MAX_TOKENS if is_truncated else StopReason.END_TURN
    return ChatResponse(text=text, stop_reason=stop, usage=Usage(output_tokens=-(-len(text) // CHARS_PER_TOKEN)))
