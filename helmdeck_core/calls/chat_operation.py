"""A call with a request that the caller wrote."""

from __future__ import annotations

import attrs
import msgspec

from helmdeck_core.calls.history_trimming import drop_oldest_turns
from helmdeck_core.calls.model_text import loop_of
from helmdeck_core.calls.operation import Prepared, SideAttempts
from helmdeck_core.calls.provider_registry import ProviderRegistry
from helmdeck_core.calls.recovery_policy import NextAttempt
from helmdeck_core.calls.response_failures import empty_failure, loop_failure, no_call_failure, truncated_failure
from helmdeck_core.context.prompt_layout import MESSAGE_TOKENS, check_fits, estimate_tokens
from helmdeck_core.domain.chain_policies import CHAIN_SAMPLE, ChainRequest
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, Message, Role, StopReason, TextPart
from helmdeck_core.domain.events import CallRef
from helmdeck_core.errors import CallFailed
from helmdeck_core.resolve.budgets import BudgetResolver


@attrs.frozen
class ChatOperation:
    """Sends the request as it is; where the rules ask for it, without its oldest turns.

    :ivar reminder: the message to a model that called no tool although the request requires a call.
    :ivar checks_calls: text in place of a required call is a failure, which is recovered from.
    :ivar allows_truncated: a text that stays truncated is a response; otherwise a failure, which is recovered from. It always
        is a response where the caller set the output limit.
    :ivar within_budget: a request that exceeds the input limit of a model's budget is not sent to it. Without, the provider
        decides, since a caller's own request may use the whole window of a model whose budget is not known.
    """

    request: ChatRequest
    allows_empty: bool
    budgets: BudgetResolver
    registry: ProviderRegistry
    allows_truncated: bool = True
    within_budget: bool = False
    checks_calls: bool = False
    reminder: str = ""
    type: None = None

    async def prepare(self, step: NextAttempt, call: CallRef, record: SideAttempts) -> Prepared:  # noqa: ARG002
        """Implement ``Operation.prepare``."""
        model = str(self.registry.check(step.model))
        request = self.request if model == self.request.model else attrs.evolve(self.request, model=model)
        if step.changes.shows_problem and self.reminder and request.requires_call:
            message = Message(Role.USER, (TextPart(self.reminder),))
            request = attrs.evolve(request, messages=(*request.messages, message))
        budget = self.budgets.find(model).budget
        downgrades: tuple[str, ...] = ()
        if step.changes.history_factor != 1.0:
            kept = drop_oldest_turns(request.messages, step.changes.history_factor)
            dropped = len(request.messages) - len(kept)
            downgrades = (f"{dropped} oldest messages left out",) if dropped else ()
            request = attrs.evolve(request, messages=kept)
        if self.within_budget:
            check_fits(budget, sum(estimate_tokens(each.text) + MESSAGE_TOKENS for each in request.messages))
        return Prepared(request=request, budget=budget, downgrades=downgrades)

    def read(self, prepared: Prepared, response: ChatResponse) -> ChatResponse:
        """Implement ``Operation.read``."""
        if not (response.text.strip() or response.tool_calls or self._may_be_empty(response)):
            raise empty_failure(prepared.request, response)
        is_structured = self.request.response_format is not None and not response.tool_calls
        if is_structured and (loop := loop_of(response.text)) and not is_json(response.text):
            raise loop_failure(prepared.request, response, loop)
        if is_structured and response.continuation and response.continuation.models and not is_json(response.text):
            raise loop_failure(prepared.request, response, "malformed")
        if not self.allows_truncated and self.request.max_tokens is None and is_truncated(response):
            raise truncated_failure(prepared.request, response)
        if self.checks_calls and self.request.requires_call and not _has_call(self.request, response):
            raise no_call_failure(prepared.request, response)
        return response

    def _may_be_empty(self, response: ChatResponse) -> bool:
        """Whether an empty response is acceptable, as it is after a tool result."""
        messages = self.request.messages
        return self.allows_empty or (
            response.stop_reason is StopReason.END_TURN and bool(messages) and messages[-1].role is Role.TOOL
        )

    def chain_facts(self) -> ChainRequest:
        """Implement ``Operation.chain_facts``."""
        request, texts = self.request, [message.text for message in self.request.messages]
        answer = "tools" if request.tools else "json" if request.response_format is not None else "text"
        size = sum(map(len, texts))
        return ChainRequest(models=(), answer=answer, size_bytes=size, sample=texts[-1][:CHAIN_SAMPLE] if texts else "")

    def unsure(self, prepared: Prepared, value: ChatResponse) -> CallFailed | None:  # noqa: ARG002
        """Implement ``Operation.unsure``."""
        return None

    def is_final(self, failure: CallFailed) -> bool:  # noqa: ARG002
        """Implement ``Operation.is_final``."""
        return False


def _has_call(request: ChatRequest, response: ChatResponse) -> bool:
    """Whether a response has the required call, or ended at a limit or a filter before it could have one."""
    if response.stop_reason not in (StopReason.END_TURN, StopReason.TOOL_CALL, StopReason.UNKNOWN) or response.refusal:
        return True
    names = [call.name for call in response.tool_calls]
    return bool(names) and (request.tool_choice == "required" or request.tool_choice in names)


def is_truncated(response: ChatResponse) -> bool:
    """Whether a response is a text that ends at a limit; one that is a whole JSON value is complete."""
    stop = response.stop_reason
    is_at_limit = stop is StopReason.MAX_TOKENS or stop is StopReason.CONTEXT_WINDOW_EXCEEDED
    return is_at_limit and not response.tool_calls and not is_json(response.text)


def is_json(text: str) -> bool:
    """Whether a text is one JSON value."""
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
