"""What a run works with: recorded steps, and a context that runs packs. Run engines implement the same two interfaces."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core import CallLimits, Catalog, Helmdeck, HelmdeckError

NO_LIMITS = CallLimits()


class RunSteps(Protocol):
    """Executes the parts of one run, and records their results."""

    async def run(self, step_id: str, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Return the recorded result of a part; without one, await ``function(*arguments)`` and record its result."""
        ...


class PackOutcome(Protocol):
    """How a pack ended: its output, or the error; US dollars, ``None`` if a price is unknown; seconds."""

    @property
    def output(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def error(self) -> Exception | None: ...  # noqa: D102
    @property
    def cost_usd(self) -> float | None: ...  # noqa: D102
    @property
    def duration_s(self) -> float: ...  # noqa: D102


class RunContext(Protocol):
    """The deck of a run."""

    @property
    def catalog(self) -> Catalog:
        """The catalog of the deck."""
        ...

    async def run_pack(self, name: str, arguments: Mapping[str, Any], limits: CallLimits = ...) -> PackOutcome:
        """Run a pack or an entry; failures are returned, not raised."""
        ...

    def progress(self, message: str, /) -> None:
        """Report progress."""
        ...


class MemorySteps:
    """Records results in memory.

    :ivar record: results by id; those of an earlier run are given.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = dict(record)

    async def run(self, step_id: str, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Return a recorded result, or record a new one."""
        if step_id not in self.record:
            self.record[step_id] = await function(*arguments)
        return self.record[step_id]


@attrs.frozen(kw_only=True)
class _Outcome:
    output: Mapping[str, Any] = attrs.field(factory=dict)
    error: Exception | None = None
    cost_usd: float | None = 0.0
    duration_s: float = 0.0


@attrs.frozen
class DeckContext:
    """Runs packs with a deck, as a caller."""

    deck: Helmdeck
    model: str | None
    caller: str
    progress: Callable[[str], None]

    @property
    def catalog(self) -> Catalog:
        """The catalog of the deck."""
        return self.deck.catalog

    async def run_pack(self, name: str, arguments: Mapping[str, Any], limits: CallLimits = NO_LIMITS) -> PackOutcome:
        """Run a pack or an entry; the cost is reported by its output."""
        start_s = time.monotonic()
        try:
            output = await self.deck.arun(
                name, arguments, model=self.model, caller=self.caller, progress=self.progress, limits=limits
            )
        except HelmdeckError as exc:
            cost = getattr(exc, "cost_usd", None)
            return _Outcome(error=exc, cost_usd=cost or 0.0, duration_s=time.monotonic() - start_s)
        cost = output.get("cost_usd")
        return _Outcome(
            output=output,
            cost_usd=float(cost) if isinstance(cost, (int, float)) else 0.0,
            duration_s=time.monotonic() - start_s,
        )
