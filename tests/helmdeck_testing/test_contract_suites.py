"""The contract suites pass for sound plugins, and each defect fails the matching test."""

import copy
import sys
from pathlib import Path

import attrs
import pytest

import helmdeck_testing
from helmdeck_core import EventSink, LazyScores, Pack, Ranker, Ranking, Score, TrimStep
from helmdeck_selection import lexical
from helmdeck_selection import trim_steps as trim
from helmdeck_telemetry import log
from helmdeck_testing import plugin_with

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs" / "examples"))
import acme_commands
import acme_ranker
import acme_trim
import ticket_pack

from tests.case_support import each_case

sys.path.pop()

PackContract = helmdeck_testing.PackContract
RankerContract = helmdeck_testing.RankerContract
TrimStepContract = helmdeck_testing.TrimStepContract
CommandContract = helmdeck_testing.CommandContract
EventSinkContract = helmdeck_testing.EventSinkContract

TICKET = {"text": "The invoice was charged twice."}
EXAMPLES = {"name": "a.b", "metadata": {"examples": ["one", "two"], "supersedes": ["c.d"]}}


class TestTicketPack(PackContract):
    plugin = ticket_pack
    name = "ticket.triage"
    inputs = (TICKET,)
    replies = ('{"queue": "billing", "urgency": 2, "summary": "Charged twice."}',)


class TestSharedWords(RankerContract):
    plugin = acme_ranker
    name = "shared-words"


class TestLexical(RankerContract):
    plugin = lexical
    name = "lexical"


class TestExamples(TrimStepContract):
    plugin = acme_trim
    name = "acme.examples[]"
    trims = (EXAMPLES,)


class TestFirstSentence(TrimStepContract):
    plugin = trim
    name = "description.firstSentence"
    trims = ({"name": "a", "description": "Read the tide. Then write it down."},)


class TestSync(CommandContract):
    plugin = acme_commands
    command = "acme sync"
    arguments = ("--limit", "2")


class TestLog(EventSinkContract):
    plugin = log
    name = "log"


# -- defects ---------------------------------------------------------------------------------------------------


def failing(contract, test, *arguments, **fields):
    """Whether a test of a contract fails for a plugin."""
    suite = type("Defective", (contract,), fields)()
    try:
        getattr(suite, test)(*arguments)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


async def echo(context, arguments):
    return {"words": len(arguments["text"].split())}


