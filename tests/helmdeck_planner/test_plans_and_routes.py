"""Claims about whole answers, each made through a deck: no single module can break or keep them alone."""

import json
import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from helmdeck_core import (
    CallFailed,
    Catalog,
    CatalogSource,
    ChatResponse,
    CompletedStep,
    ConstrainedDeadlock,
    Entry,
    EntryKind,
    LengthTruncated,
    LikelyTimeout,
    Pack,
    PlanOutcome,
    Question,
    Ranker,
    Ranking,
    ReasoningTag,
    RouteKind,
    SafetyFiltered,
    Score,
    StopReason,
    hookimpl,
)
from helmdeck_planner.embedded.entries.indexed import index_of
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case

FREE = "openrouter/openrouter/free"
FRONTIER = "openai/gpt-4o"
ASK = "draft a blog post about our launch"
PLAN = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"reasoning":"x"}'
ROUTE = '{"recommendation":{"kind":"pack","id":"blog.draft","suggested_inputs":{},"why":"w"},"reasoning":"x"}'


def answer(text, stop=StopReason.END_TURN, raw="stop"):
    return ChatResponse(text=text, stop_reason=stop, raw_stop_reason=raw)


def sent(request):
    return [message.text for message in request.messages]


def sent_catalog(request):
    """The catalog of a prompt."""
    text = "\n".join(sent(request))
    data, _ = json.JSONDecoder().raw_decode(text, text.index('{"packs":['))
    return data


# -- selection ---------------------------------------------------------------------------------------------


class TwoScores:
    """A ranker that gives the first two entries of the catalog the scores 10 and ``second``, and all others 1."""

    def __init__(self, second: float) -> None:
        self.second = second
        self.indexed: list[str] = []

    @hookimpl
    def helmdeck_rankers(self):
        return [Ranker(name="two", index=self.index)]

    def index(self, catalog: Catalog):
        self.indexed.append(catalog.version)
        ids = [entry.id for entry in catalog.entries]
        values = [10.0, self.second, *[1.0] * (len(ids) - 2)]
        scores = [
            Score(number, entry_id, value) for number, (entry_id, value) in enumerate(zip(ids, values, strict=True))
        ]
        self.ranking = Ranking(tuple(sorted(scores, key=lambda score: (-score.score, score.id))))
        return self

    def rank(self, request: str) -> Ranking:
        return self.ranking


@pytest.mark.parametrize(
    ("second", "threshold", "is_unsure"),
    [(6.0, 0.4, False), (6.1, 0.4, True), (9.0, 0.1, False), (9.1, 0.1, True), (2.0, 0.9, True), (10.0, 0.0, False)],
)
def test_a_selection_is_marked_unsure_just_when_the_gap_is_below_the_configured_confidence(
    deck_with, second, threshold, is_unsure
):
    config = {"selection": {"ranker": "two", "confidence": threshold}}
    record = deck_with(TwoScores(second), config=config).select(ASK, model=FREE).record
    assert "lexical.top_n" in record.dropped
    assert ("lexical.low_confidence" in record.dropped) is is_unsure


def test_a_catalog_is_indexed_once_however_often_it_is_ranked(deck_with):
    ranker = TwoScores(5.0)
    deck = deck_with(ranker, config={"selection": {"ranker": "two"}})
    for ask in (ASK, "translate this page", ASK):
        deck.select(ask, model=FREE)
        deck.rank(ask)
    assert ranker.indexed == [deck.catalog.version]


def test_decks_of_equal_catalogs_share_their_profiles_unless_they_are_large():
    def catalog(entries):
        return Catalog.from_data({"packs": [{"name": f"tool.{number}"} for number in range(entries)]}, "shared")

    assert index_of(catalog(3)) is index_of(catalog(3)) is not index_of(catalog(2))
    assert index_of(catalog(501)) is not index_of(catalog(501))


SELECTIONS = """
from helmdeck_core import Catalog
from helmdeck_selection import LexicalIndex
from helmdeck_testing import make_deck

with make_deck() as deck:
    guide = deck.prepared("x/unknown")
    print(*map(guide.whole, range(guide.last_rung + 1)))
    for ask in ("remember this, draft a blog post about it, and make an illustration", "scan it", ""):
        chosen = deck.select(ask, model="x/unknown")
        print(chosen.text, chosen.record, [(s.id, s.score, s.matched) for s in deck.rank(ask).scores])

# Sums of more than two numbers depend on their order.
words = "list find open move copy read send plan sort join".split()
names = ["_".join(words[n % 7 : n % 7 + 4 + n % 5]) + f"_{n}" for n in range(40)]
long_names = Catalog.from_data({"packs": [{"name": name, "description": ""} for name in names]}, "test")
print([(s.id, s.score) for s in LexicalIndex(long_names).rank(" ".join(words)).scores])
"""


