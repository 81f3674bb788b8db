"""Rankings: an order that keeps itself, and when it is worth a second opinion."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import LazyScores, Ranking, Score, score_margin
from helmdeck_core.context.history_prior import with_prior
from helmdeck_core.domain.ranking import is_unsure, should_escalate
from tests.case_support import each_case

WEIGHTS = {"history.gain": 0.25, "history.entries": 3}
IDS = ["d", "a", "c", "b"]


def lazy(found: dict[int, float], **more: Any) -> LazyScores:
    return LazyScores(IDS, found, **more)


def test_scores_that_were_not_read_are_never_explained() -> None:
    requested: list[int] = []
    scores = lazy({0: 1.0, 1: 3.0, 2: 2.0}, explain=lambda index: (requested.append(index), ("name:x",))[1])
    assert Ranking(scores).leading(2) == [(1, 3.0), (2, 2.0)] and requested == []
    assert scores[0] == Score(1, "a", 3.0, ("name:x",)) and requested == [1]


def test_what_was_not_found_comes_last_by_id_with_no_score() -> None:
    assert [(score.id, score.score) for score in lazy({2: 1.0})] == [("c", 1.0), ("a", 0.0), ("b", 0.0), ("d", 0.0)]


@each_case("found", [{4: 1.0}, {-1: 1.0}, {0: 0.0}, {0: -1.0}])
def test_a_score_of_nothing_or_for_no_entry_is_refused(found: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="out of range|above 0"):
        lazy(found)


@given(st.dictionaries(st.integers(0, 29), st.sampled_from([0.5, 1.0, 2.0])), st.integers(-35, 35), st.data())
def test_lazy_scores_are_the_tuple_that_they_stand_for(
    found: dict[int, float], place: int, data: st.DataObject
) -> None:
    ids = data.draw(st.permutations([f"p{n:02}" for n in range(30)]))
    whole = tuple(
        sorted((Score(n, ids[n], found.get(n, 0.0)) for n in range(30)), key=lambda score: (-score.score, score.id))
    )
    scores = LazyScores(ids, found)
    assert scores == whole and tuple(scores) == whole and len(scores) == 30
    assert scores[:place] == whole[:place] and scores[place:] == whole[place:]
    if -30 <= place < 30:
        assert scores[place] == whole[place]
    assert Ranking(scores).order == tuple(Ranking(whole).order)
    assert list(Ranking(scores).ids) == list(Ranking(whole).ids) == [score.id for score in whole]
    for count in (max(place, 0), 2, 8):
        assert Ranking(scores).leading(count) == list(Ranking(whole).leading(count))
    assert Ranking(scores).confidence == Ranking(whole).confidence


@given(
    st.dictionaries(st.integers(0, 3), st.sampled_from([0.5, 2.0])),
    st.dictionaries(st.integers(0, 3), st.sampled_from([0.25, 1.0]), max_size=3),
)
def test_what_was_planned_before_weighs_the_same_in_lazy_scores(
    found: dict[int, float], planned: dict[int, float]
) -> None:
    ranking = Ranking(lazy(found, explain=lambda index: (f"name:{index}",)))
    eager = attrs.evolve(ranking, scores=tuple(ranking.scores))
    assert tuple(with_prior(ranking, planned, WEIGHTS).scores) == tuple(with_prior(eager, planned, WEIGHTS).scores)


@each_case(("best", "expected"), [((), 0.0), ((0.0, 0.0), 0.0), ((3.0,), 1.0), ((4.0, 1.0), 0.75)])
def test_how_far_the_best_stands_out(best: tuple[float, ...], expected: float) -> None:
    assert score_margin(best) == expected


@each_case(
    ("parts", "escalates"),
    [((), True), ((0.9,), True), ((0.9, 0.5), False), ((0.9, 0.1), True)],
)
def test_a_request_that_is_clear_in_every_part_needs_no_second_opinion(
    parts: tuple[float, ...], escalates: bool
) -> None:
    ranking = Ranking(lazy({0: 2.0, 1: 2.0, 2: 1.0}), clause_confidence=parts)
    assert is_unsure(ranking), "the number stays what it is"
    assert should_escalate(ranking) is escalates


def test_unreliable_ranking_is_never_sure_and_always_escalates() -> None:
    ranking = Ranking(lazy({0: 2.0, 1: 0.1}), is_reliable=False)
    assert attrs.evolve(ranking, is_reliable=True).is_confident()
    assert ranking.confidence == 0.0 and is_unsure(ranking) and should_escalate(ranking)


def test_lazy_scores_explain_a_match_by_its_index() -> None:
    scores = lazy({1: 2.0}, explain=lambda index: (f"name:{index}",))
    assert scores.matched(1) == ("name:1",) and scores.matched(0) == ()


@given(
    st.dictionaries(st.integers(0, 29), st.sampled_from([0.5, 1.0, 2.0]), min_size=1),
    st.dictionaries(st.integers(0, 29), st.sampled_from([0.25, 1.0]), max_size=6),
)
def test_raised_scores_lead_in_the_same_order_whether_the_first_were_known_or_not(found, gains):
    ids = [f"tool{index:02}" for index in range(30)]
    known, unknown = LazyScores(ids, found), LazyScores(ids, found)
    known.leading(8)
    assert known.raised(gains, "x").leading(8) == unknown.raised(gains, "x").leading(8)
