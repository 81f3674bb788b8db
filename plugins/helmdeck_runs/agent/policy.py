"""Decides which steps run without a confirmation: by the configuration and the annotations of entries, by nothing else.

Neither arguments nor texts of models, documents or tools have any influence here.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import Catalog, Entry, EntryKind

MAX_DEPTH = 8


class Decision(enum.StrEnum):
    """What happens before a step."""

    ALLOW = "allow"
    CONFIRM = "confirm"
    DENY = "deny"


@attrs.frozen
class Ruling:
    """The decision about one entry.

    :ivar reason: for the report, such as ``read-only``.
    """

    decision: Decision
    reason: str


@attrs.frozen
class Policy:
    """The policy of a run.

    :ivar rules: decisions by id of an entry, or by its start followed by ``*``; the longest one applies.
    """

    catalog: Catalog
    rules: Mapping[str, str]

    def ruling(self, entry_id: str) -> Ruling:
        """Return the decision about an entry."""
        if (rule := self._rule(entry_id)) is not None:
            return Ruling(Decision(self.rules[rule]), f"policy {rule!r}")
        entry = self.catalog.get(entry_id)
        if entry is None:
            return Ruling(Decision.CONFIRM, "not in the catalog, so its effect is unknown")
        if entry.kind is EntryKind.PIPELINE:
            return self._pipeline(entry, MAX_DEPTH)
        return _by_annotations(entry)

    def _rule(self, entry_id: str) -> str | None:
        fitting = [
            rule for rule in self.rules if rule == entry_id or (rule.endswith("*") and entry_id.startswith(rule[:-1]))
        ]
        return max(fitting, key=lambda rule: (rule == entry_id, len(rule)), default=None)

    def _pipeline(self, pipeline: Entry, levels: int) -> Ruling:
        """A pipeline is what the most dangerous of its steps is."""
        steps = pipeline.data.get("steps") or pipeline.metadata.get("steps")
        if not isinstance(steps, (list, tuple)) or not steps or levels == 0:
            return Ruling(Decision.CONFIRM, "a pipeline whose steps are unknown")
        rulings = [self._pipeline_step(step, levels) for step in steps]
        for decision in (Decision.DENY, Decision.CONFIRM):
            if found := next((each for each in rulings if each.decision is decision), None):
                return Ruling(decision, f"a step of the pipeline: {found.reason}")
        return Ruling(Decision.ALLOW, "a pipeline whose steps are read-only")

    def _pipeline_step(self, step: Any, levels: int) -> Ruling:
        name = step.get("pack") if isinstance(step, Mapping) else step
        if not isinstance(name, str):
            return Ruling(Decision.CONFIRM, "a step without a pack")
        entry = self.catalog.get(name)
        if entry is not None and entry.kind is EntryKind.PIPELINE and self._rule(name) is None:
            return self._pipeline(entry, levels - 1)
        return self.ruling(name)


def _by_annotations(entry: Entry) -> Ruling:
    hints = entry.data.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    if hints.get("destructiveHint") is True:
        return Ruling(Decision.CONFIRM, "annotated as destructive")
    if hints.get("readOnlyHint") is True:
        return Ruling(Decision.ALLOW, "annotated as read-only")
    return Ruling(Decision.CONFIRM, "not annotated as read-only")
