"""Packs: units of work with validated input and output, and access to models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import attrs

from helmdeck_core.artifacts import ArtifactFolder
from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog, Entry, EntryKind, OpenSource
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.constraints import SchemaForm
from helmdeck_core.domain.history import History
from helmdeck_core.domain.pack_services import PackLogger, PackMemory
from helmdeck_core.domain.questions import Answer, Question
from helmdeck_core.domain.recovery_actions import CallLimits
from helmdeck_core.domain.tasks import Task

T = TypeVar("T")


class PackContext(Protocol):
    """The context of a running pack.

    :ivar memory: the facts of the caller.
    :ivar artifacts: the files of the run; an ``ArtifactError`` of it becomes ``artifact_failed``.
    """

    @property
    def model(self) -> str | None:
        """The requested model; ``None`` is the default model."""
        ...

    @property
    def caller(self) -> str:
        """The caller; history is separate for each caller."""
        ...

    @property
    def limits(self) -> CallLimits:
        """The limits of the next call, with the time that is left of the deadline."""
        ...

    @property
    def catalog(self) -> Catalog:
        """The catalog of everything that a plan can use."""
        ...

    def ask(self, question: Question[T]) -> Coroutine[Any, Any, Answer[T]]:
        """Ask a model a question, and decode the answer.

        :raises CallFailed: the subclass of the cause.
        """
        ...

    def complete(self, request: ChatRequest, *, allows_empty: bool = False) -> Coroutine[Any, Any, ChatResponse]:
        """Send a request of the pack, such as a conversation with tools, like ``Helmdeck.acomplete``.

        The limits of the pack apply. An empty ``model`` is the model requested by the caller.

        :raises CallFailed: the subclass of the cause.
        """
        ...

    @property
    def history(self) -> History:
        """The history of the deck; it records nothing where none is configured."""
        ...

    memory: PackMemory
    artifacts: ArtifactFolder
    logger: PackLogger

    @property
    def options(self) -> Any:
        """The options of the pack, as its ``options_type``; ``None`` without one."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the configuration file, else the working directory; for relative paths in options."""
        ...

    @property
    def runs(self) -> Any:
        """The run engine of the deck, a ``helmdeck_runs.RunEngine``."""
        ...

    def run(self, name: str, arguments: Mapping[str, Any]) -> Coroutine[Any, Any, Mapping[str, Any]]:
        """Run another pack or entry with the same caller, model, limits and artifacts.

        :raises PackError: it failed, or it is running already: a pack cannot run itself, not even through others.
        """
        ...

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Report progress to the user; the callback receives a ``ProgressText``."""
        ...


class PackOutput(Protocol):
    """A typed result that can be converted to plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        ...


class PackInput(Protocol):
    """A typed input with a wire form."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], /) -> Self:
        """Convert plain data that is valid by the pack's input schema."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the input as plain data."""
        ...


PackHandler = Callable[[PackContext, Any], Awaitable[Mapping[str, Any] | PackOutput]]


class ExecutingSource(OpenSource, Protocol):
    """An open catalog source whose entries can be run like packs.

    It may also have a method ``missing``, which takes the id of an entry that is not in the catalog and returns the ``PackError`` that says
    why, such as that its server is down; ``None`` if the source does not know it.
    """

    async def run(self, entry_id: str, arguments: Mapping[str, Any], context: PackContext) -> Mapping[str, Any]:
        """Run an entry in the event loop of the caller; a deadline or an interrupt cancels it.

        :param arguments: plain data that is valid by the entry's input schema.
        :returns: data that can be encoded as JSON.
        :raises PackError: with a code of the closed set.
        """
        ...


@attrs.frozen(kw_only=True)
class Pack:
    """A unit of work.

    :ivar name: ``area.verb``; unique, contributing the same name again replaces the pack.
    :ivar description: one to three sentences; the first one is all that a small model sees.
    :ivar metadata: data for rankers and prompts, such as accepted inputs and example phrases.
    :ivar input_schema: JSON Schema of the input; validated before the handler runs.
    :ivar input_type: a class with ``from_dict`` and ``to_dict``: the handler receives its input as this type; a caller may
        pass such a value, which is not validated.
    :ivar output_schema: JSON Schema of the output; validated after the handler ran.
    :ivar run: the handler; takes the validated input and returns plain data or a ``PackOutput``. A ``TimeoutError`` becomes
        ``timeout``, and any exception other than ``PackError`` and ``CallFailed`` becomes ``handler_failed``.
    :ivar constraint: the ``Question.constraint`` of its question, for dry runs.
    :ivar chosen_in: the ``Question.chosen_in`` likewise.
    :ivar chosen_by_name: the ``Question.chosen_by_name`` likewise.
    :ivar is_listed: whether plans may use it.
    :ivar annotations: hints about its effects, as tools of MCP servers have them: ``readOnlyHint``, ``destructiveHint``,
        ``idempotentHint`` and ``openWorldHint``. What is not annotated as read-only may need a confirmation.
    :ivar options_type: an attrs class with defaults; the context has the table ``[packs.options.NAME]`` as this type.
    :ivar options_table: the ``NAME``; packs may share one.
    :ivar requires: names of options without which the pack cannot run; until they are configured, it is not listed.
    :ivar missing_programs: returns the programs that the pack needs and that are not installed, each with the command that installs it;
        takes the options. It is called when a deck decides what can run, not by a run.
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
    chosen_in: tuple[str, ...] = ()
    chosen_by_name: str = ""
    is_listed: bool = True
    order: int = 0
    annotations: Mapping[str, bool] = EMPTY
    options_type: type | None = None
    options_table: str = ""
    requires: tuple[str, ...] = ()
    missing_programs: Callable[[Any], Sequence[tuple[str, str]]] | None = None

    def to_entry(self, source: str) -> Entry:
        """Return the pack as a catalog entry."""
        data: dict[str, Any] = {"name": self.name, "description": self.description}
        if self.metadata:
            data["metadata"] = dict(self.metadata)
        if self.input_schema:
            data["input_schema"] = dict(self.input_schema)
        if self.annotations:
            data["annotations"] = dict(self.annotations)
        return Entry(EntryKind.PACK, self.name, data, source)
