"""What is asked of a real server to make it fail, and what becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import httpx

from benchmarks.real_servers.serving import Program, serving
from helmdeck_core import CallFailed, ChatRequest, ChatResponse, Helmdeck, Message, ResponseFormat, Role, TextPart
from helmdeck_testing import Fault, Harm, faulty_proxy, make_deck

MODEL = "llamacpp/tiny"
LONG = "word " * 800
LETTERS_ONLY = {"logit_bias": {"97": 100}}
"""Nothing but the letter a, wherever a grammar leaves a choice."""
OPEN = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}

Between = Callable[[str], contextlib.AbstractAsyncContextManager[str]]
"""What stands between client and server: takes the server's address, and gives the one to ask."""


@attrs.frozen
class City:
    """What the schemas ask for."""

    city: str


@attrs.frozen(kw_only=True)
class Case:
    """A request that fails.

    :ivar only: the one server that fails in this way.
    :ivar schema: what the answer is held to; it is read as a ``City`` then.
    :ivar between: what breaks the connection.
    """

    title: str
    kind: str = "bigram"
    context: int = 512
    text: str = "hi"
    max_tokens: int | None = 60
    schema: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = attrs.field(factory=lambda: {"seed": 1})  # noise may hold the mark of the end
    streams: bool = False
    only: str = ""
    between: Between | None = None

    def request(self) -> ChatRequest:
        """The request to Helmdeck."""
        wanted = None if self.schema is None else ResponseFormat("json_schema", schema=self.schema)
        messages = (Message(Role.USER, (TextPart(self.text),)),)
        return ChatRequest(
            model=MODEL, messages=messages, max_tokens=self.max_tokens, response_format=wanted, extra=self.extra
        )

    def body(self) -> dict[str, Any]:
        """The same for a bare client."""
        body = {"messages": [{"role": "user", "content": self.text}], "stream": self.streams, **self.extra}
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        if self.schema is not None:
            body["response_format"] = {"type": "json_object", "schema": self.schema}
        return body


@attrs.frozen(kw_only=True)
class Row:
    """What came of a case on one server.

    :ivar wire: what a bare client sees.
    :ivar cause: what Helmdeck makes of it.
    :ivar attempts: requests that were paid for.
    :ivar message: what is said to whoever asked.
    """

    case: str
    server: str
    wire: str
    cause: str
    attempts: int
    seconds: float
    message: str


@contextlib.asynccontextmanager
async def _cut_on_the_way(url: str) -> AsyncIterator[str]:
    async with faulty_proxy(url, Fault(Harm.CUT, behind=b"data: ", after=4_000)) as proxy:
        yield proxy.base_url


@contextlib.asynccontextmanager
async def _somebody_else(url: str) -> AsyncIterator[str]:
    """Ask the server for something else as soon as it is busy, which makes it drop what it does."""

    async def ask() -> None:
        async with httpx.AsyncClient() as client:
            for _ in range(60):
                await asyncio.sleep(0.05)
                await client.post(f"{url}/chat/completions", json={**Case(title="").body(), "max_tokens": 1})

    task = asyncio.create_task(ask())
    try:
        yield url
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


CASES = (
    Case(title="prompt over the context window, streamed", text=LONG, streams=True),
    Case(title="prompt over the context window", text=LONG),
    Case(title="endless grammar, no output limit", schema=OPEN, max_tokens=None, extra=LETTERS_ONLY),
    Case(title="endless grammar, output limit of 60", schema=OPEN, extra=LETTERS_ONLY),
    Case(title="schema of an unknown type", schema={"type": "frob"}, kind="random", extra={"seed": 2}),
    Case(
        title="schema with a dangling reference",
        schema={**OPEN, "$ref": "#/nowhere"},
        kind="random",
        extra={"seed": 5},
    ),
    Case(title="stream aborted in transit", streams=True, max_tokens=200, kind="random", between=_cut_on_the_way),
    Case(
        title="stream aborted by another request",
        streams=True,
        max_tokens=450,
        kind="random",
        only="llama-cpp-python",
        between=_somebody_else,
    ),
)


def rows(program: Program, folder: Path) -> list[Row]:
    """Everything that one server is asked."""
    found = []
    for case in CASES:
        if case.only in ("", program.name):
            with serving(program, case.kind, folder, context=case.context) as url:
                found.append(asyncio.run(_row(case, program.name, url)))
    return found


async def _row(case: Case, server: str, url: str) -> Row:
    between = case.between or _nothing
    async with between(url) as address:
        wire = await bare(address, case)
    async with (
        between(url) as address,
        make_deck(config={"providers": {"llamacpp": {"base_url": address}}}) as deck,
    ):
        start = time.perf_counter()
        try:
            response = await _answered(deck, case)
            seconds = time.perf_counter() - start
            cause, message = _read(deck, case, response)
            attempts = 1 + (response.continuation.attempts if response.continuation else 0)
        except CallFailed as exc:
            seconds = time.perf_counter() - start
            cause, message, attempts = _named(exc), str(exc), max(1, len(exc.attempts))
    return Row(
        case=case.title, server=server, wire=wire, cause=cause, attempts=attempts, seconds=seconds, message=message
    )


@contextlib.asynccontextmanager
async def _nothing(url: str) -> AsyncIterator[str]:
    yield url


async def _answered(deck: Helmdeck, case: Case) -> ChatResponse:
    if not case.streams:
        return await deck.acomplete(case.request())
    *_, last = [piece async for piece in deck.astream(case.request())]
    assert isinstance(last, ChatResponse)
    return last


def _read(deck: Helmdeck, case: Case, response: ChatResponse) -> tuple[str, str]:
    """What an answer is that came as one."""
    if case.schema is None:
        return f"an answer, {response.stop_reason}", ""
    try:
        deck.decode(response.text, City, response.raw_stop_reason)
    except CallFailed as exc:
        return f"{_named(exc)} when it is read", str(exc)
    return "a value", ""


def _named(exc: CallFailed) -> str:
    return f"`{type(exc).__name__}`" + (f", {exc.sub_cause}" if exc.sub_cause else "")


async def bare(url: str, case: Case) -> str:
    """What a bare client sees: status, and how much of what."""
    async with httpx.AsyncClient(timeout=120) as client:
        events = text = 0
        reason, end = None, ""
        try:
            async with client.stream("POST", f"{url}/chat/completions", json=case.body()) as answer:
                if answer.status_code != 200:
                    error = json.loads(await answer.aread()).get("error", {})
                    return f"HTTP {answer.status_code}, `{error.get('type')}`"
                async for line in answer.aiter_lines():
                    data = line.removeprefix("data: ")
                    if data.startswith("{"):
                        (choice,) = json.loads(data)["choices"] or [{}]
                        said = choice.get("delta") or choice.get("message") or {}
                        events, text = events + 1, text + len(said.get("content") or "")
                        reason = choice.get("finish_reason") or reason
        except httpx.RemoteProtocolError:
            end = ", breaks off"
    if not events:
        return f"HTTP 200, not one event{end}"
    told = f"`{reason}`" if reason else "no `finish_reason`"
    return f"HTTP 200, {told}, {text:,} characters{end}"
