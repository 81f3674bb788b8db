"""What guards cost: CPU of a request and of a stream of 21 chunks, and by how many chunks the first text is late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from helmdeck_core import ChatDelta, ChatRequest, ChatResponse, Message, Role, StopReason, TextPart
from helmdeck_guards import Guards, GuardSender, guarded_stream
from helmdeck_testing import make_deck

Tables = Mapping[str, Mapping[str, Any]]
REDACT = {"kind": "personal_data", "action": "redact"}
CASES: Mapping[str, Tables] = {
    "no guard": {},
    "secrets": {"s": {"kind": "secrets"}},
    "personal data": {"p": REDACT},
    "two patterns": {
        "x": {"kind": "patterns", "options": {"patterns": {"a": "TICKET-[0-9]{4,8}", "b": "Project Falcon"}}}
    },
    "tools": {"t": {"kind": "tools", "options": {"deny": ["delete_*"]}}},
    "secrets, personal data": {"s": {"kind": "secrets"}, "p": REDACT},
}
CHUNKS = ["Hello", *(f" word{'s' * (number % 3)}" for number in range(18)), " end.", "\n"]
TEXT = "Please summarise the minutes of the meeting, and list what was decided. " * 55
"""About 4 KB without a finding."""
ROUNDS = 300


async def _chunks() -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
    for chunk in CHUNKS:
        yield [ChatDelta(chunk)]
    yield ChatResponse(text="".join(CHUNKS), stop_reason=StopReason.END_TURN)


async def _measure(tables: Tables) -> tuple[float, float, int]:
    """Return CPU ms of a request and of a stream, and the number of the chunk after which the first text is shown."""
    guards = Guards(make_deck(config={"guards": tables}))
    request = ChatRequest(model="up/m", messages=(Message(Role.USER, (TextPart(TEXT),)),))
    first = 0
    request_s = stream_s = 0.0
    for number in range(ROUNDS + 20):
        session = guards.session(GuardSender(), "up/m") if guards else None
        began_s = time.process_time()
        checked = await session.check_request(request) if session is not None else request
        between_s = time.process_time()
        taken = 0

        async def counted() -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
            nonlocal taken
            async for each in _chunks():
                taken += 1
                yield each

        first = 0
        async for _ in guarded_stream(session, counted()) if session is not None else counted():
            first = first or taken
        ended_s = time.process_time()
        assert checked is request
        if number >= 20:
            request_s += between_s - began_s
            stream_s += ended_s - between_s
    return request_s / ROUNDS * 1e3, stream_s / ROUNDS * 1e3, first


def costs() -> Iterator[str]:
    """Yield the lines of a table: CPU ms by set of guards."""
    yield f"A request of {len(TEXT):,} characters and a stream of {len(CHUNKS)} chunks, without a finding; mean of {ROUNDS}.\n"
    yield "| guards | request, CPU ms | stream, CPU ms | first text after chunk |\n|---|--:|--:|--:|"
    for name, tables in CASES.items():
        request_ms, stream_ms, first = asyncio.run(_measure(tables))
        yield f"| {name} | {request_ms:.3f} | {stream_ms:.3f} | {first} |"
