"""Server-sent events and lines are the same for every chunking."""

from __future__ import annotations

import itertools
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_providers import EventDecoder
from helmdeck_providers.http.sse import LineDecoder
from tests.case_support import each_case


def cut(body, places):
    bounds = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(bounds)]


def read(*pieces):
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [tuple(event) for event in [*events, *decoder.finish()]]


@each_case(
    ("body", "expected"),
    [
        (b"data: one\n\ndata: two\n\n", [("message", b"one"), ("message", b"two")]),
        (b"data:one\n\ndata:  two\n\n", [("message", b"one"), ("message", b" two")]),
        (b"data: a\ndata: b\ndata\n\n", [("message", b"a\nb\n")]),
        (b"event: error\ndata: {}\n\ndata: next\n\n", [("error", b"{}"), ("message", b"next")]),
        (b": a comment\n:\ndata: x\n: another\n\n", [("message", b"x")]),
        (b"id: 7\nretry: 100\nnonsense\nfoo: bar\ndata: x\n\n", [("message", b"x")]),
        (b"event: lonely\n\ndata: x\n\n", [("message", b"x")]),
        (b"\xef\xbb\xbfdata: x\n\n", [("message", b"x")]),
        (b"\n\n\ndata: x\n\n\n\n", [("message", b"x")]),
        (b"data: x", [("message", b"x")]),
        (b"data: x\n", [("message", b"x")]),
        (b'data: x\n\ndata: {"cut', [("message", b"x"), ("message", b'{"cut')]),
        (b"data: caf\xc3\xa9 \xff\n\n", [("message", b"caf\xc3\xa9 \xff")]),
        (b"data:\n\n", [("message", b"")]),
        (b"", []),
        (b"\xef\xbb", []),
    ],
)
@each_case("end", [b"\n", b"\r", b"\r\n"])
def test_events_are_read_as_the_standard_says_and_a_cut_one_is_kept(body, expected, end):
    body = body.replace(b"\n", end)
    assert read(body) == expected
    assert read(*(body[place : place + 1] for place in range(len(body)))) == expected


LINES = st.lists(
    st.sampled_from(["data: é", "data", "data:{}", "event: x", ":c", "", "id: 1", "ﬀ", "data: \U0001f642 "]),
    max_size=12,
)


@given(LINES, st.sampled_from(["\n", "\r", "\r\n"]), st.booleans(), st.lists(st.integers(0, 400), max_size=12))
def test_chunk_boundaries_change_nothing(lines, end, bom, places):
    body = ("\ufeff" * bom + end.join(lines)).encode()
    assert read(*cut(body, places)) == read(body)


def by_the_letter(body):
    """The events as the HTML standard's text goes, line by line; only for whole ones."""
    events, data, name = [], [], ""
    for line in body.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if not line:
            events += [(name or "message", b"\n".join(data))] * bool(data)
            data, name = [], ""
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode()
    return events


USUAL = st.sampled_from(["data: {}\n\n", "event: a\ndata: {}\n\n", "event: b\ndata: \n\n", "data: é\n\n"])
ODD = [
    "\n",
    ":c\n",
    "data:{}\n\n",
    "data: a\ndata: b\n\n",
    "event: \ndata: x\n\n",
    "id: 1\ndata: x\n\n",
    " data: x\n\n",
]
ODD += ["event: a\n\n", "event: a\nevent: b\ndata: x\n\n", "data: x\nevent: a\n\n", "event: a\n:c\ndata: x\n\n", "x"]


@given(st.lists(USUAL | st.sampled_from(ODD), max_size=12), st.lists(st.integers(0, 200), max_size=4))
def test_events_that_come_many_at_once_are_those_that_the_standard_names(blocks, places):
    body = "".join([*blocks, "\n"]).encode()
    assert read(*cut(body, places)) == by_the_letter(body + b"\n\n")


@given(st.lists(st.sampled_from(["{}", "", "a b", "é"]), max_size=8), st.lists(st.integers(0, 100), max_size=8))
def test_lines_are_whole_for_every_chunking(lines, places):
    body = "\n".join(lines).encode()
    decoder = LineDecoder()
    read = [line for piece in cut(body, places) for line in decoder.feed(piece)]
    assert [*read, decoder.finish()] == (body.split(b"\n") if body else [b""])


def test_an_event_of_a_million_tiny_pieces_costs_its_length_once():
    decoder = EventDecoder()
    decoder.feed(b"data: ")
    tracemalloc.start()
    for _ in range(200_000):
        assert not decoder.feed(b"ab")
    ((_, data),) = decoder.feed(b"\n\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data) == 400_000
    assert peak < 10_000_000


def test_a_long_stream_leaves_nothing_behind():
    decoder = EventDecoder()
    piece = b"data: " + b"x" * 1_000 + b"\n\n"
    decoder.feed(piece)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(20_000):
        decoder.feed(piece)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 10_000
    assert peak - before < 50_000


SERVER_LINES = st.lists(
    st.sampled_from(["data: a", "data: error", "data:b", "event: x", "event: error", "event:error", ":c", "", ""]),
    max_size=14,
)


@given(SERVER_LINES, st.lists(st.integers(0, 200), max_size=8))
def test_data_of_events_is_the_same_without_their_names(lines, places):
    pieces = cut("".join(f"{line}\n" for line in lines).encode(), places)
    named, bare = EventDecoder(), EventDecoder()
    for piece in pieces:
        events = named.feed(piece)
        data, with_errors = bare.feed_data(piece)
        assert data == [event.data for event in events]
        assert with_errors == (events if any(event.name == "error" for event in events) else [])
    assert named.finish() == bare.finish()
