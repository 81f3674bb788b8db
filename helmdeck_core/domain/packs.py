"""Packs: units of work with validated input and output, and access to models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog, Entry, EntryKind
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.constraints import SchemaForm
from helmdeck_core.domain.history import PlanRecord
from helmdeck_core.domain.questions import Answer, Question
from helmdeck_core.domain.tasks import Task

T = TypeVar("T")


class PackContext(Protocol):
    """The context of a running pack."""

    @property
    def model(self) -> str | None:
        """The requested model; ``None`` is the default model."""
        ...

    @property
    def caller(self) -> str:
        """The caller; history is separate for each caller."""
        ...

    @property
    def catalog(self) -> Catalog:
        """The catalog of everything that a plan can use."""
        ...

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Ask a model: budget, selection, prompt, request, decoding.

        :raises CallFailed: the subclass of the cause.
        """
        ...

    async def complete(self, request: ChatRequest, *, allows_empty: bool = False) -> ChatResponse:
        """Send a request that the pack wrote, such as a conversation with tools, as ``Helmdeck.acomplete`` does.

        It counts as the pack's own and within its limits. An empty ``model`` is the one that the caller asked for.

        :raises CallFailed: the subclass of the cause.
        """
        ...

    async def planned_before(self, request: str) -> tuple[str, ...]:
        """The ids that this caller's earlier plans for the same request picked, the most frequent first.

        Empty when no history is configured; what the store raises becomes an event.
        """
        ...

    async def remember(self, record: PlanRecord) -> None:
        """Keep a record of a plan, where a history is configured; what the store raises becomes an event."""
        ...

    def progress(self, message: str) -> None:
        """Report progress to the user."""
        ...


class PackOutput(Protocol):
    """A typed result that can be converted to plain data."""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        ...


PackHandler = Callable[[PackContext, Mapping[str, Any]], Awaitable[Mapping[str, Any] | PackOutput]]


@attrs.frozen(kw_only=True)
class Pack:
    """A unit of work.

    :ivar name: ``area.verb``; unique, contributing the same name again replaces the pack.
    :ivar description: one to three sentences; small models see the first one only.
    :ivar metadata: data for rankers and prompts, such as accepted inputs and typical requests.
    :ivar input_schema: JSON Schema of the input; validated before the handler runs.
    :ivar output_schema: JSON Schema of the output; validated afterwards.
    :ivar run: the handler; takes the validated input and returns plain data or a typed result. Exceptions other than ``PackError`` and ``CallFailed`` become ``handler_failed``, ``TimeoutError`` becomes ``timeout``.
    :ivar constraint: the ``Question.constraint`` of its questions, for dry runs.
    :ivar is_listed: whether plans can use it.
    """

    name: str
    version: str
    description: str
    run: PackHandler
    metadata: Mapping[str, Any] = EMPTY
    input_schema: Mapping[str, Any] = EMPTY
    output_schema: Mapping[str, Any] = EMPTY
    constraint: Callable[[Task], Mapping[str, Any] | Sequence[SchemaForm] | None] | None = None
    is_listed: bool = True
    order: int = 0

    def to_entry(self, source: str) -> Entry:
        """The pack as a catalog entry."""
        data: dict[str, Any] = {"name": self.name, "description": self.description}
        if self.metadata:
            data["metadata"] = dict(self.metadata)
        if self.input_schema:
            data["input_schema"] = dict(self.input_schema)
        return Entry(EntryKind.PACK, self.name, data, source)
