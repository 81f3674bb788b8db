"""What a whole answer costs: calls and output tokens, continued by this project and by hand, or asked for again.

A simulated model writes a known answer at four characters a token, stops at its output limit, and goes on by one of the
habits. The limit is a half, a third or a fifth of the answer. Asked again, it gets twice the limit each time.
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
MOST_CALLS = 12
RUNTIME = make_deck().runtime


@attrs.define
class Paid:
    """Sums over answers."""

    answers: int = 0
    exact: int = 0
    calls: int = 0
    tokens: int = 0
    needed: int = 0


class Model:
    """Writes one answer, up to a limit at a time."""

    def __init__(self, payload: Payload, habit: str) -> None:
        self.text = payload.text
        self.calls = self.tokens = self._at = 0
        self._go_on = HABITS[habit]
        self._rng = random.Random(f"{payload.kind}{payload.size}{habit}")

    def write(self, limit: int, *, is_first: bool = False) -> tuple[str, bool]:
        """Write from the start, or go on from where the last text ended; return the text and whether it was cut."""
        done, rest = self.text[: self._at], self.text[self._at :]
        text = self.text
        if is_first:
            self._at, rest = 0, text
        else:
            said = list(self._go_on(done, rest, self._rng)) or [(rest, True)]
            text = self._rng.choice([more for more, is_unique in said if is_unique] or [more for more, _ in said])
        most = limit * CHARS_PER_TOKEN
        self.calls += 1
        self.tokens += min(limit, -(-len(text) // CHARS_PER_TOKEN))
        self._at += max(0, min(most, len(text)) - (len(text) - len(rest)))
        return text[:most], len(text) > most


def ours(model: Model, limit: int) -> str:
    """The turn of this project, with room for all continuations."""
    asked = ChatRequest(model="any/model", messages=(Message(Role.USER, (TextPart("go"),)),), max_tokens=limit)
    limits = ContinuationLimits(
        max_attempts=MOST_CALLS, max_completion_tokens=MOST_CALLS * limit, max_output_chars=10**9
    )
    turn = Turn(asked, limits, AnswerShapeCheck(RUNTIME, asked), RUNTIME.texts, MERGER)
    text, is_cut = model.write(limit, is_first=True)
    step: SendRequest | TurnResult = turn.feed(_response(text, is_cut))
    while isinstance(step, SendRequest):
        text, is_cut = model.write(step.request.max_tokens or limit)
        step = turn.feed(_response(text, is_cut))
    return step.response.text


def by_hand(join: str) -> Callable[[Model, int], str]:
    """A loop around one of the joins."""

    def run(model: Model, limit: int) -> str:
        text, is_cut = model.write(limit, is_first=True)
        while is_cut and model.calls < MOST_CALLS:
            more, is_cut = model.write(limit)
            text = JOINS[join](text, more)
        return text

    return run


def again(model: Model, limit: int) -> str:
    """No continuation: the whole answer once more with twice the limit."""
    text, is_cut = model.write(limit, is_first=True)
    while is_cut and model.calls < MOST_CALLS:
        limit *= 2
        text, is_cut = model.write(limit, is_first=True)
    return text


WAYS: dict[str, Callable[[Model, int], str]] = {
    "helmdeck": ours,
    "concatenation": by_hand("concatenation"),
    "longest overlap": by_hand("longest overlap"),
    "asked again, limit doubled": again,
}


def runs() -> Iterator[tuple[Payload, str, int]]:
    """Every kind but the refrains, every habit, every limit."""
    for payload in payloads():
        if payload.kind != "refrain" and payload.size != "large":
            for habit in HABITS:
                for parts in PARTS:
                    yield payload, habit, -(-len(payload.text) // (parts * CHARS_PER_TOKEN))


def rows() -> list[tuple[str, ...]]:
    """Lines of the table: every way, then this project by habit."""
    scores: dict[tuple[str, str], Paid] = collections.defaultdict(Paid)
    for payload, habit, limit in runs():
        for way, run in WAYS.items():
            model = Model(payload, habit)
            text = run(model, limit)
            for key in (way, ""), (way, habit):
                paid = scores[key]
                paid.answers += 1
                paid.exact += text == payload.text
                paid.calls += model.calls
                paid.tokens += model.tokens
                paid.needed += -(-len(payload.text) // CHARS_PER_TOKEN)
    labelled = [(way, scores[way, ""]) for way in WAYS]
    labelled += [(f"helmdeck, {habit}", scores["helmdeck", habit]) for habit in HABITS]
    return [
        (
            label,
            f"{paid.answers:,}",
            f"{100 * paid.exact / paid.answers:.1f}",
            f"{paid.calls / paid.answers:.2f}",
            f"{paid.tokens / paid.needed:.2f}",
        )
        for label, paid in labelled
    ]


def _response(text: str, is_cut: bool) -> ChatResponse:
    stop = StopReason.MAX_TOKENS if is_cut else StopReason.END_TURN
    return ChatResponse(text=text, stop_reason=stop, usage=Usage(output_tokens=-(-len(text) // CHARS_PER_TOKEN)))
