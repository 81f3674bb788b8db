"""Puts a question into words for one model: the catalog that fits, the messages, and whether a second opinion is due.

Nothing is sent here, so that what would be sent can be looked at without asking anyone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from helmdeck_core.context.library import MESSAGE_TOKENS, Library
from helmdeck_core.context.llm_filter import FILTER_TASK
from helmdeck_core.context.prompt_layout import BYTES_PER_TOKEN, estimate_tokens, lay_out
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import Message, ProviderSpec
from helmdeck_core.domain.constraints import ResponseFormat, SchemaForm, SchemaOffer
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.questions import PromptVariant, Question, Selection
from helmdeck_core.domain.ranking import should_escalate
from helmdeck_core.domain.tasks import Task
from helmdeck_core.errors import ContextWindowExceeded, InvalidRequest
from helmdeck_core.resolve.runtime import Runtime

STEADY_TOKENS = 1_024
"""Room for a request is taken in powers of two from here on, so that a few words more or less leave a prefix as it is."""

MOST_FORMS = 256
"""Schemas of packs that are kept."""


@attrs.frozen(kw_only=True)
class Prompt:
    """A question, as it would be sent.

    :ivar other_tokens: estimated tokens of everything but the catalog.
    :ivar asks_for_json: whether the provider is asked to constrain the answer to JSON.
    :ivar filter_model: who is to be asked first which entries are needed; ``None`` when nobody is.
    :ivar filter_reason: why, or why not.
    """

    question: Question[Any]
    budget: Budget
    asks_for_json: bool
    variant: PromptVariant
    task: Task
    selection: Selection | None
    messages: tuple[Message, ...]
    other_tokens: int
    filter_model: str | None
    filter_reason: str

    @property
    def parts(self) -> tuple[PromptPart, ...]:
        """What it is made of, in the order in which it is sent; headings and separators count with the part behind them."""
        caches, selection = self.budget.supports_prefix_cache, self.selection
        system, user = (len(message.text.encode("utf-8", "replace")) for message in self.messages)
        instructions = len(self.variant.instructions.encode("utf-8", "replace"))
        tail = len(self.variant.render(self.task).encode("utf-8", "replace"))
        parts = [PromptPart("instructions", "system", instructions, caches)]
        if system > instructions:
            name = "index" if selection is not None and selection.index is not None else "catalog"
            parts.append(PromptPart(name, "system", system - instructions, caches))
        if user > tail:
            name = "details" if selection is not None and selection.index is not None else "catalog"
            parts.append(PromptPart(name, "user", user - tail, False))
        return (*parts, PromptPart("request", "user", tail, False))

    @property
    def response_format(self) -> ResponseFormat | None:
        """How the answer is to be constrained; ``None`` where the model's budget does not want that, or tools may be called.

        A model that is held to the form of an answer cannot call a tool, and some servers refuse to be asked for both. The
        schemas are only named here; whoever takes one makes it.
        """
        question, selection = self.question, self.selection
        if not self.asks_for_json or (question.tools and question.tool_choice != "none"):
            return None
        made = question.schema if question.constraint is None else question.constraint(self.task)
        forms = (_form_of(made),) if isinstance(made, Mapping) else tuple(made or ())
        is_steady = selection is None or selection.index is not None or not selection.depends_on_request
        return ResponseFormat("json_object", question.task, SchemaOffer(forms, is_steady))


@attrs.frozen
class PromptPart:
    """One part of a prompt, for people.

    :ivar name: ``instructions``, ``catalog``, ``index``, ``details`` or ``request``.
    :ivar size: UTF-8 bytes.
    :ivar is_cached: whether it is part of the prefix that stays the same from call to call.
    """

    name: str
    message: str
    size: int
    is_cached: bool

    @property
    def tokens(self) -> int:
        """A cautious estimate."""
        return -(-self.size // BYTES_PER_TOKEN)


class Composer:
    """Composes prompts over one library."""

    def __init__(self, runtime: Runtime, library: Library) -> None:
        self.runtime = runtime
        self.library = library

    def compose(self, question: Question[Any], budget: Budget) -> Prompt:
        """Choose the variant, fit the catalog, and lay the prompt out.

        :raises ContextWindowExceeded: it cannot be made to fit.
        :raises InvalidRequest: there is no prompt variant for it.
        """
        variant = self._variant(question, budget)
        task = Task(
            name=question.task,
            variant=variant.variant,
            model=budget.model,
            request=question.request,
            catalog=Catalog(),
            context=question.context,
            done=question.done,
            defaults=question.defaults,
        )
        other_tokens = self._other_tokens(question, budget, variant, task)
        selection = self._selection(question, budget, other_tokens)
        filter_model, reason = self._filter(question, budget, selection)
        return self._laid_out(
            Prompt(
                question=question,
                budget=budget,
                asks_for_json=self.runtime.budgets.asks_for_json(budget),
                variant=variant,
                task=self._shown(task, budget, selection),
                selection=selection,
                messages=(),
                other_tokens=other_tokens,
                filter_model=filter_model,
                filter_reason=reason,
            )
        )

    def narrowed(self, prompt: Prompt, picks: Iterable[str]) -> Prompt:
        """The same prompt, its catalog merged with the entries that a filter call named.

        :param picks: ids of entries.
        """
        assert prompt.selection is not None
        selection = self.library.narrow(
            prompt.selection, prompt.budget, prompt.question.request, prompt.other_tokens, picks
        )
        task = self._shown(prompt.task, prompt.budget, selection)
        return self._laid_out(attrs.evolve(prompt, task=task, selection=selection), is_narrowed=True)

    def _laid_out(self, prompt: Prompt, *, is_narrowed: bool = False) -> Prompt:
        messages = lay_out(
            prompt.variant,
            prompt.task,
            prompt.selection,
            caches_prefix=prompt.budget.supports_prefix_cache,
            is_narrowed=is_narrowed,
            images=prompt.question.images,
        )
        return attrs.evolve(prompt, messages=messages)

    # -- parts of a prompt ---------------------------------------------------------------------------------

    def _variant(self, question: Question[Any], budget: Budget) -> PromptVariant:
        if question.instructions is not None:
            texts = self.runtime.texts
            return PromptVariant(
                task=question.task,
                variant="plain",
                instructions=question.instructions,
                render=functools.partial(_plain, done_label=texts["done.label"]),
                catalog_heading=texts["catalog.heading"],
                details_heading=texts["catalog.details_heading"],
            )
        wanted = self.runtime.budgets.prompt_variant(budget)
        variant = self.runtime.variant(question.task, wanted)
        if variant is None:
            known = ", ".join(self.runtime.contributed(PromptVariant)) or "none"
            raise InvalidRequest(
                f"there is no prompt variant {wanted!r} of task {question.task!r}",
                sub_cause="misconfigured",
                detail=f"variants: {known}; set prompt_variant in the model's budget",
            )
        return variant

    def _other_tokens(self, question: Question[Any], budget: Budget, variant: PromptVariant, task: Task) -> int:
        fixed = sum(map(estimate_tokens, _fixed_texts(variant)))
        fixed += sum(estimate_tokens(f"{tool.name}{tool.description}{tool.input_schema}") for tool in question.tools)
        tail = estimate_tokens(variant.render(task))
        if not budget.supports_prefix_cache or not question.needs_catalog:
            return fixed + tail
        # Who stands on the shortlist is only known behind the selection; room for the longest ids is kept for it.
        longest = max((len(entry.id) for entry in self.library.catalog.entries), default=0)
        tail += estimate_tokens(" " * self.library.rules(budget).shortlist * (longest + 2))
        steady = max(STEADY_TOKENS, 1 << (tail - 1).bit_length())
        return fixed + (steady if fixed + steady + MESSAGE_TOKENS < budget.input_tokens // 2 else tail)

    def _selection(self, question: Question[Any], budget: Budget, other_tokens: int) -> Selection | None:
        if question.lists_catalog:
            return self.library.listing(budget, question.request, other_tokens)
        if question.needs_catalog:
            return self.library.select(budget, question.request, other_tokens, question.planned_before)
        if other_tokens + MESSAGE_TOKENS > budget.input_tokens:
            raise ContextWindowExceeded(
                "the request is larger than the model's budget",
                budget.model,
                sub_cause="no_room",
                detail=f"it has about {other_tokens:,} tokens, the budget is {budget.input_tokens:,}",
            )
        return None

    def _shown(self, task: Task, budget: Budget, selection: Selection | None) -> Task:
        """The task with the entries that the model gets to see."""
        if selection is None:
            return task
        if selection.index is not None:
            return attrs.evolve(task, catalog=self.library.catalog)
        most = self.library.rules(budget).shortlist
        shortlist: tuple[str, ...] = ()
        if budget.supports_prefix_cache and not selection.depends_on_request and len(selection.catalog) > most > 0:
            leading = self.library.rank(task.request, budget).leading(most)
            shortlist = tuple(self.library.catalog.entries[index].id for index, _ in leading)
        return attrs.evolve(task, catalog=selection.catalog, shortlist=shortlist)

    # -- the second opinion --------------------------------------------------------------------------------

    def _filter(self, question: Question[Any], budget: Budget, selection: Selection | None) -> tuple[str | None, str]:
        """Who is to be asked first which entries are needed, and why; ``None`` and why not."""
        rules = self.library.rules(budget)
        model = budget.filter_model or budget.model
        if question.lists_catalog or selection is None or selection.ranking is None:
            return None, "nothing had to be ranked"
        if not (budget.allows_llm_filter if rules.filter is None else rules.filter):
            return None, "the model's budget does not allow it" if rules.filter is None else "it is switched off"
        if len(selection.ranking.scores) < 3:
            return None, "there are fewer than three entries"
        if not should_escalate(selection.ranking, rules.confidence):
            is_sure = selection.ranking.is_confident(rules.confidence)
            return None, "the ranking is sure" if is_sure else "for each part of the request one entry stands out"
        if selection.index is not None and selection.index.is_described:
            return None, "the cached prefix describes every entry"
        if not self._takes(model, FILTER_TASK):
            return None, f"{model} cannot answer it"
        if not any(owned.value.task == FILTER_TASK for owned in self.runtime.contributed(PromptVariant).values()):
            return None, "no plugin contributes a prompt for it"
        return model, "the ranking is unsure"

    def _takes(self, model: str, task: str) -> bool:
        """Whether a model's provider can answer a task at all; one that nobody knows fails by itself when it is asked."""
        provider = self.runtime.budgets.wrapped(model).partition("/")[0]
        config = self.runtime.config.providers.get(provider)
        owned = self.runtime.contributed(ProviderSpec).get((config.kind if config else None) or provider)
        return owned is None or owned.value.tasks is None or task in owned.value.tasks


def _fixed_texts(variant: PromptVariant) -> tuple[str, ...]:
    return (variant.instructions, variant.catalog_heading or "", variant.details_heading or "")


_FORMS: dict[int, SchemaForm] = {}


def _form_of(schema: Mapping[str, Any]) -> SchemaForm:
    """The form of a schema that packs give with every question: made once, since it keeps what dialects make of it."""
    form = _FORMS.get(id(schema))
    if form is None or form.schema is not schema:
        form = SchemaForm.of(schema)
        if len(_FORMS) < MOST_FORMS:
            _FORMS[id(schema)] = form
    return form


def _plain(task: Task, done_label: str) -> str:
    """The request of a question without prompt variants, after everything that belongs to it."""
    parts = [json.dumps(dict(task.defaults), ensure_ascii=False) if task.defaults else "", task.context]
    parts += [f"{done_label} {step.tool} {step.output}".strip() for step in task.done]
    return "\n\n".join([*filter(None, parts), task.request])
