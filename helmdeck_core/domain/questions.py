"""Questions to models, their prompt variants and selections, and the answers."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from helmdeck_core.domain import EMPTY, present
from helmdeck_core.domain.catalog import Catalog, Entry, TrimRecord
from helmdeck_core.domain.chat import ChatResponse, FilePart, ImagePart, Message, ToolCall, ToolDefinition
from helmdeck_core.domain.choosing import Choice
from helmdeck_core.domain.constraints import SchemaForm
from helmdeck_core.domain.decode import Decoded
from helmdeck_core.domain.history import Learned
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.domain.recovery_actions import NO_LIMITS, CallLimits
from helmdeck_core.domain.tasks import CompletedStep, Task
from helmdeck_core.errors import Attempt, FailureClass, Usage, total_cost

T = TypeVar("T")

SALVAGE = "salvage"
"""The step and repair of an answer that the reader of a question found in a text that the decoder rejected."""


def rendered_like_others(task: Task) -> str:
    """Placeholder for the rendering of another variant of the task, until variants are resolved."""
    raise NotImplementedError(f"the variants of task {task.name!r} were not resolved")


@attrs.frozen(kw_only=True)
class PromptVariant:
    """A prompt for one task.

    :ivar task: the task, such as ``plan``.
    :ivar variant: its name, such as ``single_pick``; budgets select it by name.
    :ivar instructions: the fixed text at the start of the cached prefix.
    :ivar render: returns the part that depends on the request, which comes last. It is called once per prompt, before the
        catalog is chosen (``task.catalog`` is empty), and again only where a shortlist is added. Left out, it is that of the
        task's first variant that has one, so that a variant can change the instructions alone.
    :ivar catalog_heading: the line above the catalog; ``None`` is the contributed text ``catalog.heading``.
    :ivar details_heading: the line above the likely entries, where the catalog lists all entries in short form; ``None`` is
        the contributed text ``catalog.details_heading``.
    """

    task: str
    variant: str
    instructions: str
    render: Callable[[Task], str] = rendered_like_others
    catalog_heading: str | None = None
    details_heading: str | None = None
    order: int = 0

    @property
    def name(self) -> str:
        """``task.variant``; contributing the same name again replaces the variant."""
        return f"{self.task}.{self.variant}"


@attrs.frozen(kw_only=True)
class Question(Generic[T]):
    """A question of a pack to a model.

    :ivar caller: the pack's name; failures start with it.
    :ivar task: the task whose prompt variants apply.
    :ivar type: the type that the answer is decoded into: a msgspec Struct, an attrs class or ``dict``.
    :ivar model: ``provider/model``; ``None`` is the one that the pack's caller requested, else the default model.
    :ivar needs_catalog: the prompt contains the catalog, fitted to the model.
    :ivar lists_catalog: the prompt contains every id with a short description instead.
    :ivar parse: returns the value for what was decoded as ``type``; raises ``WrongShape`` where it does not match.
    :ivar salvage: reads an answer that the decoder rejects, without its reasoning; returns ``None`` when it finds no value.
    :ivar instructions: the fixed text, for a task without prompt variants.
    :ivar schema: JSON Schema of the answer: for the prompt where the response is not constrained, and for providers that
        constrain responses where there is no ``constraint``.
    :ivar constraint: returns the JSON Schemas for providers that constrain responses: one, or several in the order in which
        they are tried, the most exact first; ``None`` for JSON mode. It is called once per request with JSON mode, so it
        should return the same forms again, and they should make their schemas on demand.
    :ivar messages: earlier messages of a conversation, between the instructions and the request.
    :ivar images: images and files after the text of the request.
    :ivar tools: tools that the model may call instead of answering; where there are any, the response is not constrained.
    :ivar tool_choice: as in ``ChatRequest``.
    :ivar read_calls: returns the value of an answer that calls the tools; it gets the complete calls of a turn that ended for
        them, and returns ``None`` when they are not usable. Without it, tool calls alone are not an answer.
    :ivar allows_empty: an empty response raises its failure at once, without recovery.
    :ivar limits: limits of the call; the configuration's limits apply to the rest.
    :ivar learned: what the history contributes; scores of planned entries are raised where the catalog has to be ranked.
    :ivar chosen_in: prompt variants whose answer names one entry, which the chooser of the model's budget may choose.
    :ivar chosen_variant: the prompt variant that asks for the arguments of an entry that was chosen.
    :ivar chosen_by_name: the chooser for a model that chooses itself, where the schema of its response would be
        larger than the model's catalog limit; empty for none.
    :ivar settle: returns the value for a choice that needs no model, such as that of a tool whose arguments are all known;
        ``None`` if the model has to be asked for the rest. It must give a value where no entry was chosen.
    :ivar certainty: returns the probability that a value of a model, named by its id, is right; ``None`` where it is not known. Below
        the threshold of the chain policy, the next model answers; the value is used if none does.
    """

    caller: str
    task: str
    type: type[T]
    request: str
    model: str | None = None
    context: str = ""
    done: tuple[CompletedStep, ...] = ()
    defaults: Mapping[str, Any] = EMPTY
    needs_catalog: bool = True
    lists_catalog: bool = False
    parse: Callable[[Any], T] | None = None
    salvage: Callable[[str], Decoded[T] | None] | None = None
    instructions: str | None = None
    schema: Mapping[str, Any] | None = None
    constraint: Callable[[Task], Mapping[str, Any] | Sequence[SchemaForm] | None] | None = None
    messages: tuple[Message, ...] = ()
    images: tuple[ImagePart | FilePart, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str | None = None
    read_calls: Callable[[tuple[ToolCall, ...]], T | None] | None = None
    temperature: float | None = None
    allows_empty: bool = False
    limits: CallLimits = NO_LIMITS
    learned: Learned = Learned()
    chosen_in: tuple[str, ...] = ()
    chosen_variant: str = ""
    chosen_by_name: str = ""
    settle: Callable[[Task, Choice], T | None] | None = None
    certainty: Callable[[T, str], float | None] | None = None


DESCRIBED = "described"


@attrs.frozen
class CatalogIndex:
    """All entries of a catalog in short form, the same for every request.

    :ivar form: ``described`` with short descriptions, ``named`` without any.
    :ivar text: compact JSON in the shape of a catalog.
    """

    form: str
    text: str

    @property
    def is_described(self) -> bool:
        """Whether it contains descriptions."""
        return self.form == DESCRIBED

    @property
    def size(self) -> int:
        """Length in UTF-8 bytes."""
        return len(self.text.encode())


@attrs.frozen(kw_only=True)
class Selection:
    """The part of a catalog that is sent to a model.

    :ivar catalog: the entries that are sent, without those that only the ``index`` lists.
    :ivar text: the catalog as compact JSON.
    :ivar index: all entries in short form, the same for every request, in the cached prefix before ``text``; ``None`` where
        there is none. ``record.after_bytes`` is the length of both in UTF-8.
    :ivar cap: the limit that applied, in bytes; ``None`` is none.
    :ivar ranking: the ranking of the whole catalog; ``None`` when none was needed.
    :ivar depends_on_request: whether another request could get another text; ``False`` keeps a cached prefix valid.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     selection = deck.select("draft a blog post", model="acme/large")
    >>> selection.record.after_bytes <= selection.record.before_bytes
    True
    """

    catalog: Catalog
    text: str
    record: TrimRecord
    cap: int | None
    index: CatalogIndex | None = None
    ranking: Ranking | None = None
    depends_on_request: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries that are sent, in catalog order."""
        return self.catalog.entries

    def shows(self, entry_id: str) -> bool:
        """Whether the model sees that the entry exists."""
        return self.index is not None or self.catalog.get(entry_id) is not None

    @property
    def confidence(self) -> float | None:
        """The confidence of the ranking, 0 to 1; ``None`` when there is none."""
        return None if self.ranking is None else self.ranking.confidence


