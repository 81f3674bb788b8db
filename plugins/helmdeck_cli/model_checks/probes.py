"""The probes: a few short requests each, whose answers show whether a server keeps what it accepts."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import attrs

from helmdeck_cli.checks.configured_providers import failure_text
from helmdeck_cli.model_checks.results import Result, Verdict
from helmdeck_cli.model_checks.session import CALL_S, Reply, Session
from helmdeck_core import CallFailed, FailureClass, ResponseFormat, StopReason, ToolDefinition

LOADING_S = 30.0
"""Seconds of the first request, since the server may load the model."""

READ_S = 2.5
"""Seconds that reading the prompt of the second and third speed probe should take."""

STREAMS, SPEED_S = 3, 12.0
"""Streams of the speed probe, and the seconds after which no further one begins."""

MOST_WORDS, LEAST_WORDS = 1_500, 80

WORDS: Final = "harbour lantern meadow copper violet granite ember willow falcon saffron".split()

FINAL: Final = (
    FailureClass.AUTH_FAILED,
    FailureClass.QUOTA_EXHAUSTED,
    FailureClass.PROVIDER_UNAVAILABLE,
    FailureClass.INVALID_REQUEST,
    FailureClass.CANCELLED,
)
"""Causes of a failed first request after which no other one can succeed."""

CODES = ("K7", "M4")

NOTE_CHARS = 40

CLOSED: Final = {
    "type": "object",
    "properties": {"code": {"enum": list(CODES)}, "note": {"type": "string", "maxLength": NOTE_CHARS}},
    "required": ["code", "note"],
    "additionalProperties": False,
}
"""A schema whose values no model writes by itself, so that an answer of this form shows that the server keeps it."""

SCHEMA_TOKENS, MOST_SCHEMA_S = 96, 30.0
"""Output tokens of the schema probe, and seconds that a slow server gets for them at most."""

BUSY = 2
"""How much slower a server may be during a request than while its speed was measured."""

OBJECT = "Describe Paris as one JSON object with the keys city and country, and nothing else."

TOOLS = (
    ToolDefinition(
        "weather",
        "Returns the current weather of a place.",
        {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    ),
    ToolDefinition(
        "local_time",
        "Returns the current time of a place.",
        {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    ),
)


@attrs.frozen
class Probe:
    """One probe.

    :ivar name: the name of its result.
    """

    name: str
    run: Callable[[Session], Awaitable[Result]]


def _why(reply: Reply) -> str:
    return failure_text(reply.failure) if reply.failure is not None else "an empty answer"


async def text(session: Session) -> Result:
    """One sentence; a second question follows an empty answer."""
    reply = Reply()
    for question in ("In which country is the city of Lyon? Answer in one sentence.", "Say hello."):
        reply = await session.send(session.request(question, max_tokens=32), LOADING_S)
        if reply.text:
            shown = " ".join(reply.text.split())[:60]
            facts = {"first_call_s": round(reply.seconds, 2)}
            return Result("text", Verdict.YES, f"answered in {reply.seconds:.1f} s: {shown}", facts)
        if not isinstance(reply.failure, CallFailed) or not reply.failure.is_empty:
            break
    return Result("text", Verdict.NO, _why(reply), {"is_final": _is_final(reply)})


def _is_final(reply: Reply) -> bool:
    """Whether no other request can succeed."""
    failure = reply.failure
    if not isinstance(failure, CallFailed):
        return failure is not None
    return failure.failure_class in FINAL or (
        failure.failure_class is FailureClass.LIKELY_TIMEOUT and not failure.is_empty
    )


async def speed(session: Session) -> Result:
    """Tokens a second, read and written: a short stream, then two with a longer prompt. The best counts: other work only slows it."""
    words, reading, writing = LEAST_WORDS, 0.0, 0.0
    reply, start = Reply(), session.left_s
    for _ in range(STREAMS):
        reply = await session.stream(_prompt(session, words), CALL_S)
        if reply.response is None or reply.first_s is None:
            break
        usage = reply.response.usage
        read = usage.input_tokens - usage.cached_input_tokens
        if read > 0 and reply.first_s > 0:
            reading = max(reading, read / reply.first_s)
        written_s = reply.seconds - reply.first_s
        if usage.output_tokens > 1 and written_s > 0:
            writing = max(writing, (usage.output_tokens - 1) / written_s)
        if start - session.left_s > SPEED_S:
            break
        words = max(LEAST_WORDS, min(MOST_WORDS, int(reading * READ_S / 2.5)))
    if not reading or not writing:
        why = (
            _why(reply) if reply.response is None else "the server reports no token counts, or sends the answer at once"
        )
        return Result("speed", Verdict.NOT_TRIED, f"not measured: {why}")
    facts = {"reads_per_s": round(reading, 1), "writes_per_s": round(writing, 1)}
    return Result("speed", Verdict.YES, f"reads {reading:,.0f} and writes {writing:,.0f} tokens a second", facts)


def _prompt(session: Session, words: int) -> Any:
    # A random order, so that no prefix cache knows the prompt.
    listed = " ".join(random.choices(WORDS, k=words))  # noqa: S311 (not secret)
    return session.request(f"{listed}\n\nWrite the numbers from 1 to 20.", max_tokens=40)


async def json_schema(session: Session) -> Result:
    """A schema that contradicts the question: only a server that keeps it returns these values."""
    name = "json schema"
    form = ResponseFormat(kind="json_schema", schema=CLOSED)
    question = "In which country is the city of Lyon? Answer in one sentence."
    needed_s = BUSY * SCHEMA_TOKENS / session.facts.get("writes_per_s", SCHEMA_TOKENS)
    bound_s = min(MOST_SCHEMA_S, max(CALL_S, needed_s))
    reply = await session.send(session.request(question, max_tokens=SCHEMA_TOKENS, response_format=form), bound_s)
    if reply.response is None and reply.is_late and needed_s > bound_s:
        text = f"unknown: not answered within {bound_s:.0f} s by a server that is slow without a schema, too"
        return Result(name, Verdict.NOT_TRIED, text)
    if reply.response is None:
        return Result(name, Verdict.NO, _refused_text(reply, bound_s), {"schema": "refused", "cause": reply.cause})
    sent = reply.response.constraint
    if not sent.startswith("json_schema"):
        left_out = "; ".join(reply.response.downgrades) or "this kind of provider sends none"
        return Result(name, Verdict.NOT_TRIED, f"not sent: {left_out}", {"schema": "not sent"})
    value = _object(reply.text)
    if value is None and reply.response.stop_reason is StopReason.MAX_TOKENS:
        text = "accepted, but the answer never ends: a loop inside the schema"
        return Result(name, Verdict.NO, text, {"schema": "deadlock"})
    if value is None or value.get("code") not in CODES:
        return Result(name, Verdict.NO, "accepted and ignored: the answer has another form", {"schema": "ignored"})
    if len(str(value.get("note"))) > NOTE_CHARS:
        text = "kept, except for the maximum length of strings"
        return Result(name, Verdict.PARTLY, text, {"schema": "kept"})
    return Result(name, Verdict.YES, "kept: names and values cannot be invented", {"schema": "kept"})


def _refused_text(reply: Reply, bound_s: float = CALL_S) -> str:
    failure = reply.failure
    if isinstance(failure, CallFailed) and failure.failure_class is FailureClass.INVALID_REQUEST:
        return f"refused: {failure.detail or failure.headline}"
    if reply.is_late:
        return f"no answer within {bound_s:.0f} s: the server is too slow for it, or never ends an answer of this kind"
    return _why(reply)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def json_mode(session: Session) -> Result:
    """JSON mode without a schema."""
    form = ResponseFormat(kind="json_object")
    reply = await session.send(session.request(OBJECT, max_tokens=80, response_format=form))
    if reply.response is None:
        return Result("json mode", Verdict.NO, _refused_text(reply), {"json_mode": False})
    if not reply.response.constraint:
        return Result("json mode", Verdict.NOT_TRIED, "not sent: this kind of provider has none", {"json_mode": False})
    if _object(reply.text) is None:
        return Result("json mode", Verdict.NO, "accepted, but the answer is not JSON", {"json_mode": False})
    return Result("json mode", Verdict.YES, "the answer is one JSON object", {"json_mode": True})


async def json_in_words(session: Session) -> Result:
    """JSON that only the prompt requests."""
    reply = await session.send(session.request(OBJECT, max_tokens=80))
    if reply.response is None:
        return Result("json in words", Verdict.NO, _why(reply), {"json_in_words": False})
    if _object(reply.text) is not None:
        return Result("json in words", Verdict.YES, "bare JSON without constraint", {"json_in_words": True})
    try:
        value = session.deck.decode(reply.text, dict).value
    except CallFailed:
        value = {}
    if {"city", "country"} <= value.keys():
        text = "JSON with other text around it, which is read"
        return Result("json in words", Verdict.YES, text, {"json_in_words": True})
    return Result("json in words", Verdict.NO, "the answer is not the requested JSON", {"json_in_words": False})


async def native_tools(session: Session) -> Result:
    """A native tool call: the model's own decision first, then a forced one."""
    name, question = "native tools", "Is it raining in Bergen now?"
    reply = Reply()
    for choice in (None, "required"):
        reply = await session.send(session.request(question, max_tokens=64, tools=TOOLS, tool_choice=choice))
        if reply.response is None:
            break
        calls = reply.response.tool_calls
        if calls and calls[0].name == "weather" and "Bergen" in calls[0].arguments:
            forced = ", only when it is forced" if choice else ""
            verdict = Verdict.PARTLY if choice else Verdict.YES
            return Result(name, verdict, f"calls the right tool{forced}", {"native_tools": not choice})
    why = _refused_text(reply) if reply.response is None else "no tool is called, also when a call is required"
    return Result(name, Verdict.NO, why, {"native_tools": False})


