"""The fast path of text deltas and the general path yield the same result."""

import json

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import CallFailed, Disposition, StopReason
from helmdeck_provider_cohere.answer import ERROR_RULES, CohereAnswer
from helmdeck_providers import ReaderContext

VALUES = st.sampled_from([None, "", "a", 0, True, {}, {"text": "t"}, {"message": "no"}, ["a"]])
CONTENTS = st.dictionaries(st.sampled_from(["text", "thinking", "type"]), VALUES, max_size=3)
EVENTS = st.fixed_dictionaries(
    {
        "delta": st.fixed_dictionaries({"message": st.fixed_dictionaries({"content": CONTENTS | VALUES}) | VALUES})
        | VALUES
    },
    optional={
        "type": st.sampled_from(["content-delta", "content-start", "message-end", None]),
        "index": VALUES,
        "error": VALUES,
        "object": st.sampled_from(["error", "message", None]),
    },
)
CHUNK = {"type": "content-delta", "delta": {"message": {"content": {"text": "a"}}}}


class Slowly(CohereAnswer):
    fast_decoder = None


def read(events, kind=CohereAnswer):
    answer = kind(
        ReaderContext(
            normalise=lambda raw: StopReason.UNKNOWN,
            dispose=lambda raw, reason: Disposition.FINAL,
            error_rules=ERROR_RULES,
        )
    )
    try:
        deltas = [list(answer.take(json.dumps(event).encode())) for event in events]
    except CallFailed as exc:
        return type(exc), exc.to_dict()
    return deltas, answer.finish()


@given(st.lists(EVENTS | st.just(CHUNK), max_size=4))
def test_fast_path_and_general_path_yield_the_same(events):
    assert read(events) == read(events, Slowly)


def test_text_deltas_use_the_fast_path(monkeypatch):
    monkeypatch.setattr(CohereAnswer, "feed", None)
    deltas, response = read([CHUNK])
    assert deltas[0][0].text == response.text == "a"
