"""Packs: units of work with validated input and output, and access to models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

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

    def ask(self, question: Question[T]) -> Coroutine[Any, Any, Answer[T]]:
        """Put a question to a model: budget, selection, prompt, dispatch, decode.

        :raises CallFailed: the subclass of the cause.
        """
        ...

    def complete(self, request: ChatRequest, *, allows_empty: bool = False) -> Coroutine[Any, Any, ChatResponse]:
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


class PackInput(Protocol):
    """A typed input that knows its wire form."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], /) -> Self:
        """Return the typed input of plain data that fits the pack's input schema."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the input as plain data."""
        ...


PackHandler = Callable[[PackContext, Any], Awaitable[Mapping[str, Any] | PackOutput]]


@attrs.frozen(kw_only=True)
class Pack:
    """A unit of work.

    :ivar name: ``area.verb``; unique, contributing the same name again replaces the pack.
    :ivar description: one to three sentences; the first carries the essence, for it is what a small model sees.
    :ivar metadata: what rankers and prompts use, such as accepted inputs and phrases that ask for the pack.
    :ivar input_schema: JSON Schema of the input; checked before the handler runs.
    :ivar input_type: a class with ``from_dict`` and ``to_dict``: the handler then gets its input as this type, and a caller that has such a value passes it without the check.
    :ivar output_schema: JSON Schema of the output; checked after it.
    :ivar run: the handler; it gets the checked input and returns plain data, or a typed result that knows its wire form; what it raises beyond ``PackError`` and ``CallFailed`` becomes ``handler_failed``, and a ``TimeoutError`` becomes ``timeout``.
    :ivar constraint: the ``Question.constraint`` of what it asks, for whoever wants to know what would be sent.
    :ivar is_listed: whether plans may use it.
    """

    name: str
    version: str
    description: str
    run: PackHandler
    metadata: Mapping[str, Any] = EMPTY
    input_schema: Mapping[str, Any] = EMPTY
    input_type: type[PackInput] | None = None
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
