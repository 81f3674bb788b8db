"""Pipelines, and runs: programs whose finished steps are recorded, so that another process can go on with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

import attrs

COSTS: ContextVar[list[float | None] | None] = ContextVar("helmdeck_costs", default=None)
"""Receives the US dollars of every model call of packs, where a list is set; ``None`` if a price is unknown."""


@attrs.frozen(kw_only=True)
class Pipeline:
    """A declared pipeline, which becomes a catalog entry.

    :ivar name: the id of the entry.
    :ivar data: the other keys of the entry: ``description``, ``steps``, ``inputs``, ``outputs``, ``metadata``.
    """

    name: str
    data: Mapping[str, Any]
    order: int = 0


@attrs.frozen(kw_only=True)
class RunProgram:
    """What runs of one kind execute.

    :ivar name: the ``kind`` of its runs.
    :ivar run: takes the ``Run``, its ``RunSteps`` and its ``RunContext``, which ``helmdeck_run_kit`` describes; returns data
        that JSON can represent. It is deterministic between two steps: a process that goes on with a run starts the program
        again, and recorded steps return their results.
    """

    name: str
    run: Callable[..., Awaitable[Any]]
    order: int = 0


@attrs.frozen(kw_only=True)
class RunSetup:
    """What a run engine is opened with.

    :ivar url: the database of the records; ``None`` keeps them in memory.
    :ivar options: the other settings of ``[runs]``.
    :ivar programs: the contributed programs by name.
    :ivar run: runs a pack or an entry; takes the parameters of ``Helmdeck.arun``.
    :ivar catalog: returns the catalog of the deck.
    """

    url: str | None = attrs.field(repr=False)
    options: Mapping[str, Any]
    programs: Mapping[str, RunProgram]
    run: Callable[..., Awaitable[Any]] = attrs.field(repr=False)
    catalog: Callable[[], Any] = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class RunEngineSpec:
    """A way to execute runs; ``[runs] engine`` chooses one by name.

    :ivar open: opens a ``helmdeck_run_kit.RunEngine`` at its first use.
    """

    name: str
    open: Callable[[RunSetup], Any]
    summary: str = ""
    order: int = 0
