"""Pipelines, and runs: programs whose finished steps are recorded, so that another process can continue them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

import attrs

COSTS: ContextVar[list[float | None] | None] = ContextVar("helmdeck_costs", default=None)
"""Receives the US dollars of the answers to packs, where a list is set; ``None`` if a price is unknown."""


@attrs.frozen(kw_only=True)
class Pipeline:
    """A catalog entry; its other keys, such as ``description``, ``steps``, ``inputs`` and ``outputs``, are in ``data``."""

    name: str
    data: Mapping[str, Any]
    order: int = 0


@attrs.frozen(kw_only=True)
class RunProgram:
    """What runs of one kind execute; ``helmdeck_runs`` describes the types.

    :ivar name: the ``kind`` of its runs.
    :ivar run: takes ``Run``, ``RunSteps`` and ``RunContext``; returns data that JSON can represent. It is deterministic
        between steps: when another process continues a run, it starts again, and recorded steps return their results.
    """

    name: str
    run: Callable[..., Awaitable[Any]]
    order: int = 0


@attrs.frozen(kw_only=True)
class RunEngineSpec:
    """A way to execute runs; ``open`` takes the fields of ``helmdeck_runs.RunSetup`` by name, and returns a ``RunEngine``."""

    name: str
    open: Callable[..., Any]
    summary: str = ""
    order: int = 0
