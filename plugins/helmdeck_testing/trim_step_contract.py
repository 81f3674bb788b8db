"""The contract test suite for trim steps: subclass ``TrimStepContract`` in a test file, and pytest runs it.

::

    class TestExamples(TrimStepContract):
        plugin = acme_trim
        name = "acme.examples[]"
        trims = ({"name": "a.b", "metadata": {"examples": ["one", "two"]}},)
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from helmdeck_core import Catalog, Entry, EntryData, EntryKind, TrimStep
from helmdeck_testing.deck_factory import make_deck, unless_built_in

ODD: Sequence[EntryData] = (
    {"name": "a"},
    {"name": "a", "description": ""},
    {"name": "a", "metadata": {}},
    {"name": "a", "metadata": {"intent_keywords": None, "limitations": 3, "examples": "text", "x": [{"y": [1]}]}},
    {"name": "a", "input_schema": {}, "output_schema": {"type": "object"}},
    {"name": "a", "input_schema": {"properties": {"b": True}, "required": "b", "$defs": {"c": {"$ref": "#/$defs/c"}}}},
    {"name": "a", "inputs": [], "steps": "none", "outputs": None, "examples": [], "x-extra": {"y": 1}},
)
"""Entries with missing, empty and unusual values."""


class TrimStepContract:
    """The contract test suite for trim steps.

    :cvar plugin: the plugin that contributes the step.
    :cvar name: the name of the step.
    :cvar trims: data of entries that the step makes smaller, at least one. An entry with ``name`` is a pack, one with
        ``id`` alone is a pipeline.
    :cvar untouched: data of entries that the step returns as they are.
    """

    plugin: ClassVar[Any]
    name: ClassVar[str]
    trims: ClassVar[Sequence[EntryData]]
    untouched: ClassVar[Sequence[EntryData]] = ({"name": "bare"},)

    def test_entry_with_the_trimmed_part_becomes_smaller(self) -> None:
        assert self.trims, "give one entry at least that the step makes smaller"
        for data in self.trims:
            assert _size(self.trimmed(data)) < _size(data)

    def test_entry_without_the_trimmed_part_is_returned_as_the_same_object(self) -> None:
        for data in self.untouched:
            assert self.trimmed(data) is data, "a copy would be counted as trimmed"

    def test_no_entry_becomes_larger(self) -> None:
        for data in self._every:
            assert _size(self.trimmed(data)) <= _size(data)

    def test_name_id_and_supersedes_are_kept(self) -> None:
        for data in self._every:
            trimmed = self.trimmed(data)
            assert [trimmed.get(key) for key in ("name", "id")] == [data.get(key) for key in ("name", "id")]
            assert _entry(trimmed).supersedes == _entry(data).supersedes

    def test_input_is_not_changed(self) -> None:
        for data in self._every:
            before = copy.deepcopy(data)
            self.trimmed(data)
            assert data == before

    def test_result_depends_on_the_entry_alone(self) -> None:
        forwards = [self.trimmed(data) for data in self._every]
        backwards = [self.trimmed(copy.deepcopy(data)) for data in reversed(self._every)]
        assert forwards == backwards[::-1]

    def test_second_application_changes_nothing(self) -> None:
        for data in self._every:
            once = self.trimmed(data)
            assert self._step.trim(_entry(data), once) is once

    def test_result_is_json(self) -> None:
        for data in self._every:
            trimmed = self.trimmed(data)
            assert json.loads(json.dumps(trimmed)) == trimmed

    def test_step_has_a_summary(self) -> None:
        assert self._step.summary.strip(), "`helmdeck catalog compact` shows it"

    def test_deck_trims_with_it(self) -> None:
        with make_deck(*unless_built_in(self.plugin)) as deck:
            assert self.name in deck.runtime.contributed(TrimStep)

    # -- how it is run -------------------------------------------------------------------------------------

    def trimmed(self, data: EntryData) -> EntryData:
        """Apply the step to an entry that no other step has trimmed."""
        return self._step.trim(_entry(data), data)

    @property
    def _step(self) -> TrimStep:
        step = next((each for each in self.plugin.helmdeck_trim_steps() if each.name == self.name), None)
        assert step is not None, f"the plugin contributes no trim step {self.name!r}"
        return step  # type: ignore[no-any-return]

    @property
    def _every(self) -> Sequence[EntryData]:
        return (*self.trims, *self.untouched, *ODD, *_example_entries())


@functools.cache
def _example_entries() -> Sequence[EntryData]:
    with make_deck() as deck:
        catalog: Catalog = deck.catalog
        return [entry.data for entry in catalog.entries]


def _entry(data: EntryData) -> Entry:
    kind = EntryKind.PACK if "name" in data and "id" not in data else EntryKind.PIPELINE
    return Entry(kind, str(data.get("id") or data.get("name")), data, "test")


def _size(data: Mapping[str, Any]) -> int:
    return len(json.dumps(data).encode())
