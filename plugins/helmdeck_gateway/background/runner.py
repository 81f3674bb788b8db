"""Runs responses in the background: each is one request to the gateway itself."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from helmdeck_gateway.background.event_log import EventLog, has_events
from helmdeck_gateway.background.responses import QUEUE, WINDOW_S, BackgroundResponses, Queued, read
from helmdeck_gateway.batches.batch import CANCELLED, SUCCEEDED
from helmdeck_gateway.batches.own_requests import OwnAnswer, refused, send_own
from helmdeck_gateway.batches.queue_runner import Leases, QueueRunner
from helmdeck_gateway.conversations.gateway_state import DAY_S
from helmdeck_gateway.conversations.response_store import ResponseStore
from helmdeck_gateway.dialects import responses as responses_dialect
from helmdeck_gateway.problems import DRAINING, Problem
from helmdeck_gateway.stores.rows import Row
from helmdeck_gateway.stores.store import GatewayStore

PATH: Final = "/v1/responses"
RUN: Final = "helmdeck.run"
"""The key of a scope under which a run has the ``Queued`` of its response."""


class BackgroundRunner(QueueRunner):
    """Runs the responses of a store in one process."""

    queue = QUEUE

    @property
    def changed(self) -> asyncio.Event:
        """Is set when a response is queued."""
        return self.state.background_changed

    async def drive(self, store: GatewayStore, queued: Row, wake: asyncio.Event) -> None:
        """Run responses of a caller until none is left that this process may run now."""
        caller = queued.data.decode("utf-8", "surrogatepass")
        responses = BackgroundResponses(store, caller, self.settings().stored_days * DAY_S)
        leases = Leases(self, store, responses.group)
        while not self.counters.is_draining:
            for row in await leases.claim(self.settings().batch_concurrency - len(leases.running)):
                task = leases.run(row, functools.partial(self._respond, store, responses, leases))
                self.state.runs[row.name] = task
                task.add_done_callback(functools.partial(self._ended, row.name))
            if not leases.running:
                await responses.dequeue()
                return  # other processes run the rest, or it waits for a limit
            if await leases.wait(wake):
                await self._stop_finished(responses, leases.running)

    async def _stop_finished(self, responses: BackgroundResponses, running: Mapping[asyncio.Task[None], str]) -> None:
        """Stop the runs of responses that another process has cancelled or deleted."""
        for task, name in running.items():
            response = await responses.find(name)
            if response is None or not response.is_open:
                task.cancel()

    def _ended(self, response_id: str, _: asyncio.Task[None]) -> None:
        self.state.runs.pop(response_id, None)

    async def _respond(self, store: GatewayStore, responses: BackgroundResponses, leases: Leases, row: Row) -> None:
        """Run a response, and store its result."""
        if (expired := read(row)).created_s + WINDOW_S <= time.time():
            await responses.expire(expired)
            return
        if (queued := await responses.start(row)) is None:
            return
        answer, wait_s = await self.answer_of(self._answer(store, responses, queued), responses_dialect)
        if wait_s is not None and time.time() + wait_s < queued.created_s + WINDOW_S:
            await leases.let_wait(row.name, wait_s)
            return
        await self.keep_result(functools.partial(self._finish, responses, queued, answer))

    async def _finish(self, responses: BackgroundResponses, queued: Queued, answer: OwnAnswer) -> None:
        if answer.status == 200:
            is_finished = await responses.finish(queued, SUCCEEDED, answer.body)
        else:
            error: Any = msgspec.json.decode(answer.body).get("error") or {}
            is_finished = await responses.fail(queued, str(error.get("code")), str(error.get("message")))
        if is_finished:
            return
        found = await responses.find(queued.id)
        if found is None or found.state == CANCELLED:  # no other response may continue it
            await ResponseStore(self.state.documents).forget(queued.id, responses.caller)

    async def _answer(self, store: GatewayStore, responses: BackgroundResponses, queued: Queued) -> OwnAnswer:
        """Send a request to the gateway."""
        try:
            principal = await self.senders.principal(store, queued.sender)
        except Problem as exc:
            return refused(exc, responses_dialect)
        tags, facts = queued.sender.tags, {RUN: queued}
        send = functools.partial(send_own, self.app, PATH, principal=principal, request_id=queued.id, tags=tags)
        if not queued.is_stream or await has_events(store, queued.id):  # what a lost process streamed is not sent again
            return await send(body=_without_stream(queued.body), facts=facts)
        log = EventLog(store, queued.id, responses.kept_s)
        async with log:
            answer = await send(body=queued.body, facts=facts, on_events=log.feed)
        await log.flush()
        answer = attrs.evolve(answer, body=answer.body or log.final)
        if not answer.body or log.error_code == DRAINING:  # as for a whole response
            return OwnAnswer(503, {b"x-should-retry": b"true"}, b"")
        return answer


def _without_stream(body: bytes) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(body), "stream": False})
