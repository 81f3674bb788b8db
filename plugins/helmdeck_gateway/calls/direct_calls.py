"""Requests that no chat model answers, for vectors and rankings: over the models of a chain, with the events of a call."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import (
    EMPTY,
    Attempt,
    AttemptEnded,
    AttemptFailure,
    CallAborted,
    CallExhausted,
    CallFailed,
    CallFinished,
    CallStarted,
    FailureClass,
    Helmdeck,
    LikelyTimeout,
    ProviderPool,
    RequestSent,
    StopReason,
    TransientUnknown,
    Usage,
)
from helmdeck_gateway.accounts.request_costs import FREE_CAUSES, Pricing
from helmdeck_gateway.calls.call_record import CallRecord
from helmdeck_providers import ErrorRules, HttpConnection, HttpResponse, decode_body

ROUNDS: Final = 3
"""How often the models of a chain are called, where they are busy or unavailable."""
NEXT_MODEL: Final = frozenset(
    (
        FailureClass.LIKELY_TIMEOUT,
        FailureClass.RATE_LIMITED,
        FailureClass.QUOTA_EXHAUSTED,
        FailureClass.PROVIDER_UNAVAILABLE,
        FailureClass.TRANSIENT_UNKNOWN,
    )
)
"""Failures after which the next model of the chain is called; any other one is the client's, or the operator's."""
AGAIN: Final = frozenset((FailureClass.RATE_LIMITED, FailureClass.PROVIDER_UNAVAILABLE))
"""Failures that may be over after a wait."""


@attrs.frozen(kw_only=True)
class DirectRequest:
    """A request.

    :ivar kind: what is requested, such as ``embeddings``; the variant of its events.
    :ivar models: the models of the chain.
    :ivar path: returns the path of the endpoint of a model's provider.
    :ivar payload: returns the body for a model.
    :ivar read: returns the result and the token usage from the decoded response of a model; raises ``CallFailed``.
    :ivar tokens: a high estimate of the input tokens.
    :ivar deadline_s: seconds that all attempts may take together.
    :ivar local: by model: what makes the result in this process, without cost.
    """

    kind: str
    models: Sequence[str]
    path: Callable[[str], str]
    payload: Callable[[str], bytes]
    read: Callable[[str, Any], tuple[Any, Usage]]
    tokens: int
    deadline_s: float
    local: Mapping[str, Callable[[], Awaitable[Any]]] = EMPTY


@attrs.frozen(kw_only=True)
class DirectAnswer:
    """A response.

    :ivar result: what ``DirectRequest.read`` returned.
    :ivar body: the response of the provider as it was sent.
    """

    model: str
    result: Any
    body: bytes
    attempts: int


class DirectCalls:
    """Sends such requests with the keys and the connection settings of the providers."""

    def __init__(self, deck: Helmdeck, pricing: Pricing) -> None:
        self._deck = deck
        self._pricing = pricing
        self._connections: dict[str, HttpConnection] = {}

    async def send(self, request: DirectRequest, record: CallRecord, caller: str) -> DirectAnswer:
        """Send a request until a model of the chain answers.

        :param record: gets the id of the call, the model and the number of attempts.
        :raises CallFailed: no model answered, or the request is at fault.
        """
        call = _Call(self._deck, request, record, caller)
        try:
            async with asyncio.timeout(request.deadline_s or None):
                return await self._recovered(call, request)
        except TimeoutError:
            failure = LikelyTimeout("the deadline of the request was reached", sub_cause="deadline")
            raise call.exhausted(failure, "the deadline was reached") from None
        except CallFailed as exc:
            raise call.exhausted(exc, "") from None
        except BaseException as exc:
            call.aborted(exc)
            raise

    async def _recovered(self, call: _Call, request: DirectRequest) -> DirectAnswer:
        waits = self._deck.runtime.config.recovery
        wait_s, failures = 0.0, list[CallFailed]()
        for round_number in range(ROUNDS):
            models = call.first_models() if not failures else [each for each in request.models if call.may_repeat(each)]
            for model in models:
                await asyncio.sleep(wait_s)
                try:
                    return await self._attempt(call, request, model, wait_s)
                except CallFailed as exc:
                    failures.append(exc)
                    if exc.failure_class not in NEXT_MODEL or call.record.attempts >= waits.max_attempts:
                        raise
                wait_s = 0.0
            told = [each.retry_after_s for each in failures if each.retry_after_s is not None]
            wait_s = min(told) if told else waits.backoff_s * 2**round_number
            if wait_s > waits.max_wait_s or not any(map(call.may_repeat, request.models)):
                break
        raise failures[-1]

    async def _attempt(self, call: _Call, request: DirectRequest, model: str, waited_s: float) -> DirectAnswer:
        call.begin(model, waited_s)
        if model in request.local:
            result = await request.local[model]()
            call.finished(Usage(), 0.0)
            return DirectAnswer(model=model, result=result, body=b"", attempts=call.record.attempts)
        usage: Usage | None = None
        try:
            response = await self._posted(model, request)
            result, usage = request.read(model, response[1])
        except CallFailed as exc:
            is_free = exc.sub_cause in FREE_CAUSES or (exc.status or 0) >= 400
            call.failed(exc, None if is_free else self._cost_usd(model, request.tokens))
            raise
        except asyncio.CancelledError:
            call.record.direct_cost_usd += self._cost_usd(model, request.tokens) or 0.0  # it may have been processed
            raise
        call.finished(usage, self._cost_usd(model, usage.input_tokens))
        return DirectAnswer(model=model, result=result, body=response[0].body, attempts=call.record.attempts)

    async def _posted(self, model: str, request: DirectRequest) -> tuple[HttpResponse, Any]:
        connection = self._connection(model.partition("/")[0])
        key = connection.key()
        secrets = connection.secrets(key)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        response = await connection.post(request.path(model), request.payload(model), headers, secrets)
        return response, decode_body(response.status, response.headers, response.body, ErrorRules(), secrets)

    def _cost_usd(self, model: str, tokens: int) -> float | None:
        return self._pricing.cost_usd(model, Usage(input_tokens=max(1, tokens)))

    def _connection(self, provider: str) -> HttpConnection:
        if provider not in self._connections:
            settings = ProviderPool(self._deck.runtime).registry.first_settings(provider)
            self._connections[provider] = HttpConnection(settings)
        return self._connections[provider]

    async def aclose(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.aclose()


def wrong_answer(model: str, problem: str, sub_cause: str = "wrong_shape") -> CallFailed:
    """Return the failure of a model whose response does not match the request."""
    return TransientUnknown(f"{model} returned {problem}", model=model, sub_cause=sub_cause)


class _Call:
    """The attempts of one request, and their events."""

    def __init__(self, deck: Helmdeck, request: DirectRequest, record: CallRecord, caller: str) -> None:
        self.record = record
        self._request = request
        self._deck = deck
        self._health = deck.health
        self._counted: set[str] = set()
        self._emit = deck.runtime.emit
        self._place: dict[str, Any] = {"call_id": os.urandom(8).hex(), "pack": request.kind, "caller": caller}
        self._attempts: list[Attempt] = []
        self._started_s = self._sent_s = time.monotonic()
        self._emit(CallStarted(**self._place, model=request.models[0]))
        record.call_id = self._place["call_id"]

    def first_models(self) -> Sequence[str]:
        """Return the models that are not in cooldown, nor their providers; the first one if all of them are."""
        cooling, models = self._health.unavailable(self._health.clock()), self._request.models
        return [each for each in models if cooling.isdisjoint((each, each.partition("/")[0]))] or models[:1]

    def may_repeat(self, model: str) -> bool:
        """Whether the last attempt of a model failed for a reason that may be over."""
        last = next((each for each in reversed(self._attempts) if each.model == model), None)
        return last is None or last.cause in AGAIN

    def begin(self, model: str, waited_s: float) -> None:
        """Report that an attempt begins."""
        budget, number = self._deck.budget(model).budget, len(self._attempts) + 1
        self._health.breaker.record_attempt(model, self._health.clock())
        self._place["attempt"] = self.record.attempts = number
        self.record.model = model
        self._sent_s = time.monotonic()
        self._emit(
            RequestSent(
                **self._place, model=model, tier=budget.tier, variant=self._request.kind, input_tokens=budget.input_tokens,
                max_tokens=None, max_catalog_bytes=budget.max_catalog_bytes, temperature=None, response_format="",
                changed=(), waited_s=waited_s,
            )
        )  # fmt: skip

    def failed(self, failure: CallFailed, cost_usd: float | None) -> None:
        """Report that an attempt failed."""
        self._end(cause=failure.failure_class, sub_cause=failure.sub_cause, status=failure.status, cost_usd=cost_usd)
        budget = self._deck.budget(self.record.model).budget
        failed = AttemptFailure(failure=failure, attempt=self._attempts[-1], budget=budget)
        self._health.record_failure(failed, self, self._health.clock(), self._counted)

    def finished(self, usage: Usage, cost_usd: float | None) -> None:
        """Report that an attempt gave the answer."""
        self._end(usage=usage, cost_usd=cost_usd, then="answered", stop_reason=StopReason.END_TURN.value)
        now_s, model = time.monotonic(), self.record.model
        self._health.record_success(model, self)
        self._emit(
            CallFinished(
                **self._place, model=model, served_model="", variant=self._request.kind, stop_reason=StopReason.END_TURN,
                raw_stop_reason=None, usage=usage, cached_cost_usd=None, saved_usd=None, cost_usd=cost_usd,
                latency_s=now_s - self._sent_s, decode_step="", repairs=(), requested_model=self._request.models[0],
                downgrades=(), total_s=now_s - self._started_s,
            )
        )  # fmt: skip

    def _end(self, **facts: Any) -> None:
        latency_s = time.monotonic() - self._sent_s
        attempt = Attempt(number=len(self._attempts) + 1, model=self.record.model, latency_s=latency_s, **facts)
        self._attempts.append(attempt)
        self.record.direct_cost_usd += attempt.cost_usd or 0.0
        self.record.direct_tokens += attempt.usage.input_tokens or (self._request.tokens if attempt.cost_usd else 0)
        self._emit(AttemptEnded(**self._place, outcome=attempt))

    def exhausted(self, failure: CallFailed, reason: str) -> CallFailed:
        """Report that the call failed, and return the failure with its attempts."""
        self._emit(
            CallExhausted(
                **self._place, model=self._request.models[0], raw_stop_reason=None, raw_length=0, reason=reason,
                cause=failure.failure_class, sub_cause=failure.sub_cause,
                latency_s=time.monotonic() - self._started_s,
            )
        )  # fmt: skip
        model = failure.model or self.record.model
        return attrs.evolve(failure, model=model, attempts=tuple(self._attempts), call_id=self._place["call_id"])

    def aborted(self, error: BaseException) -> None:
        """Report that the call was cancelled."""
        latency_s = time.monotonic() - self._started_s
        model = self._request.models[0]
        self._emit(CallAborted(**self._place, model=model, error=type(error).__name__, latency_s=latency_s))
