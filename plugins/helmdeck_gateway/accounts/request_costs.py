"""What requests cost: upper estimates before a call, and the cost of its attempts as their events report them.

Providers charge for attempts that fail, and some of them report no usage. Where the usage of a request is unknown, its upper
estimate counts, so that spend is never too low. A model without a known price counts as 0, and is reported as unpriced.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import (
    Attempt,
    AttemptEnded,
    CallRef,
    ChatRequest,
    ContinuationAttempt,
    Event,
    FailureClass,
    Helmdeck,
    ImagePart,
    InvalidRequest,
    ProviderPool,
    RequestSent,
    TextPart,
    Usage,
)
from helmdeck_gateway.accounts.surcharges import MAX_MODELS, Surcharges
from helmdeck_gateway.stores.records import to_nusd

ASCII_PER_TOKEN: Final = 3.0
"""Characters of ASCII text per token, a low estimate: English prose has 4 to 4.8, code and JSON about 3.3."""

BYTES_PER_TOKEN: Final = 2.0
"""UTF-8 bytes of other text per token, a low estimate."""

IMAGE_TOKENS: Final = 2_000
"""Tokens of an image, a high estimate."""
FILE_TOKENS: Final = 20_000
"""Tokens of a file behind a URL, whose size is not known."""
FILE_BYTES_PER_TOKEN: Final = 3
"""Bytes of a file per token, a low estimate: recordings have over a hundred, pages of a PDF document about twenty."""

MESSAGE_TOKENS: Final = 8
"""Tokens of the frame of a message."""

PLAN_TOKENS: Final = 2_000
"""Tokens of the instructions of a plan, a high estimate."""

WINDOW_TOKENS: Final = 128_000
"""Input tokens that a request of an unproven model may be charged for, where its budget is lower: a common context window."""

FREE_CAUSES: Final = frozenset(("unreachable", "no_key", "misconfigured", "cost_limit"))
"""Sub-causes of failures before the provider got a request."""

_encode = msgspec.json.Encoder(enc_hook=str).encode
_NO_USAGE: Final = Usage()


def text_tokens(text: str) -> int:
    """Return a high estimate of the tokens of a text."""
    if text.isascii():
        return math.ceil(len(text) / ASCII_PER_TOKEN)
    return math.ceil(utf8_size(text) / BYTES_PER_TOKEN)


def utf8_size(text: str) -> int:
    """Return the number of UTF-8 bytes of a text; a surrogate counts as one."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def input_tokens(request: ChatRequest) -> int:
    """Return a high estimate of the input tokens of a request."""
    tokens = MESSAGE_TOKENS
    for message in request.messages:
        tokens += MESSAGE_TOKENS + sum(text_tokens(call.name + call.arguments) for call in message.tool_calls)
        for part in message.parts:
            if isinstance(part, TextPart):
                tokens += text_tokens(part.text)
            elif isinstance(part, ImagePart):
                tokens += IMAGE_TOKENS
            else:
                tokens += IMAGE_TOKENS + len(part.data) // FILE_BYTES_PER_TOKEN if part.data else FILE_TOKENS
    for tool in request.tools:
        tokens += text_tokens(tool.name + tool.description) + math.ceil(
            len(_encode(tool.input_schema)) / ASCII_PER_TOKEN
        )
    if request.response_format is not None and request.response_format.schema:
        tokens += math.ceil(len(_encode(request.response_format.schema)) / ASCII_PER_TOKEN)
    return tokens


_Place = tuple[str, int]
"""The id of a call and the number of an attempt: two attempts of a call may be under way at the same time."""


def _place(event: CallRef) -> _Place:
    return event.call_id, event.attempt


class Pricing:
    """The prices of a deck."""

    def __init__(self, deck: Helmdeck) -> None:
        self._deck = deck
        self._registry = ProviderPool(deck.runtime).registry
        self._limits: dict[str, int | None] = {}  # by model

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """Return the US dollars for the usage of a model; ``None`` if its price is unknown."""
        return self._deck.runtime.pricer.cost_usd(self._deck.budget(model).budget, model, usage)

    def has_prices(self, model: str, fallbacks: tuple[str, ...] | None = None) -> bool:
        """Return whether the prices of a model and of its fallbacks are known."""
        million = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
        return all(self.cost_usd(each, million) is not None for each in self._deck.runtime.chain(model, fallbacks))

    def output_tokens(self, model: str, max_tokens: int | None) -> int:
        """Return the most output tokens of a request.

        That is its own limit, or the one that its provider sends, or else that of the model's budget.
        """
        if max_tokens is None:
            max_tokens = self._sent_limit(model)
        return self._deck.budget(model).budget.max_tokens if max_tokens is None else max_tokens

    def _sent_limit(self, model: str) -> int | None:
        """The output limit that the provider sends for a request without one; ``None`` if it sends none."""
        if model not in self._limits:
            if len(self._limits) >= MAX_MODELS:
                self._limits.clear()
            self._limits[model] = None
            with contextlib.suppress(InvalidRequest):  # of settings with which the call fails as well
                self._limits[model] = self._registry.output_limit(model)
        return self._limits[model]

    def window_usd(self, model: str, max_tokens: int | None) -> float:
        """Return what a request costs that fills the context window of a model; 0 if its price is unknown."""
        budget = self._deck.budget(model).budget
        output = max(budget.max_tokens, self.output_tokens(model, max_tokens))
        usage = Usage(input_tokens=max(budget.input_tokens, WINDOW_TOKENS), output_tokens=output)
        return self.cost_usd(model, usage) or 0.0

    def is_hidden(self, model: str) -> bool:
        """Return whether a model may generate reasoning that is not streamed."""
        return self._deck.budget(model).budget.is_hybrid_reasoning

    def plan_tokens(self, model: str) -> int:
        """Return a high estimate of the input tokens of a plan, without the request."""
        limit = self._deck.budget(model).budget.max_catalog_bytes
        if limit is None:
            limit = len(_encode([entry.data for entry in self._deck.catalog.entries]))
        return PLAN_TOKENS + math.ceil(limit / ASCII_PER_TOKEN)


