"""The outcome for each setting of an imported configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from helmdeck_gateway.imports.yaml_source import Place, YamlSource, shown

Outcome = Literal["carried over", "approximated", "built in", "action needed", "left out"]
"""``built in``: Helmdeck always does it; ``action needed``: the operator has to set something, such as a secret."""


@attrs.frozen(kw_only=True)
class Finding:
    """The outcome for one setting.

    :ivar note: how it is set now, why not, or what to do; it has no secret.
    """

    line: int
    setting: str
    outcome: Outcome
    note: str

    @property
    def comment(self) -> str:
        """The finding as a line of text."""
        return f"line {self.line}, {self.setting}: {self.outcome}" + (f"; {self.note}" if self.note else "")

    def data(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return attrs.asdict(self)


class Findings:
    """The outcomes for the settings of a file."""

    def __init__(self, source: YamlSource) -> None:
        self.source = source
        self._rows: dict[Place, tuple[Outcome, str]] = {}

    def add(self, place: Place, outcome: Outcome, note: str = "") -> None:
        """Note the outcome for a value, or for all values of a table or list that have none of their own."""
        self._rows[place] = outcome, note

    def __contains__(self, place: Place) -> bool:
        return place in self._rows

    def all(self) -> Sequence[Finding]:
        """Return one finding for each value of the file, in its order; without a known outcome, a value is left out."""
        found: dict[Place, Finding] = {}
        for leaf in self.source.leaves:
            places = (leaf[:size] for size in range(len(leaf), -1, -1))
            place = next((each for each in places if each in self._rows), leaf)
            outcome, note = self._rows.get(place, ("left out", "Helmdeck has no such setting"))
            found.setdefault(
                place, Finding(line=self.source.lines[place], setting=shown(place), outcome=outcome, note=note)
            )
        repeated = (
            Finding(
                line=line,
                setting=shown(place),
                outcome="left out",
                note=f"line {self.source.lines[place]} has the same key again, and its value is valid",
            )
            for place, line in self.source.repeated
        )
        return tuple(sorted((*found.values(), *repeated), key=lambda each: each.line))
