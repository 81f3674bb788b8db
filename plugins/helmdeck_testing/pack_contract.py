"""The contract test suite for packs: subclass ``PackContract`` in a test file, and pytest runs it.

::

    class TestTriage(PackContract):
        plugin = ticket_pack
        name = "ticket.triage"
        inputs = ({"text": "The invoice was charged twice."},)
        replies = ('{"queue": "billing", "urgency": 2, "summary": "Charged twice."}',)

The model calls of the pack go to a scripted provider, which returns ``replies`` for each run.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import jsonschema
import pytest

from helmdeck_core import (
    CallFailed,
    Entry,
    HelmdeckError,
    Pack,
    PackError,
    PackErrorCode,
    schema_problems,
)
from helmdeck_core import Helmdeck as Deck
from helmdeck_testing.deck_factory import make_deck, unless_built_in
from helmdeck_testing.scripted import Item, ScriptedProvider, cut_json, empty_stop, scripted_provider

MODEL = "scripted/any"
FIRST_SENTENCE_BYTES = 200
"""A small model receives only the first sentence of a description."""

HOSTILE: Mapping[str, str] = {
    "empty": "",
    "whitespace": " \n\t",
    "control": "\x00\x1b[31m\x07",
    "scripts": "日本語 🚢 Ω \u202e",
    "path": "../../../../etc/passwd",
    "option": "--help",
    "shell": "$(exit 3); `id` | cat 'x' \"y\"",
    "template": "{{steps.a.b}} {% raw %} ${HOME} %s {0}",
    "long": "word " * 20_000,
}
"""Strings that a pack must accept or reject with a code, by name."""


class PackContract:
    """The contract test suite for packs.

    :cvar plugin: the plugin that contributes the pack.
    :cvar name: the name of the pack.
    :cvar inputs: valid inputs, at least one; every one is run.
    :cvar replies: the replies of the model for one run; empty for a pack that calls no model.
    :cvar config: the configuration of the deck.
    """

    plugin: ClassVar[Any]
    name: ClassVar[str]
    inputs: ClassVar[Sequence[Mapping[str, Any]]]
    replies: ClassVar[Sequence[Item]] = ()
    config: ClassVar[Mapping[str, Any]] = {}

    # -- the declaration -----------------------------------------------------------------------------------

    def test_name_has_an_area_and_a_verb(self) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+", self.name)

    def test_description_starts_with_a_short_sentence(self) -> None:
        first = self._pack.description.strip().partition(". ")[0]
        assert 0 < len(first.encode()) <= FIRST_SENTENCE_BYTES, "a small model receives the first sentence only"

    def test_version_is_given(self) -> None:
        assert self._pack.version.strip()

    def test_schemas_are_valid_and_describe_objects(self) -> None:
        for schema in (self._pack.input_schema, self._pack.output_schema):
            assert schema, "without a schema, a plan cannot be checked, and output is not validated"
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema.get("type") == "object"

    def test_every_input_property_has_a_type(self) -> None:
        for name, property_ in self._properties.items():
            typed = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} & property_.keys()
            assert typed, f"without a type, a model has to guess the value of {name}"

    def test_catalog_entry_is_json_and_listed_packs_are_in_the_catalog(self) -> None:
        entry = self._pack.to_entry("packs")
        assert isinstance(entry, Entry)
        assert json.loads(json.dumps(entry.data)) == entry.data
        with self._deck() as deck:
            assert (deck.catalog.get(self.name) is not None) is self._pack.is_listed

    # -- runs ----------------------------------------------------------------------------------------------

    def test_valid_input_gives_output_of_the_output_schema(self) -> None:
        assert self.inputs, "give one valid input at least"
        for arguments in self.inputs:
            assert not schema_problems(self._pack.input_schema, arguments, is_trusted=True)
            output = self.run(arguments)
            assert not schema_problems(self._pack.output_schema, output, is_trusted=True)
            json.dumps(output)

    def test_input_is_not_changed(self) -> None:
        for arguments in self.inputs:
            given = copy.deepcopy(arguments)
            self.run(given)
            assert given == arguments

    def test_concurrent_runs_do_not_affect_one_another(self) -> None:
        async def main() -> list[Mapping[str, Any]]:
            async with self._deck(count=4) as deck:
                runs = (deck.arun(self.name, self.inputs[0], model=MODEL) for _ in range(4))
                return list(await asyncio.gather(*runs))

        if len(self.replies) > 1:
            pytest.skip("the replies of several model calls cannot be assigned to concurrent runs")
        shapes = {tuple(output) for output in asyncio.run(main())}
        assert len(shapes) == 1

    # -- invalid input -------------------------------------------------------------------------------------

    def test_missing_property_is_invalid_input_that_names_it(self) -> None:
        for name in self._pack.input_schema.get("required", ()):
            arguments = {key: value for key, value in self.inputs[0].items() if key != name}
            self._assert_invalid(arguments, name)

    def test_value_of_a_wrong_type_is_invalid_input_that_names_its_property(self) -> None:
        for name, property_ in self._properties.items():
            values: Sequence[object] = ([{}], 1.5, "x")
            for value in values:
                if schema_problems(property_, value, is_trusted=True):
                    self._assert_invalid({**self.inputs[0], name: value}, name)

    def test_unknown_property_is_invalid_input(self) -> None:
        assert self._pack.input_schema.get("additionalProperties") is False, (
            "set additionalProperties to false: a misspelt optional argument would be ignored silently"
        )
        self._assert_invalid({**self.inputs[0], "no_such_property": 1}, "no_such_property")

    @pytest.mark.parametrize("kind", HOSTILE)
    def test_hostile_string_gives_output_or_a_failure_of_the_pack(self, kind: str) -> None:
        for name, property_ in self._properties.items():
            if property_.get("type") == "string":
                try:
                    self.run({**self.inputs[0], name: HOSTILE[kind]})
                except HelmdeckError as exc:
                    self._assert_deliberate(exc)

    # -- failures of the model -----------------------------------------------------------------------------

    @pytest.mark.parametrize("reply", [cut_json(), empty_stop(), "no JSON at all"], ids=["truncated", "empty", "prose"])
    def test_unusable_reply_is_a_failure_and_never_an_output_without_a_finding(self, reply: Item) -> None:
        if not self.replies:
            pytest.skip("the pack calls no model")
        try:
            output = self.run(self.inputs[0], replies=[reply] * 8)
        except HelmdeckError as exc:
            self._assert_deliberate(exc)
        else:
            assert output.get("findings") or isinstance(reply, str), (
                "a pack that replaces a reply reports it in findings"
            )

    # -- how it is run -------------------------------------------------------------------------------------

    def run(self, arguments: Mapping[str, Any], replies: Sequence[Item] | None = None) -> Mapping[str, Any]:
        """Run the pack in a deck of its own."""
        with self._deck(replies) as deck:
            return deck.run(self.name, arguments, model=MODEL)

    def _deck(self, replies: Sequence[Item] | None = None, count: int = 1) -> Deck:
        script: ScriptedProvider = scripted_provider(list(self.replies) * count if replies is None else replies)
        once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
        return make_deck(*unless_built_in(self.plugin), script, config={**once, **self.config})

    @property
    def _pack(self) -> Pack:
        contributed: Iterator[Pack] = (pack for pack in self.plugin.helmdeck_packs() if pack.name == self.name)
        pack = next(contributed, None)
        assert pack is not None, f"the plugin contributes no pack {self.name!r}"
        return pack

    @property
    def _properties(self) -> Mapping[str, Mapping[str, Any]]:
        return self._pack.input_schema.get("properties", {})  # type: ignore[no-any-return]

    def _assert_invalid(self, arguments: Mapping[str, Any], name: str) -> None:
        with pytest.raises(PackError) as caught:
            self.run(arguments, replies=())
        assert caught.value.code is PackErrorCode.INVALID_INPUT
        assert name in caught.value.detail

    def _assert_deliberate(self, exc: HelmdeckError) -> None:
        """A failure that the pack or a model call raised, not an exception of its code."""
        if isinstance(exc, CallFailed):
            return
        assert isinstance(exc, PackError), f"not a failure of a pack: {exc!r}"
        is_crash = exc.code is PackErrorCode.HANDLER_FAILED and exc.__cause__ is not None
        assert not is_crash, f"the handler raised {exc.__cause__!r}"
        assert exc.code is not PackErrorCode.INVALID_OUTPUT, str(exc)
