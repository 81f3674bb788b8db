"""Mutation fuzzing of wire formats, usage and merging; needs no other package, and is not run by the test suite.

    python -m benchmarks.fuzz.mutation wire|usage|merge [--seconds 60] [--seed 1] [--case NUMBER]

Every case is derived from the seed and its number, so ``--case`` repeats one. A finding is printed with its number and input;
the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from benchmarks.adapters import INTERFACES, deck
from helmdeck_core import CallFailed, ChatRequest, ChatResponse, Secrets, Usage
from helmdeck_core.errors.usage import MAX_TOKENS
from helmdeck_core.hooks.type_check import misfit
from helmdeck_providers import HttpResponse, ReaderContext, ResponseReader, WireFormat
from helmdeck_recovery import continuation
from helmdeck_recovery.continuation.merge import Merger
from helmdeck_testing import ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, ScriptedAnswer, ServerFormat

FORMATS: dict[str, ServerFormat] = {
    "openai-chat": OPENAI_CHAT,
    "openai-responses": OPENAI_RESPONSES,
    "anthropic-messages": ANTHROPIC,
    "gemini": GEMINI,
    "ollama-native": OLLAMA,
}
ANSWERS = (
    ScriptedAnswer(text="Blåbær og 🫐\nand more text"),
    ScriptedAnswer(text='{"steps": [{"tool": "a", "args": {"b": 1}}]}'),
    ScriptedAnswer(text=""),
)
NUMBERS: tuple[Any, ...] = (
    0,
    -1,
    1,
    2**53,
    2**63,
    10**30,
    -(10**30),
    1.5,
    -0.0,
    1e308,
    True,
    "12",
    "",
    None,
    [],
    {},
    [1],
    {"a": 1},
)
VALUES = (*NUMBERS, "x", "\ud800", "\0", "[DONE]", "stop", "length", "tool_calls", "a" * 300)
BYTES = (
    b"\n",
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b"{",
    b"}",
    b'"',
    b"\xff",
    b"\0",
    b"\\",
    b"[",
    b"null",
)
CHUNKS = (1, 7, 64, 10_000)
SLOW_S = 1.0
"""A case of a few kilobytes that takes longer is a finding, even on a busy machine."""


def reader(interface: WireFormat) -> ResponseReader:
    """Return a reader for one response."""
    runtime, name = deck().runtime, interface.name
    terms = ReaderContext(
        error_rules=interface.error_rules,
        quota_headers=interface.quota_headers,
        normalise=lambda raw: runtime.normalise_stop(raw, name),
        dispose=lambda raw, reason: runtime.disposition_of(raw, reason, name),
        status=200,
        headers={},
    )
    return interface.answer(ChatRequest(model="fuzz/model", messages=()), terms)


def whole(interface: WireFormat, body: bytes) -> ChatResponse | CallFailed:
    """Read a whole response."""
    answer = reader(interface)
    try:
        list(answer.read(interface.decode_body(HttpResponse(200, {}, body), Secrets())))
        return answer.finish()
    except CallFailed as exc:
        return exc


def streamed(interface: WireFormat, body: bytes, size: int) -> tuple[str, ChatResponse | CallFailed]:
    """Read a stream; return the text of its deltas as well."""
    answer = reader(interface)
    events = interface.events(answer)
    text: list[str] = []
    try:
        for start in range(0, len(body), size):
            text.extend(delta.text for delta in events.feed(body[start : start + size]))
        text.extend(delta.text for delta in events.finish())
        return "".join(text), answer.finish()
    except CallFailed as exc:
        return "".join(text), exc


def check_response(result: ChatResponse | CallFailed) -> None:
    """A response has the declared types, and its numbers are possible."""
    if isinstance(result, CallFailed):
        json.dumps(result.to_dict())
        return
    assert misfit(result) is None, misfit(result)
    check_usage(result.usage.plausible())


def check_usage(usage: Usage) -> None:
    """Usage contains possible numbers only."""
    numbers = attrs.astuple(usage)
    assert all(type(number) is int and 0 <= number <= MAX_TOKENS for number in numbers), usage
    assert usage.cached_input_tokens + usage.cache_write_tokens <= usage.input_tokens, usage
    assert usage.reasoning_tokens <= usage.output_tokens, usage
    lookup = deck().runtime.budgets.find("openai/gpt-4o")
    cost = deck().runtime.pricer.cost_usd(lookup.budget, "openai/gpt-4o", usage)
    assert cost is None or (cost >= 0 and math.isfinite(cost)), cost


def facts(result: ChatResponse | CallFailed) -> Any:
    """What must not depend on how a stream was split."""
    if isinstance(result, CallFailed):
        return type(result).__name__, result.sub_cause
    calls = [(call.name, call.arguments) for call in result.tool_calls]
    return result.text, result.reasoning_content, calls, result.stop_reason, result.usage


# -- inputs ----------------------------------------------------------------------------------------------------


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Change a few places of a byte string."""
    for _ in range(rng.randint(1, 4)):
        at, end = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data = data[:at] + rng.choice(BYTES) + data[at:]
            case 1:
                data = data[:at] + data[at + rng.randint(1, 9) :]
            case 2:
                data = data[:at]
            case 3:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case _:
                data = data[: max(at, end)] + data[min(at, end) :]
    return data


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with a key of its own."""
    for key, item in list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from places(item)


def mutated_json(rng: random.Random, value: Any, values: tuple[Any, ...], numbers_only: bool = False) -> Any:
    """Replace or remove a few values of a JSON value."""
    for _ in range(rng.randint(1, 3)):
        found = [(holder, key) for holder, key in places(value) if not numbers_only or type(holder[key]) is int]
        if not found:
            break
        holder, key = rng.choice(found)
        if rng.random() < 0.15:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(values))
    return value


def events_of(rng: random.Random, server_format: ServerFormat, answer: ScriptedAnswer) -> bytes:
    """A stream whose events are mutated as JSON, repeated, dropped or reordered."""
    events = list(server_format.events(answer))
    for _ in range(rng.randint(0, 3)):
        if not events:
            break
        at = rng.randrange(len(events))
        match rng.randrange(4):
            case 0:
                events.insert(at, events[at])
            case 1:
                del events[at]
            case 2:
                events.append(events.pop(at))
            case _:
                events[at] = mutated_event(rng, events[at])
    return b"".join(events)


def mutated_event(rng: random.Random, event: bytes) -> bytes:
    start, end = event.find(b"{"), event.rfind(b"}") + 1
    try:
        value = json.loads(event[start:end])
    except ValueError:
        return event
    return event[:start] + json.dumps(mutated_json(rng, value, VALUES)).encode() + event[end:]


# -- targets ---------------------------------------------------------------------------------------------------


def wire(rng: random.Random) -> object:
    """Damaged responses are a response or a failure, the same however the bytes are split."""
    name = rng.choice(list(FORMATS))
    interface, answer = INTERFACES[name], rng.choice(ANSWERS)
    if rng.random() < 0.3:
        body = json.dumps(mutated_json(rng, json.loads(json.dumps(FORMATS[name].whole(answer))), VALUES)).encode()
        if rng.random() < 0.3:
            body = mutated_bytes(rng, body)
        yield_input(name, body)
        check_response(whole(interface, body))
        return body
    body = events_of(rng, FORMATS[name], answer)
    if rng.random() < 0.5:
        body = mutated_bytes(rng, body)
    yield_input(name, body)
    results = [streamed(interface, body, size) for size in CHUNKS]
    for text, result in results:
        check_response(result)
        if isinstance(result, ChatResponse):
            assert result.text == text, (result.text, text)
    assert len({repr((text, facts(result))) for text, result in results}) == 1, [facts(result) for _, result in results]
    return body


def usage(rng: random.Random) -> object:
    """Numbers of any kind never become impossible usage or cost."""
    name = rng.choice(list(FORMATS))
    value = json.loads(json.dumps(FORMATS[name].whole(rng.choice(ANSWERS))))
    body = json.dumps(mutated_json(rng, value, NUMBERS, numbers_only=True)).encode()
    if rng.random() < 0.1:
        body = body.replace(b": 1", b": " + b"9" * rng.choice((5, 50, 400, 4_000)))
    yield_input(name, body)
    check_response(whole(INTERFACES[name], body))
    numbers = [rng.choice((0, 1, 7, -3, MAX_TOKENS, MAX_TOKENS + 1, 10**400)) for _ in range(5)]
    yield_input("Usage", repr(numbers)[:200].encode())
    check_usage(Usage(**dict(zip((field.name for field in attrs.fields(Usage)), numbers, strict=True))).plausible())
    return body


MERGER = Merger(continuation.helmdeck_continuation_announcements())
WORDS = (
    "the", "wind", "went", "round", "Sure, here is the rest:\n", "Continuing:", "```json\n", "```", '{"a": 1', ', "b": [', "]}", "| 10 ",
    "| 10 |\n", "1. ", "\n\n", "\n", " ", "mirror ", "49,", "é", "🫐", "ß", "\u200b", "İ", "# Title\n", "- ", "...", "…",
)  # fmt: skip


def merge(rng: random.Random) -> object:
    """A merge keeps the answer, and is the same whole and streamed; what overlaps exactly is not repeated."""
    text = "".join(rng.choice(WORDS) for _ in range(rng.randint(0, 60)))
    at = rng.randint(0, len(text))
    overlap = rng.choice((0, 0, 1, 3, 8, 20, len(text)))
    answer, more = text[:at], text[max(0, at - overlap) :]
    if rng.random() < 0.3:
        more = rng.choice(WORDS) + more
    if rng.random() < 0.3:
        more = "".join(rng.choice(WORDS) for _ in range(rng.randint(0, 30)))
    yield_input("merge", repr((answer, more)).encode())
    merged = MERGER.merge(answer, more)
    assert merged.text == answer + merged.added or merged.is_restart, merged
    assert len(merged.added) <= len(more), merged
    for size in (1, 3, 16):
        stream = MERGER.stream(answer)
        pieces = [stream.feed(more[start : start + size]) for start in range(0, len(more), size)]
        got = "".join([*pieces, stream.finish()])
        assert merged.is_restart or got == merged.added, (size, got, merged)
    return answer, more


TARGETS: dict[str, Callable[[random.Random], object]] = {"wire": wire, "usage": usage, "merge": merge}
_last: list[object] = []


def yield_input(name: str, data: bytes) -> None:
    """Remember the input of the current case for a report."""
    _last[:] = [name, data]


def run_case(target: Callable[[random.Random], object], seed: int, number: int) -> str | None:
    """Run one case; return what was found."""
    start = time.process_time()
    try:
        target(random.Random(f"{seed}:{number}"))
    except Exception:
        return traceback.format_exc(limit=-3)
    took_s = time.process_time() - start
    return f"took {took_s:.2f} s" if took_s > SLOW_S else None


def main() -> int:
    """Fuzz one target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="repeat one case")
    options = parser.parse_args()
    target, findings, number = TARGETS[options.target], 0, -1
    end = time.monotonic() + options.seconds
    numbers = iter([options.case]) if options.case is not None else iter(range(sys.maxsize))
    for number in numbers:
        if found := run_case(target, options.seed, number):
            findings += 1
            print(f"case {number}: {_last}\n{found}")
        if time.monotonic() > end or findings >= 20:
            break
    print(f"{options.target}: {number + 1} cases, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
