"""The one way to a model: a question, how it is put, and the answer with all that led to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog, Entry, TrimRecord
from helmdeck_core.domain.chat import ChatResponse, ImagePart, ToolCall, ToolDefinition
from helmdeck_core.domain.constraints import SchemaForm
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.domain.recovery import NO_LIMITS, CallLimits
from helmdeck_core.domain.tasks import CompletedStep, Task
from helmdeck_core.errors.attempts import Attempt, Usage, total_cost

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class PromptVariant:
    """One way to put a task to a model.

    :ivar task: the task that it serves, such as ``plan``.
    :ivar variant: its name, such as ``single_pick``; a budget chooses by it.
    :ivar instructions: text that depends on nothing but the variant; it opens the cached prefix.
    :ivar render: returns the part that depends on the request, which comes last. It is called once per prompt, before the
        catalog is chosen (``task.catalog`` is empty), and again only where a shortlist is added.
    :ivar catalog_heading: the line above the catalog.
    :ivar details_heading: the line above the entries that are likely, where the catalog above them lists all in brief.
    """

    task: str
    variant: str
    instructions: str
    render: Callable[[Task], str]
    catalog_heading: str = "CATALOG"
    details_heading: str = "DETAILS"
    order: int = 0

    @property
    def name(self) -> str:
        """``task.variant``; contributing the same name again replaces the variant."""
        return f"{self.task}.{self.variant}"


@attrs.frozen(kw_only=True)
class Question(Generic[T]):
    """What a pack wants to know from a model.

    :ivar caller: the pack's name; failures start with it.
    :ivar task: which prompt variants can ask it.
    :ivar type: what the answer is decoded into: a msgspec Struct, an attrs class or ``dict``.
    :ivar model: ``provider/model``; ``None`` is the one that the pack's caller asked for, else the deployment's default.
    :ivar needs_catalog: the model must see the catalog, fitted to it.
    :ivar lists_catalog: instead of that, the model must see every id with a short description.
    :ivar salvage: the caller's own way to read an answer that the decoder refuses, its reasoning removed; returns
        ``None`` when there is nothing to be had.
    :ivar instructions: for a task without prompt variants: the text that does not depend on the request.
    :ivar schema: JSON Schema of the answer: for the prompt where nothing constrains the model, and for providers that
        constrain to one where there is no ``constraint``.
    :ivar constraint: the JSON Schemas for providers that constrain, of what a model is shown: one, or several in the order
        in which they are tried, the most exact first; ``None`` of it leaves it at any JSON. It is called once per request
        that is strict, so that it should give forms that make their schemas later, and the same ones again.
    :ivar images: go with the request, behind its words.
    :ivar tools: that the model may call instead of answering; where there are any, it is not held to a schema.
    :ivar tool_choice: as that of a ``ChatRequest``.
    :ivar read_calls: makes the value of an answer that calls the tools; it gets the complete calls of a turn that ended for
        them, and returns ``None`` when they are of no use. Without it, calls alone are no answer.
    :ivar allows_empty: an empty answer is the model's last word: it is surfaced, and nobody else is asked.
    :ivar limits: bounds of the call; what they leave open is the configuration's.
    :ivar planned_before: ids that the same caller's earlier plans for the same request picked, the most frequent first;
        they gain weight where the catalog has to be ranked.
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
    salvage: Callable[[str], T | None] | None = None
    instructions: str | None = None
    schema: Mapping[str, Any] | None = None
    constraint: Callable[[Task], Mapping[str, Any] | Sequence[SchemaForm] | None] | None = None
    images: tuple[ImagePart, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str | None = None
    read_calls: Callable[[tuple[ToolCall, ...]], T | None] | None = None
    temperature: float | None = None
    allows_empty: bool = False
    limits: CallLimits = NO_LIMITS
    planned_before: tuple[str, ...] = ()


DESCRIBED = "described"


@attrs.frozen
class CatalogIndex:
    """Every entry of a catalog in brief, the same for every request.

    :ivar form: ``described`` with short descriptions, ``named`` without any.
    :ivar text: compact JSON in the shape of a catalog.
    """

    form: str
    text: str

    @property
    def is_described(self) -> bool:
        """Whether it says what each entry is for."""
        return self.form == DESCRIBED

    @property
    def size(self) -> int:
        """Length in UTF-8 bytes."""
        return len(self.text.encode())


@attrs.frozen(kw_only=True)
class Selection:
    """What of a catalog goes to a model.

    :ivar catalog: the entries that are sent; those that only the ``index`` lists are not among them.
    :ivar text: the catalog as it is sent, compact JSON.
    :ivar index: every entry in brief, the same for every request; it stands in a cached prefix, and ``text`` behind it.
        ``None`` where there is none. ``record.after_bytes`` is the length of both in UTF-8.
    :ivar cap: the limit that applied, in bytes; ``None`` is none.
    :ivar ranking: the whole catalog in order of relevance; ``None`` when nothing had to be ranked.
    :ivar depends_on_request: another request might have got another text; ``False`` keeps a cached prefix valid.
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
        """Whether the model gets to see that there is such an entry."""
        return self.index is not None or self.catalog.get(entry_id) is not None

    @property
    def confidence(self) -> float | None:
        """How far the best entry stands out, 0 to 1; ``None`` when nothing was ranked."""
        return None if self.ranking is None else self.ranking.confidence


@attrs.frozen(kw_only=True)
class FilterCall:
    """A second opinion on an unsure selection: which ids another call named.

    :ivar model: who was asked.
    :ivar picks: the ids that exist, in the order in which they were named.
    :ivar failure: why there are none; empty when there are some.
    :ivar cause: the same in words that are nobody's but ours, for events.
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
        wire: dict[str, Any] = {"model": self.model, "picks": list(self.picks), "latency_s": round(self.latency_s, 3)}
        if self.failure:
            wire["failure"] = self.failure
        if self.usage != Usage():
            wire["usage"] = attrs.asdict(self.usage)
        return wire


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

    def facts_to_dict(self) -> dict[str, Any]:
        """Return the wire form of the facts that are set, without the model."""
        wire: dict[str, Any] = {}
        if self.compaction is not None:
            wire["compaction"] = self.compaction.to_dict()
        if self.filter is not None:
            wire["filter"] = self.filter.to_dict()
        if self.served_model and self.served_model not in (self.model, self.model.partition("/")[2]):
            wire["served_model"] = self.served_model
        if self.usage != Usage():
            wire["usage"] = attrs.asdict(self.usage)
        if self.requested_model and self.requested_model != self.model:
            wire["requested_model"] = self.requested_model
        if len(self.attempts) > 1:
            wire["attempts"] = [attempt.to_dict() for attempt in self.attempts]
        if self.rejected_usage != Usage():
            wire["rejected_usage"] = attrs.asdict(self.rejected_usage)
        if self.cost_usd is not None:
            wire["cost_usd"] = self.cost_usd
        if self.saved_usd:
            wire["saved_usd"] = self.saved_usd
        if self.call_id:
            wire["call_id"] = self.call_id
        return wire | {name: list(value) for name in ("repairs", "downgrades") if (value := getattr(self, name))}


@attrs.frozen(kw_only=True)
class Answer(Generic[T]):
    """A decoded answer and everything that led to it.

    :ivar model: the model that was asked and answered.
    :ivar requested_model: the model that was asked for; another one where a fallback answered.
    :ivar variant: the prompt variant that asked.
    :ivar response: what the provider answered: stop reason, usage, reasoning, who served it.
    :ivar step: the decode step that gave the value, ``tool_calls`` where calls did; ``repairs`` those that changed what the model wrote.
    :ivar filter: the call before this one that settled the selection; ``None`` when there was none.
    :ivar attempts: everything that was tried, the one that gave the answer last.
    :ivar call_id: what the events of the call have in common.
    :ivar saved_usd: US dollars that the input would have cost more without the provider's cache; ``None`` where no price is
        known.
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

    @property
    def usage(self) -> Usage:
        """Tokens of all calls that led to the answer."""
        return self.response.usage + self.filter.usage if self.filter else self.response.usage

    @property
    def latency_s(self) -> float:
        """Seconds of all calls that led to the answer."""
        return self.response.latency_s + (self.filter.latency_s if self.filter else 0.0)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts, those of a filter call included; ``None`` where a price is not known."""
        return total_cost(self.attempts)

    @property
    def rejected_usage(self) -> Usage:
        """Tokens that were paid for and did not lead to the answer; ``usage`` does not count them."""
        if len(self.attempts) < 2:
            return Usage()
        return sum((attempt.usage for attempt in self.attempts), Usage()) - self.usage

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of ``CallFacts``, for the constructor of a result such as ``Plan``."""
        record = self.selection.record if self.selection is not None else None
        return {
            "model": self.model,
            "served_model": self.response.served_model,
            "requested_model": self.requested_model,
            "compaction": record if record is not None and (record.dropped or record.left_out) else None,
            "usage": self.usage,
            "latency_s": self.latency_s,
            "repairs": self.repairs,
            "downgrades": self.response.downgrades,
            "filter": self.filter,
            "attempts": self.attempts,
            "rejected_usage": self.rejected_usage,
            "cost_usd": self.cost_usd,
            "saved_usd": self.saved_usd,
            "call_id": self.call_id,
        }
