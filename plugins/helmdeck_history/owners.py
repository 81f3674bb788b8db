"""The owner of a record in the store: the caller, within a project where the configuration names one."""

from __future__ import annotations

from typing import TypeVar

import attrs

from helmdeck_core import PlanRecord
from helmdeck_history.store_types import Fact

R = TypeVar("R", PlanRecord, Fact)


@attrs.frozen
class Owners:
    """Converts between callers and the names under which the store keeps their records.

    :ivar project: the project; empty keeps the names of the callers.
    """

    project: str = ""

    def owner(self, caller: str) -> str:
        """Return the name that the store has for a caller."""
        return f"{caller}@{self.project}" if self.project else caller

    def caller(self, owner: str) -> str:
        """Return the caller of a name in the store."""
        return owner.removesuffix(f"@{self.project}") if self.project else owner

    def to_store(self, item: R) -> R:
        """Return a record or fact as the store keeps it."""
        return _with_caller(item, self.owner(item.caller)) if self.project else item

    def from_store(self, item: R) -> R:
        """Return a record or fact of the store with its caller."""
        return _with_caller(item, self.caller(item.caller)) if self.project else item


def _with_caller(item: R, caller: str) -> R:
    return attrs.evolve(item, caller=caller)
