"""What was planned before gains weight, and drives nothing out that the request itself asks for."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    HistoryFailed,
    HistoryStoreSpec,
    LazyScores,
    Ranking,
    Score,
    hookimpl,
)
from helmdeck_core.context.history_prior import LABEL, with_prior
from helmdeck_selection import weights as selection
from helmdeck_testing import EventRecorder

WEIGHTS = {weight.name: weight.value for weight in selection.helmdeck_weights()}
MOST_PRIORS = int(WEIGHTS["history.entries"])

FREE = "openrouter/openrouter/free"
ASK = "draft a blog post about our launch"
ROUTE = '{"recommendation":{"kind":"pack","id":"blog.draft","suggested_inputs":{},"why":"w"},"reasoning":"x"}'


def plan_with(*tools):
    steps = ",".join(f'{{"order":1,"tool":"{tool}","args":{{}},"rationale":"r"}}' for tool in tools)
    return f'{{"steps":[{steps}],"reasoning":"x"}}'


def ranked(values):
    order = sorted(range(len(values)), key=lambda index: -values[index])
    return Ranking(tuple(Score(index, f"{index:03}", values[index]) for index in order))


@given(
    values=st.lists(st.floats(0, 100), min_size=1, max_size=40),
    planned=st.lists(st.integers(0, 39), unique=True, max_size=10),
    most=st.integers(MOST_PRIORS + 1, 20),
)
def test_top_ranked_entries_keep_their_order(values, planned, most):
    ranking = ranked(values)
    planned = [index for index in planned if index < len(values)]
    with_weight = with_prior(ranking, dict.fromkeys(planned, 1.0), WEIGHTS)
    new = [score.index for score in with_weight.scores]
    assert sorted(new) == sorted(range(len(values)))
    assert [s.score for s in with_weight.scores] == sorted((s.score for s in with_weight.scores), reverse=True)
    favoured = set(planned[:MOST_PRIORS])
    others = [index for index in new if index not in favoured]
    assert sorted(others, key=lambda index: (-values[index], index)) == others
    high = [score.index for score in ranking.scores][: most - MOST_PRIORS]
    assert set(high) <= set(new[:most]), "never removes what the text alone ranks high"


def test_history_prior_is_in_proportion_to_its_weight_and_does_not_overtake_the_best_match():
    scores = with_prior(ranked([10.0, 7.0, 1.0, 0.0]), {3: 0.25, 2: 0.125}, WEIGHTS).scores
    assert [(score.index, score.score) for score in scores] == [(0, 10.0), (1, 7.0), (3, 2.5), (2, 2.25)]
    assert scores[2].matched == (LABEL,) and scores[0].matched == ()


def test_history_prior_overtakes_the_best_match_only_in_proportion_to_the_own_score():
    favoured = with_prior(ranked([10.0, 4.0, 6.0]), {1: 0.9, 2: 0.9}, WEIGHTS)
    assert [score.index for score in favoured.scores] == [2, 0, 1]
    assert favoured.scores[0].score == pytest.approx(11.4)
    assert favoured.scores[2].score == pytest.approx(10.0)


def test_weights_that_old_plans_have_no_longer_change_nothing():
    ranking = ranked([3.0, 0.0])
    lazy = attrs.evolve(ranking, scores=LazyScores(["000", "001"], {0: 3.0}))
    assert with_prior(ranking, {1: 0.0}, WEIGHTS) is ranking
    assert with_prior(lazy, {1: 0.0}, WEIGHTS) is lazy


def test_history_prior_alone_ranks_when_nothing_matches():
    ranking = ranked([0.0, 0.0, 0.0])
    assert with_prior(ranking, {}, WEIGHTS) is ranking
    assert with_prior(ranking, {2: 0.5}, WEIGHTS).scores[0].index == 2


@pytest.fixture
def remembering(answering, tmp_path):
    def make(*replies, **config):
        config.setdefault("history", {"url": f"sqlite:{tmp_path / 'plans.db'}"})
        return answering(*replies, config=config)

    return make


def sent(provider):
    return provider.requests[-1].messages[-1].text


def test_earlier_picks_are_raised_for_the_same_caller_and_request(remembering):
    deck, provider = remembering(plan_with("audio.transcribe"))
    deck.plan(ASK, model=FREE, caller="ada")
    assert '"name":"audio.transcribe"' not in sent(provider)
    deck.plan(ASK.upper(), model=FREE, caller="ada")
    assert '"name":"audio.transcribe"' in sent(provider) and '"blog.draft"' in sent(provider)
    deck.plan(ASK, model=FREE, caller="bob")
    assert '"name":"audio.transcribe"' not in sent(provider), "callers are kept apart"
    deck.plan(ASK + " in May", model=FREE, caller="ada")
    assert '"name":"audio.transcribe"' in sent(provider), "a similar request"
    deck.plan("crop the photo to a square", model=FREE, caller="ada")
    assert '"name":"audio.transcribe"' not in sent(provider), "another request"


def test_route_uses_the_history_of_plans(remembering):
    deck, provider = remembering(plan_with("audio.transcribe"), ROUTE)
    deck.plan(ASK, model=FREE)
    deck.route(ASK, model=FREE)
    assert '"name":"audio.transcribe"' in sent(provider)


def test_dry_runs_use_the_history_of_the_caller_as_a_plan_does(remembering):
    deck, provider = remembering(plan_with("audio.transcribe"))
    for caller in ("ada", "ada", "bob"):
        explained = deck.explain(ASK, model=FREE, caller=caller)
        selected = deck.select(ASK, model=FREE, caller=caller).catalog.get("audio.transcribe")
        deck.plan(ASK, model=FREE, caller=caller)
        assert explained.messages == provider.requests[-1].messages
        assert (selected is not None) == ('"name":"audio.transcribe"' in sent(provider))
    assert deck.select(ASK, model=FREE).catalog.get("audio.transcribe") is None
    assert deck.select(ASK, model=FREE, caller="ada").catalog.get("audio.transcribe") is not None


def test_unreadable_history_does_not_fail_a_plan(answering):
    class Broken:
        @hookimpl
        def helmdeck_history_stores(self):
            return [HistoryStoreSpec(name="broken", open=lambda target, days: self)]

        def plans(self, caller, limit=100):
            raise OSError("the disk is gone")

        def add(self, record):
            raise AssertionError("it is disabled")

    recorder = EventRecorder()
    deck, _ = answering(plan_with("blog.draft"), beside=(Broken(), recorder), config={"history": {"url": "broken:x"}})
    assert deck.explain(ASK, model=FREE).selection.catalog
    assert deck.plan(ASK, model=FREE).is_usable
    (failed,) = recorder.of(HistoryFailed)
    assert "the disk is gone" in failed.detail
