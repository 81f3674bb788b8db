"""The cached prefix: the same to the byte for every request, whatever has to be trimmed, and nothing is lost by it."""

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Question, Tier
from helmdeck_core.context.composer import Composer
from helmdeck_testing import make_deck

MODEL = "openrouter/deepseek/deepseek-v3.2"
REQUESTS = [
    "draft a blog post about our launch",
    "translate this page into French, then send it to Jane",
    "compare the two contracts and list the differences",
    "",
    "x" * 2_500,
    "a \ud800 lone surrogate \x00 and more",
]


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    """Decks by the number of tools in the catalog; 0 is the example catalog."""
    folder = tmp_path_factory.mktemp("catalogs")
    made = {0: make_deck()}
    for count in (150, 300, 480, 1_500):
        tools = [
            {
                "name": f"{area}.tool_{n}",
                "description": f"Does job {n} of the {area} department. Takes a while. " + "Details follow. " * 12,
                "inputSchema": {"type": "object", "properties": {f"field_{k}": {"type": "string"} for k in range(6)}},
            }
            for n in range(count)
            for area in (("billing", "travel", "translate", "contracts")[n % 4],)
        ]
        file = folder / f"{count}.json"
        file.write_text(json.dumps(tools))
        made[count] = make_deck(catalog_sources=str(file))
    yield made
    for deck in made.values():
        deck.close()


def composed(deck, request, **fields):
    fields = {"supports_prefix_cache": True, "tier": Tier.B, "input_tokens": 128_000, **fields}
    budget = attrs.evolve(deck.budget(MODEL).budget, **fields)
    question = Question(caller="helmdeck.plan", task="plan", type=dict, request=request)
    return Composer(deck.runtime, deck._engine.library, {}).compose(question, budget)


CASES = [
    pytest.param(0, {"max_catalog_bytes": None, "tier": Tier.A}, "", id="no limit"),
    pytest.param(0, {"max_catalog_bytes": 22_000}, "", id="trimmed until it fits"),
    pytest.param(0, {"max_catalog_bytes": 10_000}, "described", id="descriptions of 70 entries"),
    pytest.param(0, {"max_catalog_bytes": 5_000}, "named", id="names of 70 entries"),
    pytest.param(150, {"max_catalog_bytes": 22_000}, "described", id="descriptions of 150 entries"),
    pytest.param(300, {"max_catalog_bytes": 22_000}, "described", id="short descriptions of 300 entries"),
    pytest.param(480, {"max_catalog_bytes": 22_000}, "named", id="names of 480 entries"),
    pytest.param(1_500, {"max_catalog_bytes": 22_000}, None, id="1,500 entries do not fit"),
    pytest.param(300, {"max_catalog_bytes": None, "tier": Tier.A, "input_tokens": 14_000}, "described", id="window"),
]


@pytest.mark.parametrize(("count", "fields", "form"), CASES)
def test_the_system_message_is_the_same_to_the_byte_for_every_request(decks, count, fields, form):
    prompts = [composed(decks[count], request, **fields) for request in REQUESTS]
    systems = {prompt.messages[0].text.encode() for prompt in prompts}
    assert len(systems) == 1
    indexes = {prompt.selection.index.form if prompt.selection.index else "" for prompt in prompts}
    assert indexes == {form or ""}
    if form is not None:
        assert '{"packs":' in prompts[0].messages[0].text
    for request, prompt in zip(REQUESTS, prompts, strict=True):
        assert [part.ends_prefix for part in prompt.messages[0].parts] == [True]
        assert not request or request[:20].encode("utf-8", "replace").decode() in prompt.messages[1].text


@given(st.text(max_size=600))
def test_no_request_can_change_the_prefix(decks, text):
    for count, cap in ((0, 10_000), (0, 22_000), (150, 22_000)):
        one, other = (composed(decks[count], each, max_catalog_bytes=cap) for each in (text, REQUESTS[0]))
        assert one.messages[0] == other.messages[0]
        one.messages[1].text.encode()


