"""The one way to a model: a question, how it is put, and the answer with all that led to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog, Entry, TrimRecord
from helmdeck_core.domain.chat import ChatResponse
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.domain.tasks import DoneStep, Task

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class PromptVariant:
    """One way to put a task to a model.

    :ivar task: the task that it serves, such as ``plan``.
    :ivar variant: its name, such as ``single_pick``; a budget chooses by it.
    :ivar instructions: text that depends on nothing but the variant; it opens the cached prefix.
    :ivar render: the part that depends on the request; it comes last.
    :ivar catalog_heading: the line above the catalog.
    """

    task: str
    variant: str
    instructions: str
    render: Callable[[Task], str]
    catalog_heading: str = "CATALOG"
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
    :ivar instructions: for a task without prompt variants: the text that does not depend on the request.
    :ivar schema: JSON Schema of the answer, for providers that can constrain to one.
    """

    caller: str
    task: str
    type: type[T]
    request: str
    model: str | None = None
    context: str = ""
    done: tuple[DoneStep, ...] = ()
    defaults: Mapping[str, Any] = EMPTY
    needs_catalog: bool = True
    instructions: str | None = None
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None


@attrs.frozen(kw_only=True)
class Selection:
    """What of a catalog goes to a model.

    :ivar text: the catalog as it is sent, compact JSON; ``record.after_bytes`` is its length in UTF-8.
    :ivar cap: the limit that applied, in bytes; ``None`` is none.
    :ivar ranking: the whole catalog in order of relevance; ``None`` when nothing had to be ranked.
    :ivar depends_on_request: another request might have got another text; ``False`` keeps a cached prefix valid.
    """

    catalog: Catalog
    text: str
    record: TrimRecord
    cap: int | None
    ranking: Ranking | None = None
    depends_on_request: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries that are sent, in catalog order."""
        return self.catalog.entries

    @property
    def confidence(self) -> float | None:
        """How far the best entry stands out, 0 to 1; ``None`` when nothing was ranked."""
        return None if self.ranking is None else self.ranking.confidence


@attrs.frozen(kw_only=True)
class Answer(Generic[T]):
    """A decoded answer and everything that led to it.

    :ivar model: the model that was asked.
    :ivar variant: the prompt variant that asked.
    :ivar response: what the provider answered: stop reason, usage, reasoning, who served it.
    :ivar step: the decode step that gave the value; ``repairs`` those that changed what the model wrote.
    """

    value: T
    model: str
    variant: str
    budget: Budget
    selection: Selection | None
    response: ChatResponse
    step: str
    repairs: tuple[str, ...]
