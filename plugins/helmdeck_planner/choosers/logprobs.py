"""The chooser ``logprobs``: the ranker's best candidates, weighed by probabilities that the model gives.

A server that computes the likelihood of a text returns that of the request after a description of each tool: this distinguishes tools
also with a model that cannot name the right one. Other servers return one token: the label of a candidate, in two orders, so that the
position of a candidate does not count. Both forms are one request, and the response shows which of them the server supports. Where it
supports neither, the ranker chooses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_core import (
    LIKELIHOOD_INCOMPLETE,
    ChatRequest,
    ChatResponse,
    Choice,
    ChoiceTask,
    Chooser,
    InvalidRequest,
    Likelihood,
    Message,
    Role,
    TextPart,
    hookimpl,
)
from helmdeck_planner.choosers.parts import Candidate, Part, candidates, described, next_part, read_choice
from helmdeck_planner.choosers.probability import Weights, probabilities
from helmdeck_planner.choosers.ranker import ranked

NAME: Final = "logprobs"
LABELS: Final = "ABCD"
CANDIDATES: Final = 4
"""Candidates that the model weighs: with eight, half a point more of 400 choices is right, at twice the time."""

SURE_MARGIN: Final = 0.6
"""Confidence of the ranking from which the model is not called: there, it changed no right choice of 200 requests, and a fifth of the
calls is saved."""

LISTED: Final = 20
"""Likely tokens that are requested: the most that OpenAI's API returns."""

FLOOR: Final = -12.0
"""Log-probability of a label that is not among the likely tokens."""

REQUEST_CHARS: Final = 400
"""Characters of a request; each token of it is read for every candidate."""

BY_LIKELIHOOD: Final = Weights(rank=2.4, model=0.49, none=0.99)
"""Fitted on 200 requests for SmolLM2-135M; on 200 others, 71 % of the choices are right, and 62 % of the ranker's."""

BY_LABEL: Final = Weights(rank=4.0, model=1.0, none=-1.0)
"""Not fitted: labels are for models that choose better than chance, which those of the benchmark do not."""

INCOMPLETE: Final = "the server cannot report the likelihood of a request with such characters"

TOOL: Final = 'Tool {tool}\nA user who needs this tool writes: "'
LABEL: Final = "Tools:\n{tools}\n\nRequest: {request}\n\nWhich tool does the request need? Answer with one letter and nothing else."


@attrs.define
class LogprobChooser:
    """Chooses by probabilities; remembers models whose server returns none."""

    without: set[str] = attrs.field(factory=set)

    async def choose(self, task: ChoiceTask) -> Choice:
        """Choose the most probable entry for the next part of the request.

        :raises CallFailed: the model cannot be reached, or failed in another way than by rejecting the request.
        """
        part = await next_part(task)
        if part is None:
            return Choice(is_complete=True)
        if settled := read_choice(part):
            return settled
        listed = candidates(task, part, CANDIDATES)
        if len(listed) < 2 or part.ranking.is_confident(SURE_MARGIN):
            return ranked(task, part)
        model = task.budget.model
        if task.budget.supports_logprobs is False or model in self.without:
            return ranked(task, part, "the server returns no log-probabilities, so the ranker chose")
        by_model, weights, how = await _ask(task, part, listed)
        if by_model is None:
            if how != INCOMPLETE:
                self.without.add(model)
            return ranked(task, part, f"{how}, so the ranker chose")
        shares = probabilities(listed, by_model, weights)
        best = next(iter(shares))
        return Choice(
            entry_id=best,
            probabilities=shares,
            part=part.text,
            is_sure=shares[best] >= weights.sure,
            has_more=part.has_more,
            reason=how,
        )


async def _ask(
    task: ChoiceTask, part: Part, listed: Sequence[Candidate]
) -> tuple[Sequence[float] | None, Weights, str]:
    """What the model says about each candidate, the weights for it, and the method; ``None`` and why for nothing."""
    texts = [described(each.entry) for each in listed]
    text = " ".join(part.text.split())[:REQUEST_CHARS] + '"'
    likelihood = Likelihood(prompts=tuple(TOOL.format(tool=each) for each in texts), text=text)
    response = await _send(task, _label_request(part, texts, likelihood))
    if isinstance(response, InvalidRequest) and response.sub_cause == LIKELIHOOD_INCOMPLETE:
        return None, BY_LIKELIHOOD, INCOMPLETE
    if isinstance(response, InvalidRequest):  # the server may have no endpoint for likelihoods
        response = await _send(task, _label_request(part, texts))
    if isinstance(response, InvalidRequest):
        return None, BY_LABEL, f"the server rejected the request ({response.detail or response.headline})"
    if response.likelihoods:
        return response.likelihoods, BY_LIKELIHOOD, "by the likelihood of the request after each tool"
    first, second = _by_label(response, len(texts)), None
    if first is not None:
        reversed_ = await _send(task, _label_request(part, texts[::-1]))
        second = None if isinstance(reversed_, InvalidRequest) else _by_label(reversed_, len(texts))
    if first is None or second is None:
        return None, BY_LABEL, "the server returned no log-probabilities"
    by_model = [(one + other) / 2 for one, other in zip(first, second[::-1], strict=True)]
    return by_model, BY_LABEL, "by the probability of each tool's label, in two orders"


async def _send(task: ChoiceTask, request: ChatRequest) -> ChatResponse | InvalidRequest:
    """The response, or why the server rejected the request; other failures are left to the recovery of the call."""
    try:
        return await task.send(request)
    except InvalidRequest as exc:
        return exc


def _label_request(part: Part, texts: Sequence[str], likelihood: Likelihood | None = None) -> ChatRequest:
    tools = "\n".join(f"{label}. {text}" for label, text in zip(LABELS, texts, strict=False))
    question = LABEL.format(tools=tools, request=part.text.strip()[:REQUEST_CHARS])
    message = Message(Role.USER, (TextPart(question),))
    return ChatRequest(
        model="", messages=(message,), max_tokens=1, temperature=0.0, logprobs=LISTED, likelihood=likelihood
    )


def _by_label(response: ChatResponse, count: int) -> list[float] | None:
    """The log-probability of each label; ``None`` if the response has none."""
    if not response.token_logprobs:
        return None
    listed: dict[str, float] = {}
    for token, value in response.token_logprobs[0].items():
        label = token.strip().upper()
        listed[label] = math.log(math.exp(listed.get(label, -math.inf)) + math.exp(value))
    return [max(FLOOR, listed.get(label, FLOOR)) for label in LABELS[:count]]


@hookimpl
def helmdeck_choosers() -> Sequence[Chooser]:
    """The chooser."""
    summary = "the ranker's best candidates, weighed by probabilities that the model gives"
    return (Chooser(name=NAME, choose=LogprobChooser().choose, summary=summary, order=2),)
