"""Cases of the attack suite: how they are declared, what they may take, and their verdicts."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar

import attrs

T = TypeVar("T")

Kind = Literal["held", "degraded", "broken"]
KINDS: tuple[Kind, ...] = ("held", "degraded", "broken")

GROUPS = (
    "door",
    "smuggling",
    "bodies",
    "budgets",
    "upstream",
    "tools",
    "packs",
    "plugins",
    "stores",
    "process",
    "secrets",
)
"""The groups, in the order in which they run; each has a module of its name."""


@attrs.frozen
class Verdict:
    """The outcome of a case.

    :ivar kind: ``held``: the promise was kept; ``degraded``: kept, with a visible loss; ``broken``: not kept.
    :ivar reason: what was observed.
    """

    kind: Kind
    reason: str


def held(reason: str) -> Verdict:
    """The promise was kept."""
    return Verdict("held", reason)


def degraded(reason: str) -> Verdict:
    """The promise was kept, with a visible loss."""
    return Verdict("degraded", reason)


def broken(reason: str) -> Verdict:
    """The promise was not kept."""
    return Verdict("broken", reason)


def worst(*verdicts: Verdict) -> Verdict:
    """The worst verdict; the first one of several of the same kind."""
    return max(verdicts, key=lambda verdict: KINDS.index(verdict.kind))


@attrs.define
class Stage:
    """What the cases of a group share within one process.

    :ivar is_quick: large sizes and counts are reduced.
    :ivar folder: an empty folder, which is the home of all processes.
    """

    is_quick: bool
    folder: Path
    _stack: ExitStack = attrs.field(factory=ExitStack)
    _open: dict[Any, Any] = attrs.field(factory=dict)

    def sized(self, full: int, quick: int) -> int:
        """A size or a count of a full or a quick run."""
        return quick if self.is_quick else full

    def use(self, make: Callable[[Stage], contextlib.AbstractContextManager[T]]) -> T:
        """Open a resource at its first use; the same one is returned afterwards."""
        if make not in self._open:
            self._open[make] = self._stack.enter_context(make(self))
        found: T = self._open[make]
        return found

    def new_folder(self) -> Path:
        """Make an empty folder."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def close(self) -> None:
        """Close all resources."""
        self._open.clear()
        self._stack.close()


Run = Callable[[Stage], Verdict]


@attrs.frozen
class Case:
    """One attack.

    :ivar name: the attack in a few words; unique within its group.
    :ivar reference: where the attack is described outside of the project; empty if nowhere.
    :ivar deadline_s: seconds after which its process is killed and the case counts as broken.
    """

    group: str
    name: str
    run: Run
    reference: str = ""
    deadline_s: float = 30.0


def _bound(run: Callable[[Stage, Any], Verdict], value: Any) -> Run:
    return lambda stage: run(stage, value)


class Suite:
    """Collects the cases of a module."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.cases: list[Case] = []

    def case(self, name: str, *, reference: str = "", deadline_s: float = 30.0) -> Callable[[Run], Run]:
        """Add a function as a case."""

        def add(run: Run) -> Run:
            self.cases.append(Case(self.group, name, run, reference, deadline_s))
            return run

        return add

    def each(
        self, rows: Mapping[str, Any], *, reference: str = "", deadline_s: float = 30.0
    ) -> Callable[[Callable[[Stage, Any], Verdict]], Callable[[Stage, Any], Verdict]]:
        """Add a function as one case per row: its name and the second argument."""

        def add(run: Callable[[Stage, Any], Verdict]) -> Callable[[Stage, Any], Verdict]:
            for name, value in rows.items():
                self.cases.append(Case(self.group, name, _bound(run, value), reference, deadline_s))
            return run

        return add
