"""A piece that is read the quick way says the same as if it were read as any other event."""

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_provider_bedrock.answer import AnswerReader
from helmdeck_provider_bedrock.stream import StreamReader

VALUES = st.sampled_from(
    [None, "", "a", 0, True, {}, {"text": "t"}, {"text": "", "signature": "s"}, {"input": "{}"}, ["a"]]
)
DELTAS = st.dictionaries(st.sampled_from(["text", "reasoningContent", "toolUse", "citation"]), VALUES, max_size=2)
PIECES = st.fixed_dictionaries(
    {"delta": DELTAS | VALUES}, optional={"contentBlockIndex": st.sampled_from([0, 1, None, "0"]), "p": st.just("abc")}
)
START = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "1", "name": "look"}}}


class Slowly(AnswerReader):
    def feed_piece(self, payload):
        return None


def read(answer, frames):
    reader = StreamReader(answer)
    return [delta for frame in frames for delta in reader.feed(frame)], answer.response()


@given(st.lists(PIECES, max_size=4), st.booleans())
def test_a_piece_read_quickly_says_what_it_says_read_as_any_other(frame, pieces, calls):
    frames = [frame("contentBlockStart", START)] * calls + [frame("contentBlockDelta", piece) for piece in pieces]
    assert read(AnswerReader(), frames) == read(Slowly(), frames)


def test_a_piece_of_text_or_reasoning_is_read_quickly(frame, monkeypatch):
    monkeypatch.setattr(AnswerReader, "feed", None)
    pieces = {"text": "a"}, {"reasoningContent": {"text": "t"}}
    frames = [frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": piece}) for piece in pieces]
    deltas, response = read(AnswerReader(), frames)
    assert [(delta.text, delta.reasoning) for delta in deltas] == [("a", ""), ("", "t")]
    assert (response.text, response.reasoning) == ("a", "t")
