"""What calls take and return can be copied, and sent to another process."""

import copy
import pickle

import pytest

from helmdeck_core import CallFailed, ChatRequest, Message, Role, TextPart
from helmdeck_core.domain import EMPTY
from helmdeck_testing import Reply, make_deck, scripted_provider

REQUEST = ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart("hello"),)),))


@pytest.fixture(scope="module")
def deck():
    with make_deck(scripted_provider([Reply("fine"), Reply("fine")]), model="scripted/any") as deck:
        yield deck


@pytest.mark.parametrize(
    "call",
    [
        lambda deck: REQUEST,
        lambda deck: deck.complete(REQUEST),
        lambda deck: deck.ask("hello"),
        lambda deck: deck.plan("draft a blog post", model="local/lexical"),
        lambda deck: deck.route("draft a blog post", model="local/lexical"),
    ],
    ids=["request", "complete", "ask", "plan", "route"],
)
def test_value_equals_its_copies(deck, call):
    value = call(deck)
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value


def test_partial_response_of_a_failure_survives_pickling():
    script = scripted_provider([Reply("half of", stop_reason="length")])
    with make_deck(script, config={"agent": {"continuation_max_attempts": 0}}) as deck:
        with pytest.raises(CallFailed) as caught:
            deck.complete(REQUEST, allows_truncated=False)
        assert pickle.loads(pickle.dumps(caught.value)).partial.text == "half of"


def test_shared_default_of_mappings_stays_the_same_object_in_copies():
    assert pickle.loads(pickle.dumps(EMPTY)) is EMPTY
    assert copy.deepcopy(EMPTY) is EMPTY
    assert EMPTY == {}
