"""What a sentence asks for, by its wording alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_language import scan
from helmdeck_selection import DialogueAct, act_model
from helmdeck_selection.meaning.acts import act_features


def act(text: str) -> DialogueAct:
    return act_model().of_request(scan(text))


@pytest.mark.parametrize(
    ("text", "requested"),
    [
        ("how many parcels are still on their way?", "look_up"),
        ("who has the late shift on Friday", "look_up"),
        ("the hall lamp should be off", "change"),
        ("tell Mira that the keys are at the desk", "change"),
        ("we already sent it yesterday", "nothing"),
        ("thanks, the report looks fine now", "nothing"),
    ],
)
def test_wording_shows_a_look_up_a_change_or_nothing(text: str, requested: str) -> None:
    found = act(text)
    assert max(("nothing", "look_up", "change"), key=lambda name: float(getattr(found, name))) == requested


@given(st.text(max_size=200))
def test_probabilities_of_any_text_sum_to_one(text: str) -> None:
    found = act(text)
    assert math.isclose(found.nothing + found.look_up + found.change, 1.0)


def test_the_first_and_the_last_words_count_on_their_own() -> None:
    assert act_features(["close", "door"]) == ["close", "door", "close door", "^close", "^close door", "$door"]
    assert act_features([]) == []
