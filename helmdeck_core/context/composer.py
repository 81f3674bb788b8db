"""Composes the prompt for one model: the catalog that fits, the messages, and whether a filter call is needed.

Nothing is sent here, so a dry run shows the exact prompt.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from helmdeck_core.context.library import Library
from helmdeck_core.context.llm_filter import FILTER_TASK
from helmdeck_core.context.prompt_layout import BYTES_PER_TOKEN, MESSAGE_TOKENS, check_fits, estimate_tokens, lay_out
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import Message
from helmdeck_core.domain.choosing import Choice
from helmdeck_core.domain.constraints import ResponseFormat, SchemaForm, SchemaOffer
from helmdeck_core.domain.models import Budget, ModelId
from helmdeck_core.domain.providers import ProviderSpec
from helmdeck_core.domain.questions import PromptVariant, Question, Selection
from helmdeck_core.domain.ranking import should_escalate
from helmdeck_core.domain.tasks import Task
from helmdeck_core.errors import InvalidRequest
from helmdeck_core.resolve.runtime import Runtime

STEADY_TOKENS = 1_024
"""From here on room for a request is a power of two, so that a small change of the request keeps the prefix."""

MAX_FORMS = 256
"""Schemas of packs that are kept."""


@attrs.frozen(kw_only=True)
class Prompt:
    """A prompt, as it would be sent.

    :ivar tail: the rendered part that depends on the request.
    :ivar other_tokens: estimated tokens of everything but the catalog.
    :ivar filter_model: the model of the filter call; ``None`` when none is made.
    :ivar filter_reason: why, or why not.
    """

    question: Question[Any]
    budget: Budget
    variant: PromptVariant
    task: Task
    selection: Selection | None
    tail: str
    messages: tuple[Message, ...] = ()
    other_tokens: int
    filter_model: str | None
    filter_reason: str

    @property
    def parts(self) -> tuple[PromptPart, ...]:
        """Return the parts in order; headings and separators count with the part after them."""
        caches, selection = self.budget.supports_prefix_cache, self.selection
        system, *earlier, user = (len(message.text.encode("utf-8", "replace")) for message in self.messages)
        instructions = len(self.variant.instructions.encode("utf-8", "replace"))
        tail = len(self.tail.encode("utf-8", "replace"))
        parts = [PromptPart("instructions", "system", instructions, caches)]
        if system > instructions:
            name = "index" if selection is not None and selection.index is not None else "catalog"
            parts.append(PromptPart(name, "system", system - instructions, caches))
        if earlier:
            parts.append(PromptPart("messages", "conversation", sum(earlier), False))
        if user > tail:
            name = "details" if selection is not None and selection.index is not None else "catalog"
            parts.append(PromptPart(name, "user", user - tail, False))
        return (*parts, PromptPart("request", "user", tail, False))


@attrs.frozen
class PromptPart:
    """One part of a prompt, for display.

    :ivar name: ``instructions``, ``catalog``, ``index``, ``messages``, ``details`` or ``request``.
    :ivar size: UTF-8 bytes.
    :ivar is_cached: whether it is part of the prefix that is the same for every call.
    """

    name: str
    message: str
    size: int
    is_cached: bool

    @property
    def tokens(self) -> int:
        """A conservative estimate."""
        return -(-self.size // BYTES_PER_TOKEN)


class Composer:
    """Composes prompts over one library; ``forms`` keeps schemas of packs for all libraries."""

    def __init__(self, runtime: Runtime, library: Library, forms: dict[tuple[str, str], SchemaForm]) -> None:
        self.runtime = runtime
        self.library = library
        self._forms = forms

    def compose(self, question: Question[Any], budget: Budget) -> Prompt:
        """Choose the prompt variant, fit the catalog, and lay the prompt out.

        :raises ContextWindowExceeded: it cannot be made to fit.
        :raises InvalidRequest: there is no prompt variant for it.
        """
        prompt = self._start(question, budget)
        selection = self._selection(question, budget, prompt.other_tokens)
        filter_model, reason = self._filter(question, budget, selection)
        return self._lay_out(attrs.evolve(prompt, selection=selection, filter_model=filter_model, filter_reason=reason))

    def narrowed(self, prompt: Prompt, picks: Iterable[str]) -> Prompt:
        """Return the prompt with its catalog merged with the entries that a filter call named.

        :param picks: ids of entries.
        """
        assert prompt.selection is not None
        selection = self.library.narrow(prompt.selection, prompt.budget, prompt.other_tokens, picks)
        return self._lay_out(attrs.evolve(prompt, selection=selection), is_narrowed=True)

    def chosen(self, question: Question[Any], budget: Budget, choice: Choice) -> Prompt:
        """Return the prompt that asks for the arguments of the chosen entry.

        :raises ContextWindowExceeded: it cannot be made to fit.
        """
        budget = attrs.evolve(budget, prompt_variant=question.chosen_variant or budget.prompt_variant)
        prompt = self._start(question, budget)
        selection = self.library.single(budget, prompt.other_tokens, choice.entry_id)
        task = attrs.evolve(prompt.task, catalog=selection.catalog, chosen=choice.entry_id)
        reason = f"the chooser {choice.chooser!r} chose"
        return self._lay_out(attrs.evolve(prompt, task=task, selection=selection, filter_reason=reason))

    def _lay_out(self, prompt: Prompt, *, is_narrowed: bool = False) -> Prompt:
        """The prompt with the task that the model sees, the messages and the response format."""
        task, tail = self._shown_task(prompt), prompt.tail
        if task.shortlist != prompt.task.shortlist:
            tail = prompt.variant.render(task)
        messages = lay_out(
            prompt.variant,
            tail,
            prompt.selection,
            caches_prefix=prompt.budget.supports_prefix_cache,
            is_narrowed=is_narrowed,
            images=prompt.question.images,
        )
        if prompt.question.messages:
            messages = (*messages[:-1], *prompt.question.messages, messages[-1])
        return attrs.evolve(prompt, task=task, tail=tail, messages=messages)

    def response_format(self, prompt: Prompt) -> ResponseFormat | None:
        """Return how the response is to be constrained; ``None`` where the budget does not want that, or tools are offered.

        A constrained model cannot call a tool, and some servers reject a request for both. The schemas are only named here;
        a provider that takes one makes it.
        """
        question, selection = prompt.question, prompt.selection
        if not self.runtime.budgets.asks_for_json(prompt.budget) or (question.tools and question.tool_choice != "none"):
            return None
        schemas = question.schema if question.constraint is None else question.constraint(prompt.task)
        forms = (self._form_of(question, schemas),) if isinstance(schemas, Mapping) else tuple(schemas or ())
        is_steady = selection is None or selection.index is not None or not selection.depends_on_request
        return ResponseFormat("json_object", question.task, SchemaOffer(forms, is_steady=is_steady))

    def _form_of(self, question: Question[Any], schema: Mapping[str, Any]) -> SchemaForm:
        """The form of a schema, kept per pack and task because it caches its versions in provider dialects."""
        key = (question.caller, question.task)
        form = self._forms.get(key)
        if form is None or form.schema is not schema:
            form = SchemaForm.of(schema)
            if key in self._forms or len(self._forms) < MAX_FORMS:
                self._forms[key] = form
        return form

    # -- parts of a prompt ---------------------------------------------------------------------------------

    def _start(self, question: Question[Any], budget: Budget) -> Prompt:
        """The prompt before its entries are selected."""
        variant = self._variant(question, budget)
        task = Task(
            name=question.task,
            variant=variant.variant,
            model=budget.model,
            request=question.request,
            catalog=Catalog(),
            context=question.context,
            done=question.done,
            defaults={**question.learned.defaults, **question.defaults},
            learned=frozenset(question.learned.defaults.keys() - question.defaults.keys()),
        )
        tail = variant.render(task)
        return Prompt(
            question=question,
            budget=budget,
            variant=variant,
            task=task,
            selection=None,
            tail=tail,
            other_tokens=self._other_tokens(question, budget, variant, tail),
            filter_model=None,
            filter_reason="",
        )

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

    def _other_tokens(self, question: Question[Any], budget: Budget, variant: PromptVariant, rendered: str) -> int:
        fixed = sum(map(estimate_tokens, _fixed_texts(variant)))
        fixed += sum(estimate_tokens(f"{tool.name}{tool.description}{tool.input_schema}") for tool in question.tools)
        fixed += sum(estimate_tokens(message.text) + MESSAGE_TOKENS for message in question.messages)
        tail = estimate_tokens(rendered)
        if not budget.supports_prefix_cache or not question.needs_catalog:
            return fixed + tail
        # The shortlist is only known after the selection; room for the longest ids is reserved.
        longest = max((len(entry.id) for entry in self.library.catalog.entries), default=0)
        tail += estimate_tokens(" " * self.library.rules(budget).shortlist * (longest + 2))
        steady = max(STEADY_TOKENS, 1 << (tail - 1).bit_length())
        return fixed + (steady if fixed + steady + MESSAGE_TOKENS < budget.input_tokens // 2 else tail)

    def _selection(self, question: Question[Any], budget: Budget, other_tokens: int) -> Selection | None:
        if question.lists_catalog:
            return self.library.listing(budget, question.request, other_tokens)
        if question.needs_catalog:
            return self.library.select(budget, question.request, other_tokens, question.learned.planned)
        check_fits(budget, other_tokens + MESSAGE_TOKENS)
        return None

    def _shown_task(self, prompt: Prompt) -> Task:
        """The task with the entries that the model sees."""
        task, budget, selection = prompt.task, prompt.budget, prompt.selection
        if selection is None or task.chosen:
            return task
        if selection.index is not None:
            return attrs.evolve(task, catalog=self.library.catalog)
        most = self.library.rules(budget).shortlist
        shortlist: tuple[str, ...] = ()
        if budget.supports_prefix_cache and not selection.depends_on_request and len(selection.catalog) > most > 0:
            leading = self.library.rank(task.request, budget).leading(most)
            shortlist = tuple(self.library.catalog.entries[index].id for index, _ in leading)
        return attrs.evolve(task, catalog=selection.catalog, shortlist=shortlist)

    # -- filter call ---------------------------------------------------------------------------------------

    def _filter(self, question: Question[Any], budget: Budget, selection: Selection | None) -> tuple[str | None, str]:
        """The model of the filter call and why it is made; ``None`` and why not."""
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
        """Whether a model's provider supports a task; an unknown provider fails later, when it is called."""
        provider = ModelId.provider_of(self.runtime.budgets.wrapped(model))
        config = self.runtime.config.providers.get(provider)
        owned = self.runtime.contributed(ProviderSpec).get((config.kind if config else None) or provider)
        return owned is None or owned.value.tasks is None or task in owned.value.tasks


def _fixed_texts(variant: PromptVariant) -> tuple[str, ...]:
    return (variant.instructions, variant.catalog_heading or "", variant.details_heading or "")


def _plain(task: Task, done_label: str) -> str:
    """Render a question without prompt variants, the request last."""
    parts = [json.dumps(dict(task.defaults), ensure_ascii=False) if task.defaults else "", task.context]
    parts += [f"{done_label} {step.tool} {step.output}".strip() for step in task.done]
    return "\n\n".join([*filter(None, parts), task.request])