async def logprobs(session: Session) -> Result:
    """The log-probabilities of one token."""
    request = attrs.evolve(session.request("Answer yes or no: is Lyon in France?", max_tokens=1), logprobs=5)
    reply = await session.send(request)
    if reply.response is None:
        is_truncated = (
            isinstance(reply.failure, CallFailed) and reply.failure.failure_class is FailureClass.LENGTH_TRUNCATED
        )
        text = "unknown: a response of one token was not accepted" if is_truncated else _refused_text(reply)
        return Result(
            "logprobs",
            Verdict.NOT_TRIED if is_truncated else Verdict.NO,
            text,
            {"logprobs": None if is_truncated else False},
        )
    if not reply.response.token_logprobs:
        text = "requested and ignored" if _sends_logprobs(reply) else "this kind of provider returns none"
        return Result("logprobs", Verdict.NO, text, {"logprobs": False})
    likely = len(reply.response.token_logprobs[0])
    return Result("logprobs", Verdict.YES, f"the {likely} most likely tokens are returned", {"logprobs": True})


def _sends_logprobs(reply: Reply) -> bool:
    return reply.response is not None and not any("logprobs" in each for each in reply.response.downgrades)


PROBES: Sequence[Probe] = (
    Probe("text", text),
    Probe("speed", speed),
    Probe("json schema", json_schema),
    Probe("logprobs", logprobs),
)
"""The probes before that of the choice of a tool."""

FURTHER: Sequence[Probe] = (
    Probe("json mode", json_mode),
    Probe("json in words", json_in_words),
    Probe("native tools", native_tools),
)
"""Those after it: a slow server may leave no time for them."""
