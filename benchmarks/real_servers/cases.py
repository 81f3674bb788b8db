"""Requests that make real servers fail, and their results in Helmdeck."""

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

from benchmarks.real_servers.server import Program, serve
from helmdeck_core import CallFailed, ChatRequest, ChatResponse, Helmdeck, Message, ResponseFormat, Role, TextPart
from helmdeck_testing import Fault, FaultKind, faulty_proxy, make_deck

MODEL = "llamacpp/tiny"
LONG = "word " * 800
LETTERS_ONLY = {"logit_bias": {"97": 100}}
"""Forces the letter a wherever a grammar allows it."""
OPEN = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}

Between = Callable[[str], contextlib.AbstractAsyncContextManager[str]]
"""An intermediary: takes the server's URL and yields the URL for the client."""


@attrs.frozen
class City:
    """The type of the schemas."""

    city: str


@attrs.frozen(kw_only=True)
class Case:
    """A request that fails.

    :ivar only: the only server that fails this way.
    :ivar schema: schema that constrains decoding; the response is decoded as ``City``.
    :ivar between: intermediary that breaks the connection.
    """

    title: str
    kind: str = "bigram"
    context: int = 512
    text: str = "hi"
    max_tokens: int | None = 60
    schema: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = attrs.field(factory=lambda: {"seed": 1})  # noise may contain the end-of-sequence token
    streams: bool = False
    only: str = ""
    between: Between | None = None

    def request(self) -> ChatRequest:
        """Return the request to Helmdeck."""
        response_format = None if self.schema is None else ResponseFormat("json_schema", schema=self.schema)
        messages = (Message(Role.USER, (TextPart(self.text),)),)
        return ChatRequest(
            model=MODEL,
            messages=messages,
            max_tokens=self.max_tokens,
            response_format=response_format,
            extra=self.extra,
        )

    def body(self) -> dict[str, Any]:
        """Return the body for a plain HTTP client."""
        body = {"messages": [{"role": "user", "content": self.text}], "stream": self.streams, **self.extra}
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        if self.schema is not None:
            body["response_format"] = {"type": "json_object", "schema": self.schema}
        return body


@attrs.frozen(kw_only=True)
class Row:
    """The result of a case on one server.

    :ivar wire: response that a plain HTTP client receives.
    :ivar cause: result in Helmdeck.
    :ivar attempts: number of requests.
    :ivar message: error message.
    """

    case: str
    server: str
    wire: str
    cause: str
    attempts: int
    seconds: float
    message: str


@contextlib.asynccontextmanager
async def _aborted_in_transit(url: str) -> AsyncIterator[str]:
    async with faulty_proxy(url, Fault(FaultKind.CUT, behind=b"data: ", after=4_000)) as proxy:
        yield proxy.base_url


@contextlib.asynccontextmanager
async def _concurrent_requests(url: str) -> AsyncIterator[str]:
    """Send other requests while the server is busy, which makes it abort the current one."""

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
    Case(title="stream aborted in transit", streams=True, max_tokens=200, kind="random", between=_aborted_in_transit),
    Case(
        title="stream aborted by another request",
        streams=True,
        max_tokens=450,
        kind="random",
        only="llama-cpp-python",
        between=_concurrent_requests,
    ),
)


def rows(program: Program, folder: Path) -> list[Row]:
    """Run all cases on one server."""
    found = []
    for case in CASES:
        if case.only in ("", program.name):
            with serve(program, case.kind, folder, context=case.context) as url:
                found.append(asyncio.run(_row(case, program.name, url)))
    return found


async def _row(case: Case, server: str, url: str) -> Row:
    between = case.between or _nothing
    async with between(url) as client_url:
        wire = await bare(client_url, case)
    async with (
        between(url) as client_url,
        make_deck(config={"providers": {"llamacpp": {"base_url": client_url}}}) as deck,
    ):
        start = time.perf_counter()
        try:
            response = await _complete(deck, case)
            seconds = time.perf_counter() - start
            cause, message = _read(deck, case, response)
            attempts = 1 + (response.continuation.attempts if response.continuation else 0)
        except CallFailed as exc:
            seconds = time.perf_counter() - start
            cause, message, attempts = _name(exc), str(exc), max(1, len(exc.attempts))
    return Row(
        case=case.title, server=server, wire=wire, cause=cause, attempts=attempts, seconds=seconds, message=message
    )


@contextlib.asynccontextmanager
async def _nothing(url: str) -> AsyncIterator[str]:
    yield url


async def _complete(deck: Helmdeck, case: Case) -> ChatResponse:
    if not case.streams:
        return await deck.acomplete(case.request())
    *_, last = [delta async for delta in deck.astream(case.request())]
    assert isinstance(last, ChatResponse)
    return last


def _read(deck: Helmdeck, case: Case, response: ChatResponse) -> tuple[str, str]:
    """Decode a response; return the result and the message."""
    if case.schema is None:
        return f"a response, {response.stop_reason}{'' if response.is_complete else ', not complete'}", ""
    try:
        deck.decode(response.text, City, response.raw_stop_reason)
    except CallFailed as exc:
        return f"{_name(exc)} when it is decoded", str(exc)
    return "a value", ""


def _name(exc: CallFailed) -> str:
    return f"`{type(exc).__name__}`" + (f", {exc.sub_cause}" if exc.sub_cause else "")


async def bare(url: str, case: Case) -> str:
    """Return what a plain HTTP client receives: status, finish reason and length."""
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
                        message = choice.get("delta") or choice.get("message") or {}
                        events, text = events + 1, text + len(message.get("content") or "")
                        reason = choice.get("finish_reason") or reason
        except httpx.RemoteProtocolError:
            end = ", disconnected"
    if not events:
        return f"HTTP 200, no event{end}"
    ending = f"`{reason}`" if reason else "no `finish_reason`"
    return f"HTTP 200, {ending}, {text:,} characters{end}"