@attrs.frozen(kw_only=True)
class FilterCall:
    """A call that narrowed an unsure selection: the ids that it named.

    :ivar model: the model of the call.
    :ivar picks: the named ids that exist, in order.
    :ivar failure: why there are no picks; empty when there are some.
    :ivar cause: the same without text of a provider or model, for events.
    :ivar latency_s: seconds of the call, whether it succeeded or not.
    """

    model: str
    picks: tuple[str, ...] = ()
    failure: str = ""
    cause: str = ""
    usage: Usage = Usage()
    latency_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        wire = {"model": self.model, "picks": list(self.picks), "latency_s": round(self.latency_s, 3)}
        return wire | present(failure=self.failure, usage=_tokens(self.usage))


@attrs.frozen(kw_only=True)
class CallFacts:
    """The facts of a call that its result carries.

    :ivar model: the model that answered; ``served_model`` is the provider's name for it.
    :ivar requested_model: the requested model; it differs from ``model`` where a fallback answered.
    :ivar compaction: what was trimmed from the catalog; ``None`` when the model saw all of it.
    :ivar usage: tokens of all calls, the filter call included; ``latency_s`` likewise.
    :ivar repairs: decode steps that repaired the response.
    :ivar filter: the call that narrowed the selection; ``None`` when there was none.
    :ivar attempts: all attempts, the successful one last.
    :ivar rejected_usage: tokens of the attempts that failed; ``usage`` does not include them.
    :ivar cost_usd: US dollars of all attempts; ``None`` where a price is not known.
    :ivar saved_usd: US dollars that the provider's cache saved; ``None`` likewise.
    :ivar call_id: the id that log lines and events of the call share.
    :ivar notices: what a caller should know about the model, such as that its limits are those of unknown models.
    :ivar choice: the choice of a chooser; ``None`` where the model chose.
    """

    model: str
    served_model: str = ""
    requested_model: str = ""
    compaction: TrimRecord | None = None
    usage: Usage = Usage()
    latency_s: float = 0.0
    repairs: tuple[str, ...] = ()
    downgrades: tuple[str, ...] = ()
    filter: FilterCall | None = None
    attempts: tuple[Attempt, ...] = ()
    rejected_usage: Usage = Usage()
    cost_usd: float | None = None
    saved_usd: float | None = None
    call_id: str = ""
    notices: tuple[str, ...] = ()
    choice: Choice | None = None

    def _repr_html_(self) -> str:
        """For notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def facts_to_dict(self) -> dict[str, Any]:
        """Return the wire form of the facts that are set, without the model."""
        names = (self.model, self.model.partition("/")[2])
        return present(
            compaction=self.compaction and self.compaction.to_dict(),
            filter=self.filter and self.filter.to_dict(),
            choice=self.choice and self.choice.to_dict(),
            served_model=self.served_model if self.served_model not in names else "",
            usage=_tokens(self.usage),
            requested_model=self.requested_model if self.requested_model != self.model else "",
            attempts=[each.to_dict() for each in self.attempts] if len(self.attempts) > 1 else None,
            rejected_usage=_tokens(self.rejected_usage),
            cost_usd=self.cost_usd,
            saved_usd=self.saved_usd or None,
            call_id=self.call_id,
            repairs=list(self.repairs),
            downgrades=list(self.downgrades),
            notices=list(self.notices),
        )


def _tokens(usage: Usage) -> dict[str, Any]:
    return attrs.asdict(usage) if usage != Usage() else {}


@attrs.frozen(kw_only=True)
class Answer(Generic[T]):
    """A decoded answer with the facts of its call.

    :ivar model: the model that answered.
    :ivar requested_model: the requested model; it differs from ``model`` where a fallback answered.
    :ivar variant: the prompt variant.
    :ivar response: the response of the provider.
    :ivar step: the decode step that gave the value, or ``tool_calls``; ``repairs`` are the steps that changed the text.
    :ivar filter: the call that narrowed the selection; ``None`` when there was none.
    :ivar attempts: all attempts, the successful one last.
    :ivar call_id: the id that the events of the call share.
    :ivar saved_usd: US dollars that the provider's cache saved; ``None`` where no price is known.
    :ivar notices: see ``CallFacts``.
    :ivar choice: the choice of a chooser; ``None`` where the model chose.
    :ivar incomplete: the cause for which the value is a truncated text, with the option ``partial`` of ``ask``; ``None`` for
        a whole answer.
    """

    value: T
    model: str
    variant: str
    budget: Budget
    selection: Selection | None
    response: ChatResponse
    step: str
    repairs: tuple[str, ...]
    filter: FilterCall | None = None
    requested_model: str = ""
    attempts: tuple[Attempt, ...] = ()
    call_id: str = ""
    saved_usd: float | None = None
    notices: tuple[str, ...] = ()
    choice: Choice | None = None
    incomplete: FailureClass | None = None

    def __str__(self) -> str:
        return str(self.value)

    @property
    def usage(self) -> Usage:
        """Tokens of the call and its filter call."""
        return self.response.usage + self.filter.usage if self.filter else self.response.usage

    @property
    def latency_s(self) -> float:
        """Seconds of the call and its filter call."""
        return self.response.latency_s + (self.filter.latency_s if self.filter else 0.0)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts, with those of the filter call; ``None`` where a price is not known."""
        return total_cost(self.attempts)

    @property
    def rejected_usage(self) -> Usage:
        """Tokens of the attempts that failed; ``usage`` does not include them."""
        if len(self.attempts) < 2:
            return Usage()
        return sum((attempt.usage for attempt in self.attempts), Usage()) - self.usage

    @property
    def served_model(self) -> str:
        """The provider's name for the model that answered."""
        return self.response.served_model

    @property
    def downgrades(self) -> tuple[str, ...]:
        """The parts of the request that were left out."""
        return self.response.downgrades

    @property
    def compaction(self) -> TrimRecord | None:
        """What was trimmed from the catalog; ``None`` when the model saw all of it."""
        record = self.selection.record if self.selection is not None else None
        return record if record is not None and (record.dropped or record.left_out) else None

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of ``CallFacts``, for the constructor of a result such as ``Plan``."""
        return {field.name: getattr(self, field.name) for field in attrs.fields(CallFacts)}