async def crashes(context, arguments):
    return {"words": len(arguments["text"].split()) // bool(arguments["text"].strip())}


async def changes(context, arguments):
    arguments["text"] += " and more"
    return {"words": 1}


async def wrong(context, arguments):
    return {"words": "two"}


TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
WORDS = {"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]}
SOUND = Pack(name="a.count", version="1", description="Count.", run=echo, input_schema=TEXT, output_schema=WORDS)


@pytest.mark.parametrize(
    ("change", "test", "arguments"),
    [
        ({"name": "Count"}, "test_name_has_an_area_and_a_verb", ()),
        ({"description": "Counts " + "many " * 60}, "test_description_starts_with_a_short_sentence", ()),
        ({"version": ""}, "test_version_is_given", ()),
        ({"output_schema": {}}, "test_schemas_are_valid_and_describe_objects", ()),
        ({"input_schema": {**TEXT, "properties": {"text": {}}}}, "test_every_input_property_has_a_type", ()),
        ({"metadata": {"accepts": ("text",)}}, "test_catalog_entry_is_json_and_listed_packs_are_in_the_catalog", ()),
        ({"run": changes}, "test_input_is_not_changed", ()),
        ({"input_schema": {**TEXT, "additionalProperties": True}}, "test_unknown_property_is_invalid_input", ()),
        ({"run": crashes}, "test_hostile_string_gives_output_or_a_failure_of_the_pack", ("whitespace",)),
        ({"run": wrong}, "test_hostile_string_gives_output_or_a_failure_of_the_pack", ("path",)),
    ],
)
def test_defect_of_a_pack_is_detected(change, test, arguments):
    for pack, fails in ((SOUND, False), (attrs.evolve(SOUND, **change), True)):
        plugin = plugin_with(helmdeck_packs=[pack])
        fields = {"plugin": plugin, "name": pack.name, "inputs": ({"text": "two words"},)}
        assert failing(PackContract, test, *arguments, **fields) is fails


class Index:
    """A sound index, whose defects are in subclasses."""

    def __init__(self, catalog):
        self.entries = catalog.entries
        self.inner = acme_ranker.SharedWords(catalog)

    def rank(self, request):
        return self.inner.rank(request)


class Incomplete(Index):
    def rank(self, request):
        return Ranking(tuple(super().rank(request).scores)[:10])


class Unsorted(Index):
    def rank(self, request):
        return Ranking(tuple(super().rank(request).scores)[::-1])


class Negative(Index):
    def rank(self, request):
        return Ranking(tuple(Score(each.index, each.id, -1.0) for each in super().rank(request).scores))


class ByPosition(Index):
    def rank(self, request):
        return Ranking(
            LazyScores([each.id for each in self.entries], {index: index + 1.0 for index in range(len(self.entries))})
        )


class Forgetful(Index):
    def rank(self, request):
        self.entries = self.entries[1:]
        return self.inner.__class__(type("C", (), {"entries": self.entries})).rank(request)


class Careless(Index):
    def __init__(self, catalog):
        super().__init__(catalog)
        for entry in self.entries:
            entry.data["seen"] = True


@each_case(
    ("index", "test", "arguments"),
    [
        (Incomplete, "test_every_entry_is_ranked_once_best_first_ties_by_id", ("plain",)),
        (Unsorted, "test_every_entry_is_ranked_once_best_first_ties_by_id", ("plain",)),
        (Negative, "test_every_entry_is_ranked_once_best_first_ties_by_id", ("empty",)),
        (ByPosition, "test_order_of_the_catalog_does_not_matter", ()),
        (ByPosition, "test_description_of_an_entry_finds_the_entry", ()),
        (Forgetful, "test_ranking_is_deterministic", ()),
        (Careless, "test_catalog_is_not_changed", ()),
    ],
)
def test_defect_of_a_ranker_is_detected(index, test, arguments):
    for kind, fails in ((Index, False), (index, True)):
        plugin = plugin_with(helmdeck_rankers=[Ranker(name="r", index=kind)])
        assert failing(RankerContract, test, *arguments, plugin=plugin, name="r") is fails


def copies(entry, data):
    return dict(acme_trim.without_examples(entry, data))


def grows(entry, data):
    return {**acme_trim.without_examples(entry, data), "trimmed": True}


def renames(entry, data):
    return {**data, "name": "a"} if "examples" in data.get("metadata", {}) else data


def pops(entry, data):
    if isinstance(data.get("metadata"), dict):
        data["metadata"].pop("examples", None)
    return data


def one_by_one(entry, data):
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("examples"), list) or not metadata["examples"]:
        return data
    return {**data, "metadata": {**metadata, "examples": metadata["examples"][1:]}}


@each_case(
    ("step", "test"),
    [
        (copies, "test_entry_without_the_trimmed_part_is_returned_as_the_same_object"),
        (grows, "test_no_entry_becomes_larger"),
        (renames, "test_name_id_and_supersedes_are_kept"),
        (pops, "test_input_is_not_changed"),
        (one_by_one, "test_second_application_changes_nothing"),
        (lambda entry, data: data, "test_entry_with_the_trimmed_part_becomes_smaller"),
    ],
)
def test_defect_of_a_trim_step_is_detected(step, test):
    def sound(entry, data):
        metadata = data.get("metadata")
        return acme_trim.without_examples(entry, data) if isinstance(metadata, dict) else data

    for trim_, fails in ((sound, False), (step, True)):
        plugin = plugin_with(helmdeck_trim_steps=[TrimStep(name="t", trim=trim_, summary="s")])
        fields = {"plugin": plugin, "name": "t", "trims": (copy.deepcopy(EXAMPLES),)}
        assert failing(TrimStepContract, test, **fields) is fails


def raises(event):
    raise ValueError("a fault of the sink")


def test_sink_that_raises_is_detected():
    for handle, fails in ((lambda event: None, False), (raises, True)):
        plugin = plugin_with(helmdeck_event_sinks=[EventSink(name="s", handle=handle)])
        assert (
            failing(EventSinkContract, "test_no_event_makes_the_sink_raise", "answer", plugin=plugin, name="s") is fails
        )
