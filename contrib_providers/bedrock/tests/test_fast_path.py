"""The fast path of text deltas and the general path yield the same result."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Disposition, StopReason
from helmdeck_provider_bedrock.answer import ConverseAnswer
from helmdeck_provider_bedrock.stream import FrameFeed
from helmdeck_providers import ReaderContext

VALUES = st.sampled_from(
    [None, "", "a", 0, True, {}, {"text": "t"}, {"text": "", "signature": "s"}, {"input": "{}"}, ["a"]]
)
DELTAS = st.dictionaries(st.sampled_from(["text", "reasoningContent", "toolUse", "citation"]), VALUES, max_size=2)
CHUNKS = st.fixed_dictionaries(
    {"delta": DELTAS | VALUES}, optional={"contentBlockIndex": st.sampled_from([0, 1, None, "0"]), "p": st.just("abc")}
)
START = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "1", "name": "look"}}}


class Slowly(ConverseAnswer):
    fast_decoder = msgspec.json.Decoder(int)


def read(kind, frames):
    answer = kind(ReaderContext(normalise=lambda raw: StopReason.UNKNOWN, dispose=lambda raw, reason: Disposition.STOP))
    reader = FrameFeed(answer)
    return [delta for frame in frames for delta in reader.feed(frame)], answer.finish()


PLAIN = st.fixed_dictionaries(
    {"delta": st.sampled_from([{"text": "a"}, {"text": "b"}, {"reasoningContent": {"text": "t"}}])},
    optional={"contentBlockIndex": st.sampled_from([0, 1])},
)


@given(st.lists(CHUNKS, max_size=4) | st.lists(PLAIN, max_size=4), st.booleans(), st.booleans())
def test_fast_path_and_general_path_yield_the_same(frame, chunks, calls, together):
    frames = [frame("contentBlockStart", START)] * calls + [frame("contentBlockDelta", piece) for piece in chunks]
    assert read(ConverseAnswer, [b"".join(frames)] if together else frames) == read(Slowly, frames)


def test_text_and_reasoning_deltas_use_the_fast_path(frame, monkeypatch):
    monkeypatch.setattr(ConverseAnswer, "feed", None)
    chunks = {"text": "a"}, {"reasoningContent": {"text": "t"}}
    frames = [frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": piece}) for piece in chunks]
    deltas, response = read(ConverseAnswer, frames)
    assert [(delta.text, delta.reasoning_content) for delta in deltas] == [("a", ""), ("", "t")]
    assert (response.text, response.reasoning_content) == ("a", "t")
