"""Text that stays truncated after its continuations: a failure of ``ask``, and of calls that do not allow it."""

import contextlib

import attrs
import pytest

from helmdeck_core import (
    ChatRequest,
    ChatResponse,
    FailureClass,
    LengthTruncated,
    Message,
    ProviderUnavailable,
    Role,
    StopReason,
    TextPart,
)
from helmdeck_testing import Fail, Reply, make_deck, scripted_provider

REQUEST = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("why are there tides?"),)),))
LIMITED = attrs.evolve(REQUEST, max_tokens=50)
CUT = Reply("The tides are caused by the", stop_reason="length")
CUT_EARLY = Reply("The tides", stop_reason="length")
WHOLE = Reply("The tides are caused by the moon and the sun.")
REST = Reply(" moon and the sun.")
NO_CONTINUATION = {"agent": {"continuation_max_attempts": 0}}


@pytest.fixture
def deck_of():
    with contextlib.ExitStack() as stack:

        def make(a, b=None, **config):
            providers = [scripted_provider(a, "a"), scripted_provider(b or [], "b")]
            fallback = {} if b is None else {"fallback": {"a/": ["b/two"]}}
            return stack.enter_context(make_deck(*providers, config={**NO_CONTINUATION, **fallback, **config}))

        yield make


def split(chunks):
    """The text of the chunks of a stream, and its response."""
    *deltas, response = chunks
    assert isinstance(response, ChatResponse)
    return "".join(delta.text for delta in deltas), response


def test_truncated_answer_is_a_failure_with_the_text(deck_of):
    with pytest.raises(LengthTruncated) as caught:
        deck_of([CUT]).ask("why are there tides?", model="a/one")
    failure = caught.value
    assert (failure.partial.text, failure.partial_model) == (CUT.text, "a/one")
    assert failure.partial.attempts == failure.attempts
    assert failure.to_dict()["incomplete"] is True and CUT.text not in repr(failure.partial_model)


def test_next_model_of_the_chain_answers(deck_of):
    answer = deck_of([CUT], [WHOLE]).ask("why are there tides?", model="a/one")
    assert (answer.value, answer.model, answer.incomplete) == (WHOLE.text, "b/two", None)


def test_partial_answer_states_its_cause(deck_of):
    answer = deck_of([CUT]).ask("why are there tides?", model="a/one", partial=True)
    assert (answer.value, answer.incomplete) == (CUT.text, FailureClass.LENGTH_TRUNCATED)
    assert answer.response.stop_reason is StopReason.MAX_TOKENS and len(answer.attempts) == 1


def test_partial_answer_is_the_longest_text_whatever_failed_last(deck_of):
    deck = deck_of([CUT], [CUT_EARLY])
    assert deck.ask("why are there tides?", model="a/one", partial=True).model == "a/one"
    deck = deck_of([CUT], [Fail("provider_unavailable")] * 9, recovery={"backoff_s": 0.0})
    answer = deck.ask("why are there tides?", model="a/one", partial=True)
    assert (answer.value, answer.incomplete) == (CUT.text, FailureClass.PROVIDER_UNAVAILABLE)


def test_partial_answer_without_any_text_is_the_failure(deck_of):
    deck = deck_of([Fail("provider_unavailable")] * 9, recovery={"backoff_s": 0.0})
    with pytest.raises(ProviderUnavailable):
        deck.ask("why are there tides?", model="a/one", partial=True)


def test_requests_of_the_caller_accept_truncated_text_unless_it_is_forbidden(deck_of):
    assert deck_of([CUT]).complete(REQUEST).stop_reason is StopReason.MAX_TOKENS
    with pytest.raises(LengthTruncated):
        deck_of([CUT]).complete(REQUEST, allows_truncated=False)
    assert deck_of([CUT], [WHOLE]).complete(REQUEST, allows_truncated=False).text == WHOLE.text


def test_output_limit_of_the_caller_is_kept(deck_of):
    response = deck_of([CUT], [WHOLE]).complete(LIMITED, allows_truncated=False)
    assert (response.text, response.stop_reason) == (CUT.text, StopReason.MAX_TOKENS)
    text, response = split(deck_of([CUT], [WHOLE]).stream(LIMITED, allows_truncated=False))
    assert (text, response.stop_reason) == (CUT.text, StopReason.MAX_TOKENS)


def test_next_model_continues_a_truncated_stream(deck_of):
    text, response = split(deck_of([CUT], [REST]).stream(REQUEST, allows_truncated=False))
    assert text == response.text == WHOLE.text
    assert response.continuation.models == ("a/one", "b/two")


def test_truncated_stream_without_a_next_model_is_a_failure(deck_of):
    chunks, seen = deck_of([CUT]).stream(REQUEST, allows_truncated=False), []
    with pytest.raises(LengthTruncated) as caught:
        seen.extend(chunks)
    assert "".join(chunk.text for chunk in seen) == caught.value.partial.text == CUT.text
