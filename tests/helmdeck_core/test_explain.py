"""The request that would be sent, without a call: ``deck.explain``, ``helmdeck explain`` and ``helmdeck budgets --explain``."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import ContextWindowExceeded, InvalidRequest
from helmdeck_testing import make_deck
from tests.cli_support import Cli, leave_the_machine

FREE = "openrouter/openrouter/free"
FRONTIER = "openai/gpt-4o"
CACHED = "openrouter/deepseek/deepseek-v4-pro"
ASK = "draft a blog post about our launch and make an illustration"
GOOD = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"reasoning":"x"}'


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    return Cli(capsys)


@pytest.mark.parametrize("model", [FREE, FRONTIER, CACHED])
@pytest.mark.parametrize("cap", [None, 9_000])
def test_an_explanation_holds_the_very_messages_that_a_plan_sends(answering, model, cap):
    config = {"budgets": {model: {"max_catalog_bytes": cap}}} if cap else None
    deck, provider = answering(GOOD, config=config)
    found = deck.explain(ASK, model=model, context="c", defaults={"tone": "dry"})
    assert provider.requests == [], "no model was called"
    deck.plan(ASK, model=model, context="c", defaults={"tone": "dry"})
    assert found.messages == provider.requests[0].messages
    assert sum(part.size for part in found.parts) == sum(len(m.text.encode()) for m in found.messages)
    cached = sum(part.size for part in found.parts if part.is_cached)
    assert cached == sum(len(p.text.encode()) for m in found.messages for p in m.parts if p.ends_prefix)


def test_an_explanation_shows_score_matched_fields_and_form_of_every_entry(deck_with):
    deck = deck_with()
    found = deck.explain(ASK, model=FREE)
    wire = json.loads(json.dumps(found.to_dict()))
    assert len(wire["entries"]) == len(deck.catalog)
    best = wire["entries"][0]
    assert best["id"] == "blog.draft" and best["score"] > 0 and best["matched"] and best["form"] == "sent"
    assert {row["form"] for row in wire["entries"]} == {"sent", "left out"}
    assert (wire["was_ranked"], wire["is_confident"]) == (True, False)
    assert wire["filter"] == {"model": None, "reason": "for each part of the request one entry stands out"}
    unsure = deck.explain("write about our launch and make something of it", model=FREE).to_dict()
    assert unsure["filter"] == {"model": FREE, "reason": "the ranking is unsure"}


def test_entries_that_only_the_index_names_are_listed(deck_with):
    deck = deck_with(config={"budgets": {CACHED: {"max_catalog_bytes": 10_000}}})
    found = deck.explain(ASK, model=CACHED)
    assert {row["form"] for row in found.to_dict()["entries"]} == {"sent", "listed"}
    assert [part.name for part in found.parts] == ["instructions", "index", "details", "request"]


def test_what_cannot_be_sent_is_an_error_and_so_is_an_unknown_task(deck_with):
    deck = deck_with()
    with pytest.raises(ContextWindowExceeded):
        deck.explain("word " * 40_000, model=FREE)
    with pytest.raises(InvalidRequest, match="no prompt variant"):
        deck.explain(ASK, model=FREE, task="sing")


ANY_JSON = {"providers": {"openai": {"options": {"response_formats": ["json_object"]}}}}


@pytest.mark.parametrize(
    ("model", "config", "kind", "form"),
    [
        (FRONTIER, {}, "json_schema", "arguments"),
        ("anthropic/claude-sonnet-5", {}, "json_schema", "ids"),
        (FRONTIER, ANY_JSON, "json_object", None),
        ("anthropic/claude-3.7-sonnet", {}, "", None),
        (FREE, {}, "", None),
    ],
)
@pytest.mark.parametrize("task", ["plan", "route"])
def test_an_explanation_shows_the_constraint_on_the_answer(deck_with, model, config, kind, form, task):
    found = deck_with(config=config).explain(ASK, model=model, task=task)
    wire = found.to_dict()["constraint"]
    assert (wire["kind"], wire.get("form")) == (kind, form)
    if form:
        assert wire["ids"] == len(found.selection.catalog) == 70
        assert wire["bytes"] == len(msgspec.json.encode(found.constraint.schema)) > 2_000
    assert bool(wire.get("passed")) is (form == "ids")


def test_a_provider_that_does_not_say_what_it_makes_of_an_offer_leaves_that_open(answering):
    deck, _ = answering(GOOD)
    assert deck.explain(ASK, model=FRONTIER).to_dict()["constraint"] is None


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (FRONTIER, "constrained decoding: 70 ids and their arguments, 25,351 bytes of schema"),
        (
            "anthropic/claude-sonnet-5",
            "constrained decoding: 70 ids, 2,152 bytes of schema; no arguments: 110 optional properties",
        ),
        (FREE, "JSON, requested in the prompt"),
    ],
)
def test_explain_command_shows_the_constraint(cli, monkeypatch, model, shown):
    monkeypatch.setenv("COLUMNS", "240")
    assert f"response {shown}" in " ".join(cli("explain", "--model", model, ASK).out.split())


DECK = make_deck()


@given(st.text(max_size=300), st.sampled_from([FREE, FRONTIER, CACHED, "", "x", "local/lexical"]))
def test_any_request_can_be_explained(text, model):
    found = DECK.explain(text, model=model)
    json.dumps(found.to_dict())
    assert found.tokens > 0


def test_explain_command_shows_the_dry_run_and_the_prompt_on_request(cli):
    done = cli("explain", "--model", FREE, "--top", "2", ASK)
    assert done.code == 0
    for words in (
        "no model was called",
        "12 entries sent",
        "no filter call: ",
        "part 2: make an illustration",
        "68 more",
    ):
        assert words in done.out
    done = cli("explain", "--model", FREE, "--prompt", ASK)
    assert (
        "--- system ---\n" in done.out
        and f"<request>\n{ASK}\n</request>" in done.out
        and "no model was called" in done.err
    )
    data = cli("explain", "--model", FREE, "--prompt", "--json", ASK).data
    assert [message["role"] for message in data["messages"]] == ["system", "user"]
    assert "messages" not in cli("explain", "--json", ASK).data


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            FREE,
            (
                "ranked for each request",
                "at most 12",
                f"by {FREE} if the confidence is below 0.4",
                "requested in the prompt",
            ),
        ),
        (
            FRONTIER,
            ("sent whole", "instructions and catalog", "requested through the provider", "nothing had to be ranked"),
        ),
        (CACHED, ("fits after step 9", "6,000 tokens, 4,000 of them for reasoning", "marked at the end")),
    ],
)
def test_budgets_explain_shows_each_decision_with_its_source(cli, monkeypatch, model, words):
    monkeypatch.setenv("COLUMNS", "240")
    out = " ".join(cli("budgets", model, "--explain").out.split())
    for each in words:
        assert each in out
    row = "deepseek/deepseek-v4-pro" if model == CACHED else model
    assert f"row '{row}' of plugin 'budgets'" in out


def test_each_decision_names_the_key_that_made_it(cli, tmp_path):
    (tmp_path / "helmdeck.toml").write_text(
        f'model = "{FREE}"\n[compaction.tiers.C]\ndrop = ["pack.typical_use"]\n'
        f'[selection.models."openrouter/"]\nmax_entries = 7\nfilter = false\n[budgets."{FREE}"]\noutput_tokens = 99\n'
    )
    steps = {row["what"]: row for row in cli("budgets", "--explain", "--json").data["steps"]}
    assert steps["ladder"]["comes_from"] == "helmdeck.toml: compaction.tiers.C"
    assert steps["entries"] == {
        "what": "entries",
        "how": "at most 7",
        "comes_from": 'helmdeck.toml: selection.models."openrouter/".max_entries',
    }
    assert steps["filter call"]["how"] == "never: it is switched off"
    assert steps["output"]["comes_from"] == f'helmdeck.toml: budgets."{FREE}"'