def test_what_is_selected_and_in_which_order_does_not_depend_on_the_process(capsys):
    # Hashes of strings differ between processes.
    env = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run([sys.executable, "-c", SELECTIONS], env=env, capture_output=True, text=True, check=True)
    exec(SELECTIONS, {})
    assert other.stdout == capsys.readouterr().out
    assert "blog.draft" in other.stdout


@pytest.mark.parametrize(("pack", "reply"), [("plan", PLAN), ("route", ROUTE)])
def test_the_pipelines_that_a_weak_model_sees_say_what_they_supersede(answering, pack, reply):
    deck, provider = answering(reply)
    getattr(deck, pack)("research a topic and write a grounded blog post with sources", model=FREE)
    shown = {
        row["id"]: row.get("metadata", {}).get("supersedes", [])
        for row in sent_catalog(provider.requests[0])["pipelines"]
    }
    assert shown == {entry_id: list(deck.catalog.get(entry_id).supersedes) for entry_id in shown}
    assert any(shown.values()), "the request is about pipelines that supersede packs"


# -- gaps --------------------------------------------------------------------------------------------------


def test_a_plan_over_a_reduced_catalog_still_says_what_nothing_does(answering):
    deck, provider = answering({"steps": [{"tool": "unknown", "args": {}, "rationale": "nothing brews coffee"}]})
    plan = deck.plan("brew me an espresso", model=FREE)
    assert plan.outcome is PlanOutcome.GAP and plan.steps[0].rationale == "gap: nothing brews coffee"
    assert plan.compaction.left_out > 0
    assert '"unknown"' in sent(provider.requests[0])[0] and '"gap:"' in sent(provider.requests[0])[0]


@pytest.mark.parametrize("payload", ["nothing brews coffee", None])
def test_a_route_over_a_reduced_catalog_still_reports_the_gap(answering, payload):
    deck, provider = answering({"recommendation": {"kind": "none", "id": ""}, "gap_warning": payload})
    route = deck.route("brew me an espresso", model=FREE)
    assert route.recommendation.kind is RouteKind.NONE and route.compaction.left_out > 0
    assert route.gap_warning == (payload or "nothing in the catalog serves this request")
    instructions = sent(provider.requests[0])[0]
    assert 'If nothing serves the request, kind is "none"' in instructions and "gap warning" in instructions


class SelfListing:
    """A catalog source whose entries were not read from a file, the planners among them."""

    @hookimpl
    def helmdeck_catalog_sources(self):
        names = ("helmdeck.plan", "helmdeck.route", "blog.draft")
        entries = [Entry(EntryKind.PACK, name, {"name": name}, "self") for name in names]
        return [CatalogSource(name="self", load=lambda: Catalog(entries))]


@pytest.mark.parametrize("tool", ["helmdeck.plan", "helmdeck__plan", "helmdeck.route"])
def test_a_planner_is_no_step_even_where_the_catalog_lists_it(answering, tool):
    reply = {"steps": [{"tool": tool, "args": {}, "rationale": "again"}, {"tool": "blog.draft"}]}
    deck, _ = answering(reply, beside=(SelfListing(),), config={"catalog": {"sources": ["self"]}})
    first, second = deck.plan(ASK, model=FRONTIER).steps
    assert first.is_gap and first.rationale.startswith("gap:")
    assert second.tool == "blog.draft"


# -- prompts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pack", "reply"), [("plan", PLAN), ("route", ROUTE)])
def test_the_catalog_comes_first_only_for_models_that_cache_a_prefix(answering, pack, reply):
    for caches in (True, False):
        deck, provider = answering(reply, config={"budgets": {FRONTIER: {"supports_prefix_cache": caches}}})
        for ask in (ASK, "translate this page into French"):
            getattr(deck, pack)(ask, model=FRONTIER, defaults={"tone": ask[:4]}, context=f"context of {ask}")
        (system, user), (other_system, other_user) = map(sent, provider.requests)
        assert ('{"packs":[' in system, '{"packs":[' in user) == (caches, not caches)
        assert system == other_system and user != other_user
        assert "context of" in user and '{"tone":' in user and ASK in user


def test_both_ways_to_ask_for_a_plan_give_the_same_rules(answering):
    rules = []
    for variant in ("full_steps", "single_pick"):
        deck, provider = answering(PLAN, config={"budgets": {FREE: {"prompt_variant": variant}}})
        assert deck.plan(ASK, model=FREE).prompt_variant_used == variant
        system = sent(provider.requests[0])[0]
        rules.append(system[system.index("Rules") : system.index("The object:")])
    assert rules[0] == rules[1]
    places = [
        rules[0].index(part)
        for part in ("A pipeline that serves the whole request wins", "supersedes", "no pipeline fits")
    ]
    assert places == sorted(places)


def test_a_loop_over_single_steps_sees_what_ran_and_ends_by_itself(answering):
    first = {"steps": [{"tool": "helmdeck.memory_store", "args": {"text": "x"}}], "more_steps_likely": True}
    deck, provider = answering(first, json.loads(PLAN))
    done: list[CompletedStep] = []
    for _ in range(5):
        plan = deck.plan(ASK, model=FREE, done=done)
        done += [CompletedStep(step.tool, "ran well") for step in plan.steps]
        if not plan.more_steps_likely:
            break
    assert [step.tool for step in done] == ["helmdeck.memory_store", "blog.draft"]
    asked = [sent(request)[1] for request in provider.requests]
    assert "ran well" not in asked[0] and "1. helmdeck.memory_store" in asked[1] and "ran well" in asked[1]