class Spend:
    """The spend of one request of the gateway, by the events of its calls.

    :param tokens: a high estimate of the input tokens.
    :param raised: called when the spend may exceed what it was so far.
    :param surcharges: what calls cost beyond their estimates; they learn from this one.
    :ivar is_unpriced: the price of a model that answered is unknown.
    :ivar streamed: UTF-8 bytes that the client was sent.
    """

    def __init__(
        self,
        pricing: Pricing,
        tokens: int,
        max_tokens: int | None,
        raised: Callable[[], None],
        surcharges: Surcharges | None = None,
    ) -> None:
        self._surcharges = surcharges or Surcharges()
        self._pricing = pricing
        self._tokens = tokens
        self._max_tokens = max_tokens
        self._raised = raised
        self._lock = threading.Lock()  # events may come from threads of a pack
        self._usd = 0.0
        self._open: dict[_Place, tuple[str, float, int]] = {}  # model, upper estimate and output limit
        self._used_tokens = 0
        self._open_tokens: dict[_Place, int] = {}  # upper estimates
        self.is_unpriced: bool = False
        self.streamed = 0

    @property
    def held_nusd(self) -> int:
        """What the request costs at most, as far as it is known: ended attempts, and the estimates of open ones."""
        with self._lock:
            return to_nusd(self._usd + sum(self._surcharges.hold_usd(*each[:2]) for each in self._open.values()))

    def first_nusd(self, model: str) -> int:
        """Return what the first attempt costs at most."""
        usd = self._most_usd(model, self._pricing.output_tokens(model, self._max_tokens))
        return to_nusd(self._surcharges.hold_usd(model, usd))

    @property
    def held_tokens(self) -> int:
        """The tokens of ended attempts, and the upper estimates of open ones."""
        with self._lock:
            return self._used_tokens + sum(self._open_tokens.values())

    def first_tokens(self, model: str) -> int:
        """Return the most tokens of the first attempt."""
        return self._tokens + self._pricing.output_tokens(model, self._max_tokens)

    @property
    def final_tokens(self) -> int:
        """The tokens when all calls have ended; aborted attempts count by what was streamed of them."""
        with self._lock:
            streamed = math.ceil(self.streamed / BYTES_PER_TOKEN)
            return self._used_tokens + sum(
                min(each, self._tokens + streamed) if streamed else each for each in self._open_tokens.values()
            )

    def handle(self, event: Event) -> None:
        """Take note of an event of a call."""
        match event:
            case RequestSent():
                self._begin(_place(event), event.model, event.max_tokens)
            case ContinuationAttempt():
                self._continue(_place(event), event.model, event.output_tokens)
            case AttemptEnded():
                self._end(_place(event), event.outcome)
            case _:
                pass

    @property
    def final_nusd(self) -> int:
        """The cost when all calls have ended; attempts without an end were aborted, so the provider reported no usage."""
        with self._lock:
            return to_nusd(self._usd + sum(self._aborted_usd(*each) for each in self._open.values()))

    def _begin(self, place: _Place, model: str, max_tokens: int | None) -> None:
        most = self._pricing.output_tokens(model, self._max_tokens if max_tokens is None else max_tokens)
        with self._lock:
            self._open[place] = (model, self._most_usd(model, most), most)
            self._open_tokens[place] = self._tokens + most
        self._raised()

    def _continue(self, place: _Place, model: str, so_far: int) -> None:
        with self._lock:
            _, usd, most = self._open.get(place, (model, 0.0, self._pricing.output_tokens(model, self._max_tokens)))
            self._open[place] = (model, usd + self._most_usd(model, most, more=so_far), most)
            self._open_tokens[place] = self._open_tokens.get(place, 0) + self._tokens + so_far + most
        self._raised()

    def _end(self, place: _Place, attempt: Attempt) -> None:
        with self._lock:
            _, most_usd, most = self._open.pop(place, ("", 0.0, 0))
            self._used_tokens += self._tokens_of(attempt, self._open_tokens.pop(place, 0))
            for request in attempt.requests:
                if request.usage == _NO_USAGE and request.cause not in _FREE:
                    self._usd += self._most_usd(attempt.model, most)
            self._surcharges.end(attempt, most_usd)
            if attempt.cost_usd is not None:
                self._usd += max(attempt.cost_usd, self._estimated_usd(attempt) if attempt.is_estimated else 0.0)
                self._usd += self._left_out_usd(attempt)
            elif attempt.usage != _NO_USAGE:
                self.is_unpriced = True
            elif attempt.is_sent:
                self._usd += self._unreported_usd(attempt, most_usd)

    def _tokens_of(self, attempt: Attempt, most: int) -> int:
        """The tokens of an ended attempt: as its provider reports them, or else a high estimate."""
        usage = attempt.usage
        if usage != _NO_USAGE:
            output = usage.output_tokens or math.ceil(attempt.raw_length / BYTES_PER_TOKEN)
            return (usage.input_tokens or self._tokens) + output
        if attempt.raw_length:
            return self._tokens + math.ceil(attempt.raw_length / BYTES_PER_TOKEN)
        return 0 if not attempt.is_sent or self._is_free(attempt) else most

    def _left_out_usd(self, attempt: Attempt) -> float:
        """The cost of the input or output that a provider reports none of, or an impossible number, although there is some."""
        usage = attempt.usage
        if attempt.is_estimated or (usage.input_tokens and usage.output_tokens):
            return 0.0
        tokens = 0 if usage.input_tokens else self._tokens
        output = math.ceil(attempt.raw_length / BYTES_PER_TOKEN) - usage.output_tokens
        return self._priced(attempt.model, tokens, max(0, output))

    def _unreported_usd(self, attempt: Attempt, most_usd: float) -> float:
        """The cost of an attempt for which the provider reported no usage."""
        if attempt.stop_reason or attempt.raw_length:
            is_empty = attempt.cause is not None and not attempt.raw_length
            return self._estimated_usd(attempt) if attempt.raw_length or is_empty else most_usd
        return 0.0 if self._is_free(attempt) else most_usd

    def _is_free(self, attempt: Attempt) -> bool:
        """Whether no model processed an attempt without a response."""
        is_refused = attempt.status is not None and attempt.status >= 400
        return is_refused or attempt.sub_cause in FREE_CAUSES or attempt.cause in _FREE

    def _estimated_usd(self, attempt: Attempt) -> float:
        """The cost of a response by its length; the model's output may be longer than its text."""
        tokens = max(math.ceil(attempt.raw_length / BYTES_PER_TOKEN), math.ceil(attempt.usage.output_tokens * 1.5))
        return self._most_usd(attempt.model, tokens)

    def _aborted_usd(self, model: str, most_usd: float, most: int) -> float:
        """The cost of an attempt that was aborted: by what was streamed of it, where that is all the model generates."""
        usd = most_usd
        if self.streamed and not self._pricing.is_hidden(model):
            tokens = min(most, math.ceil(self.streamed / BYTES_PER_TOKEN) + 50)  # a few more are on their way
            usd = min(most_usd, self._most_usd(model, tokens))
        return usd + self._surcharges.of(model)

    def _most_usd(self, model: str, output: int, *, more: int = 0) -> float:
        return self._priced(model, self._tokens + more, output)

    def _priced(self, model: str, tokens: int, output: int) -> float:
        return self._pricing.cost_usd(model, Usage(input_tokens=tokens, output_tokens=output)) or 0.0


_FREE: Final = frozenset((FailureClass.INVALID_REQUEST, FailureClass.AUTH_FAILED, FailureClass.CONTEXT_WINDOW_EXCEEDED))
"""Failures of requests that no model processes."""


def embedding_tokens(value: Any) -> int:
    """Return a high estimate of the tokens of the field ``input`` of a request for vectors."""
    tokens, unread = 0, [value]
    while unread:  # a recursion could be too deep
        each = unread.pop()
        if isinstance(each, str):
            tokens += text_tokens(each)
        elif isinstance(each, list):
            unread += each
        elif isinstance(each, int):
            tokens += 1
    return tokens


def embedding_usage(body: Any, estimate: int) -> Usage:
    """Return the usage that a response with vectors reports; the estimate if it reports none."""
    usage = body.get("usage") if isinstance(body, Mapping) else None
    counts = [usage.get(name) for name in ("prompt_tokens", "total_tokens")] if isinstance(usage, Mapping) else []
    tokens = next((each for each in counts if isinstance(each, int) and each > 0), estimate)
    return Usage(input_tokens=tokens).plausible()