@pytest.mark.parametrize(("count", "fields", "form"), [case for case in CASES if case.values[2]])
def test_prefix_and_tail_contain_the_whole_selection_within_the_cap(decks, count, fields, form):
    for request in REQUESTS:
        prompt = composed(decks[count], request, **fields)
        selection = prompt.selection
        without = composed(decks[count], request, **{**fields, "supports_prefix_cache": False}).selection
        index = json.loads(selection.index.text)
        assert {entry.id for entry in without.entries} <= {*index["packs"], *index["pipelines"]}
        assert all(selection.shows(entry.id) for entry in decks[count].catalog.entries)
        assert len(selection.index.text.encode()) + len(selection.text.encode()) == selection.record.after_bytes
        assert selection.record.after_bytes <= selection.cap
        if cap := fields["max_catalog_bytes"]:
            assert selection.cap == cap
        assert f"prefix_index({form})" in selection.record.dropped
        best = [score.id for score in selection.ranking.scores if score.score > 0][:2]
        assert set(best) <= {entry.id for entry in selection.entries}
        size = sum(len(message.text.encode()) for message in prompt.messages)
        assert size <= prompt.budget.input_tokens * 3


@pytest.mark.parametrize("cap", [10_000, 5_000])
def test_an_index_never_loses_what_the_dispatch_graph_needs(decks, cap):
    index = json.loads(composed(decks[0], "x", max_catalog_bytes=cap).selection.index.text)
    for entry in decks[0].catalog.pipelines:
        row = index["pipelines"][entry.id]
        assert tuple(row["supersedes"] if isinstance(row, dict) else ()) == entry.supersedes
    assert list(index["packs"]) == [entry.id for entry in decks[0].catalog.packs]


def test_index_descriptions_are_shortened_before_they_are_dropped(decks):
    lengths = {}
    for cap in (12_000, 10_000, 7_000, 5_000):
        packs = json.loads(composed(decks[0], "x", max_catalog_bytes=cap).selection.index.text)["packs"]
        lengths[cap] = max(map(len, packs.values())) if isinstance(packs, dict) else 0
    assert lengths[12_000] > lengths[7_000] >= 30 > lengths[5_000] == 0
    assert list(lengths.values()) == sorted(lengths.values(), reverse=True)


def test_tier_c_gets_no_index_by_default(decks):
    weak = {"max_catalog_bytes": 10_000, "tier": Tier.C}
    assert composed(decks[0], "x", **weak).selection.index is None
    with make_deck(config={"selection": {"tiers": {"C": {"prefix_index": True}}}}) as deck:
        assert composed(deck, "x", **weak).selection.index is not None
    with make_deck(config={"selection": {"models": {MODEL: {"prefix_index": False}}}}) as deck:
        assert composed(deck, "x", max_catalog_bytes=10_000).selection.index is None


def test_no_filter_call_where_the_prefix_describes_every_entry(decks):
    for count, expected in ((300, "describes every entry"), (480, "unsure"), (1_500, "unsure")):
        prompt = composed(decks[count], "do several jobs", max_catalog_bytes=22_000, allows_llm_filter=True)
        assert expected in prompt.filter_reason
        assert (prompt.filter_model is None) == (count == 300)


def test_shortlist_length_is_configurable():
    for most in (0, 3):
        with make_deck(config={"selection": {"models": {"openai/": {"shortlist": most}}}}) as deck:
            assert len(composed(deck, REQUESTS[0], max_catalog_bytes=None, model="openai/x").task.shortlist) == most


def test_index_entry_does_not_count_as_unseen(answering):
    reply = '{"steps":[{"tool":"web.crawl","args":{},"rationale":"r"}],"reasoning":"x"}'
    deck, _ = answering(reply, config={"budgets": {MODEL: {"max_catalog_bytes": 10_000}}})
    plan = deck.plan("draft a blog post", model=MODEL)
    assert plan.unseen_tools == () and plan.compaction.left_out > 0