# -- answers and failures ----------------------------------------------------------------------------------


class Claims(msgspec.Struct):
    """What a third party's pack asks for."""

    claims: list[str]


class Extractor:
    """A third party's pack that reads answers as the planners do."""

    @hookimpl
    def helmdeck_packs(self):
        async def extract(context: Any, value: Any) -> dict[str, Any]:
            question = Question(
                caller="acme.extract",
                task="extract",
                type=Claims,
                request=value["text"],
                instructions="List the claims.",
                needs_catalog=False,
            )
            return {"claims": (await context.ask(question)).value.claims}

        return [Pack(name="acme.extract", version="1", description="Lists claims.", run=extract)]


@pytest.mark.parametrize(
    ("stop", "raw"),
    [
        (StopReason.END_TURN, "stop"),
        (StopReason.MAX_TOKENS, "length"),
        (StopReason.SAFETY_BLOCKED, "content_filter"),
        (StopReason.UNKNOWN, None),
    ],
)
@pytest.mark.parametrize(
    "text", ["", "<think>hm</think>", "I cannot do that.", '{"steps": [{"tool": "a"},', '{"a" "b"}']
)
def test_every_pack_fails_alike_on_the_same_answer(answering, text, stop, raw):
    deck, _ = answering(answer(text, stop, raw), beside=(Extractor(),))
    calls = {
        "helmdeck.plan": lambda: deck.plan(ASK, model=FREE),
        "helmdeck.route": lambda: deck.route(ASK, model=FREE),
        "acme.extract": lambda: deck.run("acme.extract", {"text": "x"}, model=FREE),
    }
    seen = set()
    for pack, call in calls.items():
        with pytest.raises(CallFailed) as caught:
            call()
        failed = caught.value
        noun = pack.rpartition(".")[2]
        is_empty = text in ("", "<think>hm</think>")
        stable = (
            f"the model returned an empty {noun} response"
            if is_empty
            else "the model's output is not the requested JSON"
        )
        assert str(failed).startswith(f"{pack}: {stable}")
        assert failed.code == "handler_failed"
        assert (failed.raw_stop_reason, failed.raw_length, failed.model) == (raw, len(text), FREE)
        seen.add((type(failed), failed.sub_cause, failed.advice()))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("text", "stop", "cause", "advice"),
    [
        ("", StopReason.SAFETY_BLOCKED, SafetyFiltered, ["tell the user"]),
        ("", StopReason.MAX_TOKENS, LengthTruncated, ["raise output_tokens", "request less"]),
        (
            '{"a" "b"}',
            StopReason.END_TURN,
            ConstrainedDeadlock,
            ["enforces_schema", "doctor --model", "another model"],
        ),
        ("", StopReason.UNKNOWN, LikelyTimeout, ["another model", "prompt is too long"]),
    ],
)
def test_each_cause_advises_what_helps_against_it(answering, text, stop, cause, advice):
    deck, _ = answering(answer(text, stop, None))
    with pytest.raises(cause) as caught:
        deck.plan(ASK, model=FREE)
    _, next_action = caught.value.advice()
    assert all(part in next_action for part in advice)


@pytest.mark.parametrize("model", ["openai/o3-mini", FRONTIER, "openrouter/deepseek/deepseek-v4-pro", FREE])
def test_a_draft_in_reasoning_is_not_the_plan_in_any_tier(answering, model):
    draft = '<think>maybe {"steps":[{"tool":"image.generate","args":{},"rationale":"no"}]}?</think>'
    deck, _ = answering(answer(f"{draft}\n{PLAN}"))
    assert [step.tool for step in deck.plan(ASK, model=model).steps] == ["blog.draft"]


@each_case(
    "text",
    [
        "<mu<muse/>se>x",
        "<mu<muse/>se>x</muse >y",
        "Let me Let me think: a My answer:think: b My answer:c",
        "[ASI[ASIDE]a[/ASIDE]DE]b",
    ],
)
def test_a_mark_that_only_appears_once_a_block_is_gone_is_found_in_the_same_go(text):
    decoder = Decoder(
        [
            ReasoningTag(name="muse", open="<muse>", close=("</muse>",), has_attributes=True, closes_alone=False),
            ReasoningTag(name="aside", open="[ASIDE]", close=("[/ASIDE]",), closes_alone=False),
            ReasoningTag(name="phrase", open="Let me think:", close=("My answer:",), closes_alone=False),
        ],
        [],
    )
    once = decoder.strip(text)
    again = decoder.strip(once.text)
    assert (again.text, again.is_unclosed, again.reasoning) == (once.text, once.is_unclosed, "")
