"""Probes: small measurements after the search, each a few calls with prompts that differ."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import attrs

from helmdeck_cli import Session, rank_config, ranked_by, right_tools
from helmdeck_core import (
    Attempt,
    CallFailed,
    CallLimits,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Helmdeck,
    LoadedConfig,
    Message,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolDefinition,
)

Result = tuple[dict[str, Any], Sequence[float]]
"""The figures of a probe, and the cost of each call with a known price."""

OUTPUT_LINES = (200, 800, 2_400)
"""Lines of a number each that the probe of the output length requests; a line has about three tokens."""

CHOICE_S: Final = 180.0
"""Seconds of the probe of the choice of a tool."""

WORDS: Final = "harbour lantern meadow copper violet granite ember willow falcon saffron".split()


@attrs.frozen(kw_only=True)
class Probe:
    """One probe.

    :ivar calls: maximum number of calls.
    """

    name: str
    calls: int
    run: Callable[[Helmdeck, str, CallLimits], Awaitable[Result]]


@attrs.frozen
class _Reply:
    response: ChatResponse | None
    cause: str
    costs: tuple[float, ...]

    @property
    def text(self) -> str:
        return self.response.text if self.response is not None else ""


def _messages(*texts: str) -> tuple[Message, ...]:
    """Messages of the user and the model in turn."""
    roles = (Role.USER, Role.ASSISTANT)
    return tuple(Message(roles[number % 2], (TextPart(text),)) for number, text in enumerate(texts))


async def _complete(deck: Helmdeck, request: ChatRequest, limits: CallLimits) -> _Reply:
    try:
        response = await deck.acomplete(request, limits=limits)
    except CallFailed as exc:
        cause = "/".join(filter(None, (exc.failure_class.value, exc.sub_cause)))
        return _Reply(None, cause, _costs(exc.attempts))
    return _Reply(response, "", _costs(response.attempts))


def _costs(attempts: Sequence[Attempt]) -> tuple[float, ...]:
    return tuple(each.cost_usd for each in attempts if each.cost_usd is not None)


async def first_token(deck: Helmdeck, model: str, limits: CallLimits) -> Result:
    """Seconds until the first visible or reasoning token of five short streams."""
    seconds: list[float] = []
    costs: list[float] = []
    failed: list[str] = []
    for word in WORDS[:5]:
        request = ChatRequest(
            model=model, messages=_messages(f"Write one short sentence that contains the word {word}.")
        )
        start = time.monotonic()
        first: float | None = None
        try:
            async for item in deck.astream(request, limits=limits):
                if isinstance(item, ChatDelta):
                    first = first if first is not None else time.monotonic() - start
                else:
                    costs += _costs(item.attempts)
        except CallFailed as exc:
            failed.append(exc.failure_class.value)
            costs += _costs(exc.attempts)
        if first is not None:
            seconds.append(round(first, 3))
    seconds.sort()
    median = seconds[len(seconds) // 2] if seconds else None
    return {"median_s": median, "max_s": max(seconds, default=None), "trials": 5, "failed": failed}, costs


async def output_length(deck: Helmdeck, model: str, limits: CallLimits) -> Result:
    """The longest list of numbers that the model writes to its end."""
    longest, tokens = 0, 0
    costs: list[float] = []
    stop = ""
    for lines in OUTPUT_LINES:
        start = 1_000 + lines
        text = (
            f"Write the numbers from {start} to {start + lines - 1}, one per line, with nothing before or after them."
        )
        request = ChatRequest(model=model, messages=_messages(text), max_tokens=lines * 8)
        reply = await _complete(deck, request, limits)
        costs += reply.costs
        written = [line.strip() for line in reply.text.split()]
        stop = reply.cause or (reply.response.stop_reason.value if reply.response is not None else "")
        if reply.response is None or not reply.response.is_complete or written != _numbers(start, lines):
            break
        longest, tokens = lines, max(tokens, reply.response.usage.output_tokens)
    return {"lines": longest, "of": OUTPUT_LINES[-1], "output_tokens": tokens or None, "last_end": stop}, costs


def _numbers(start: int, lines: int) -> list[str]:
    return [str(number) for number in range(start, start + lines)]


async def strict_json(deck: Helmdeck, model: str, limits: CallLimits) -> Result:
    """Bare JSON that matches a schema, with and without constrained decoding, of three answers each."""
    figures: dict[str, Any] = {"trials": 3}
    costs: list[float] = []
    schema = {
        "type": "object",
        "properties": {"word": {"type": "string"}, "letters": {"type": "integer"}},
        "required": ["word", "letters"],
        "additionalProperties": False,
    }
    for name, form in (("constrained", ResponseFormat(kind="json_schema", schema=schema)), ("plain", None)):
        passed, downgraded = 0, False
        for word in WORDS[5:8]:
            text = (
                f"How many letters has the word {word}{'?' if form else ' ?'} Answer with one JSON object with the keys "
                '"word" (a string) and "letters" (an integer), and nothing else.'
            )
            request = ChatRequest(model=model, messages=_messages(text), response_format=form)
            reply = await _complete(deck, request, limits)
            costs += reply.costs
            passed += _is_exact(reply.text)
            downgraded = downgraded or bool(reply.response is not None and reply.response.downgrades)
        figures[name] = passed
        if form is not None:
            figures["is_downgraded"] = downgraded
    return figures, costs


def _is_exact(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.keys() == {"word", "letters"} and isinstance(value["letters"], int)


async def native_tools(deck: Helmdeck, model: str, limits: CallLimits) -> Result:
    """Native tool calls with the requested argument, of three."""
    schema = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    tools = (
        ToolDefinition("weather", "Returns the current weather of a place.", schema),
        ToolDefinition("local_time", "Returns the current time of a place.", schema),
    )
    passed = 0
    costs: list[float] = []
    for place in ("Bergen", "Quito", "Sapporo"):
        request = ChatRequest(model=model, messages=_messages(f"Is it raining in {place} now?"), tools=tools)
        reply = await _complete(deck, request, limits)
        costs += reply.costs
        calls = reply.response.tool_calls if reply.response is not None else ()
        passed += bool(calls) and calls[0].name == "weather" and place in calls[0].arguments
    return {"passed": passed, "trials": 3}, costs


async def prefill(deck: Helmdeck, model: str, limits: CallLimits) -> Result:
    """Whether the model continues its own partial answer instead of starting again, of two."""
    passed = 0
    costs: list[float] = []
    for start in (31, 57):
        question = f"Write the numbers from {start} to {start + 19}, separated by spaces, and nothing else."
        partial = " ".join(_numbers(start, 8))
        request = ChatRequest(model=model, messages=_messages(question, partial), continues=True)
        reply = await _complete(deck, request, limits)
        costs += reply.costs
        is_clean = reply.response is not None and reply.response.stop_reason is StopReason.END_TURN
        passed += is_clean and reply.text.split()[:1] == [str(start + 8)]
    return {"passed": passed, "trials": 2}, costs


async def choice(deck: Helmdeck, model: str, limits: CallLimits) -> Result:
    """Right tools of the model and of the ranker on the same requests, and whether the server computes likelihoods."""
    ranking = Helmdeck(LoadedConfig(rank_config(deck.runtime.config), {}))
    try:
        session = Session(deck, model, ranked_by(ranking), limit_s=limits.deadline_s or CHOICE_S)
        session.facts["schema"] = "kept"
        return dict((await right_tools(session)).facts), ()
    finally:
        await ranking.aclose()


PROBES: tuple[Probe, ...] = (
    Probe(name="first_token", calls=5, run=first_token),
    Probe(name="output_length", calls=3, run=output_length),
    Probe(name="strict_json", calls=6, run=strict_json),
    Probe(name="tools", calls=3, run=native_tools),
    Probe(name="prefill", calls=2, run=prefill),
    Probe(name="choice", calls=21, run=choice),
)
PROBE_CALLS = sum(probe.calls for probe in PROBES)
