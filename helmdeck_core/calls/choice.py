"""Lets the chooser of a model's budget choose the tool of one step, and counts the requests that it sends."""

from __future__ import annotations

import asyncio
import functools
import time
from typing import Any

import attrs

from helmdeck_core.calls.operation import SideAttempts
from helmdeck_core.calls.provider_client import ProviderClient
from helmdeck_core.context.composer import Composer, Prompt
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.choosing import Choice, ChoiceTask, Chooser
from helmdeck_core.domain.models import CHOSEN_BY_MODEL, Budget
from helmdeck_core.domain.questions import Question
from helmdeck_core.errors import Attempt, CallFailed, HelmdeckError, InvalidRequest, TransientUnknown
from helmdeck_core.resolve.runtime import Runtime

CHOICE_PURPOSE = "choice"
"""The purpose of a request that a chooser sends."""

UNSURE_CHOICE = "unsure_choice"
"""The sub-cause of a choice that is left to the next model."""


def is_chosen(runtime: Runtime, question: Question[Any], budget: Budget) -> bool:
    """Whether a chooser chooses for a model, and not the model itself."""
    return budget.chooser != CHOSEN_BY_MODEL and runtime.budgets.prompt_variant(budget) in question.chosen_in


def chooser_by_size(runtime: Runtime, client: ProviderClient, prompt: Prompt, request: ChatRequest) -> str:
    """Return the chooser that names a tool before its arguments are requested; empty where one request does both.

    Two requests are made where the schema that would be sent is larger than the model's catalog limit: the server would compile, or
    the model read, more for the arguments of tools that are not chosen than the catalog itself may have.
    """
    question, budget = prompt.question, prompt.budget
    limit = budget.max_catalog_bytes
    is_single = runtime.budgets.prompt_variant(budget) in question.chosen_in
    if limit is None or not is_single or question.chosen_by_name not in runtime.contributed(Chooser):
        return ""
    constraint = client.constraint(request)
    return question.chosen_by_name if constraint is not None and constraint.size > limit else ""


@attrs.frozen
class ChoiceCalls:
    """Makes the choices of one call."""

    composer: Composer
    client: ProviderClient

    async def choose(self, question: Question[Any], budget: Budget, record: SideAttempts) -> Choice:
        """Return the choice for a question.

        :param record: receives the attempts of the requests that the chooser sends.
        :raises InvalidRequest: there is no such chooser.
        :raises CallFailed: the chooser needs the model, and the model failed.
        :raises PluginError: the chooser raised, or chose an entry that does not exist.
        """
        composer, library = self.composer, self.composer.library
        contribution = composer.runtime.contributed(Chooser).get(budget.chooser)
        if contribution is None:
            known = ", ".join((CHOSEN_BY_MODEL, *composer.runtime.contributed(Chooser)))
            raise InvalidRequest(
                f"there is no chooser {budget.chooser!r}",
                model=budget.model,
                sub_cause="misconfigured",
                detail=f"choosers: {known}; set chooser in the model's budget",
            )
        rank = functools.partial(library.rank, budget=budget, planned=question.learned.planned)
        ranking = (
            await asyncio.to_thread(rank, question.request) if library.is_blocking(budget) else rank(question.request)
        )
        task = ChoiceTask(
            request=question.request,
            catalog=library.catalog,
            budget=budget,
            ranking=ranking,
            rank=rank,
            send=functools.partial(self._send, budget, record),
            done=question.done,
        )
        failure: HelmdeckError
        with contribution.faults(f"chooser {budget.chooser!r}: "):
            try:
                choice = await contribution.value.choose(task)
            except HelmdeckError as exc:  # of the model or its provider, not of the chooser
                failure = exc
            else:
                _check(choice, library.catalog)
                return attrs.evolve(choice, chooser=budget.chooser)
        raise failure

    async def _send(self, budget: Budget, record: SideAttempts, request: ChatRequest) -> ChatResponse:
        """Send one request to the model; its attempt counts as one of the call."""
        request, start_s = attrs.evolve(request, model=budget.model), time.perf_counter()
        attempt = Attempt(number=1, model=budget.model, purpose=CHOICE_PURPOSE)
        try:
            response = await self.client.complete(request)
        except CallFailed as exc:
            facts: dict[str, Any] = {"cause": exc.failure_class, "sub_cause": exc.sub_cause, "usage": exc.usage}
            record([attrs.evolve(attempt, latency_s=time.perf_counter() - start_s, **facts)])
            raise
        answered = attrs.evolve(
            attempt,
            served_model=response.served_model,
            stop_reason=response.stop_reason.value,
            usage=response.usage,
            cost_usd=self.composer.runtime.pricer.cost_usd(budget, budget.model, response.usage),
            latency_s=response.latency_s,
            then="answered",
        )
        record([answered])
        return response


def _check(choice: object, catalog: Catalog) -> None:
    if not isinstance(choice, Choice):
        raise TypeError(f"not a Choice: returned {type(choice).__name__}")
    if choice.entry_id and catalog.get(choice.entry_id) is None:
        raise ValueError(f"chose {choice.entry_id!r}, which is not in the catalog")


def unsure(choice: Choice, budget: Budget) -> CallFailed:
    """Return the failure of a choice that is not sure enough while the chain has another model."""
    share = "" if choice.probability is None else f", {choice.probability:.0%} probable"
    return TransientUnknown(
        "the choice of a tool is not sure",
        model=budget.model,
        sub_cause=UNSURE_CHOICE,
        detail=f"the chooser {choice.chooser!r} would choose {choice.entry_id or 'no tool'}{share}",
    )
