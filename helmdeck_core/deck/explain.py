"""The dry run: what would be sent, and why."""

from __future__ import annotations

from typing import Any

import attrs

from helmdeck_core.calls.choice import chooser_by_size, is_chosen
from helmdeck_core.calls.provider_client import ProviderClient
from helmdeck_core.config.precedence import SelectionRules
from helmdeck_core.context.composer import Composer, Prompt, PromptPart
from helmdeck_core.domain.chain_policies import ChainOrder
from helmdeck_core.domain.chat import ChatRequest, Message
from helmdeck_core.domain.constraints import Constraint
from helmdeck_core.domain.history import Learned
from helmdeck_core.domain.models import BudgetLookup
from helmdeck_core.domain.questions import Question, Selection
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.errors import ConfigError, InvalidRequest
from helmdeck_core.resolve.runtime import Runtime


@attrs.frozen(kw_only=True)
class Explanation:
    """The result of a dry run: what would be sent to one model for one request.

    :ivar lookup: the budget, and the source of each field.
    :ivar rules: the selection rules, and the source of each.
    :ivar variant: the prompt variant.
    :ivar ladder: the trim steps that apply to the model, in order.
    :ivar learned: what the caller's history contributes.
    :ivar ranking: the ranking of the whole catalog, whether the selection needs one or not.
    :ivar filter_model: the model of the filter call; ``None`` when none would be made.
    :ivar filter_reason: why, or why not.
    :ivar chooser: the chooser that chooses in place of the model; empty where the model chooses.
    :ivar constraint: how the response would be constrained; ``None`` where the provider does not report it.
    :ivar ids: the number of entries in a schema.
    :ivar messages: the prompt as it would be sent without a filter call.
    :ivar parts: the parts of the prompt with their sizes.
    :ivar chain: the order in which a chain policy would call the models; ``None`` for the configured order.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     explanation = deck.explain("draft a blog post")
    >>> explanation.variant, explanation.selection.record.left_out
    ('full_steps', 0)
    """

    lookup: BudgetLookup
    rules: SelectionRules
    variant: str
    ladder: tuple[str, ...]
    selection: Selection
    learned: Learned
    ranking: Ranking
    filter_model: str | None
    filter_reason: str
    chooser: str
    constraint: Constraint | None
    ids: int
    messages: tuple[Message, ...]
    parts: tuple[PromptPart, ...]
    chain: ChainOrder | None = None

    @property
    def is_confident(self) -> bool:
        """Whether the ranking is confident."""
        return self.ranking.is_confident(self.rules.confidence)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the whole prompt."""
        return sum(part.tokens for part in self.parts)

    def form_of(self, entry_id: str) -> str:
        """Return how an entry would be sent: ``sent``, only ``listed`` in the prefix, or ``left out``."""
        if self.selection.catalog.get(entry_id) is not None:
            return "sent"
        return "listed" if self.selection.index is not None else "left out"

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, without the messages."""
        selection, notice = self.selection, self.lookup.notice
        return {
            "model": self.lookup.budget.model,
            "tier": self.lookup.budget.tier.value,
            **({"notices": [notice]} if notice else {}),
            "variant": self.variant,
            "response_format": "json_object" if self.lookup.asks_for_json else None,
            "constraint": None if self.constraint is None else _wire(self.constraint, self.ids),
            "max_tokens": self.lookup.budget.max_tokens,
            "max_catalog_bytes": selection.cap,
            "selection": selection.record.to_dict(),
            "learned": {"planned": dict(self.learned.planned), "defaults": dict(self.learned.defaults)},
            "was_ranked": selection.ranking is not None,
            "prefix_index": selection.index.form if selection.index is not None else None,
            "ranker": self.rules.ranker,
            "confidence": self.ranking.confidence,
            "is_confident": self.is_confident,
            "clauses": list(self.ranking.clauses),
            "chooser": self.chooser or None,
            "filter": {"model": self.filter_model, "reason": self.filter_reason},
            "entries": [
                {"id": score.id, "score": score.score, "matched": list(score.matched), "form": self.form_of(score.id)}
                for score in self.ranking.scores
            ],
            "chain": None if self.chain is None else _chain(self.chain),
            "parts": [
                {"name": p.name, "message": p.message, "bytes": p.size, "tokens": p.tokens, "is_cached": p.is_cached}
                for p in self.parts
            ],
        }


def _chain(order: ChainOrder) -> dict[str, Any]:
    return {"models": list(order.models), "reason": order.reason, **order.details()}


def _wire(constraint: Constraint, ids: int) -> dict[str, Any]:
    wire: dict[str, Any] = {"kind": constraint.kind}
    if constraint.schema is not None:
        wire |= {"form": constraint.form, "ids": ids, "bytes": constraint.size}
    lists = {"lost": constraint.lost, "passed": constraint.passed}
    return {**wire, **{name: list(values) for name, values in lists.items() if values}}


def explain(composer: Composer, client: ProviderClient, question: Question[Any], model: str) -> Explanation:
    """Compose the prompt of a question over a catalog and describe it.

    :raises ContextWindowExceeded: it cannot be made to fit.
    :raises InvalidRequest: there is no prompt variant for it.
    """
    runtime, library = composer.runtime, composer.library
    lookup = runtime.budgets.find(model, lists_prices=True)
    budget = lookup.budget
    prompt = composer.compose(question, budget)
    selection = prompt.selection
    if selection is None:
        raise ValueError("a question without a catalog has nothing to explain")
    request = ChatRequest(model=model, messages=prompt.messages, response_format=composer.response_format(prompt))
    return Explanation(
        lookup=lookup,
        rules=library.rules(budget),
        variant=prompt.variant.variant,
        ladder=tuple(step.value.name for step in runtime.ladder(budget.tier, budget.model)),
        selection=selection,
        learned=question.learned,
        ranking=selection.ranking or library.rank(question.request, budget, question.learned.planned),
        filter_model=prompt.filter_model,
        filter_reason=prompt.filter_reason,
        chooser=_chooser(runtime, client, prompt, request),
        constraint=_constraint(client, request),
        ids=len(prompt.task.catalog),
        messages=prompt.messages,
        parts=prompt.parts,
    )


def _chooser(runtime: Runtime, client: ProviderClient, prompt: Prompt, request: ChatRequest) -> str:
    """The chooser that is used; empty where the model chooses in one request."""
    if is_chosen(runtime, prompt.question, prompt.budget):
        return prompt.budget.chooser
    try:
        return chooser_by_size(runtime, client, prompt, request)
    except (ConfigError, InvalidRequest):
        return ""


def _constraint(client: ProviderClient, request: ChatRequest) -> Constraint | None:
    """How the provider constrains the response; ``None`` for an unknown provider, or one with invalid settings."""
    try:
        return client.constraint(request)
    except (ConfigError, InvalidRequest):
        return None
