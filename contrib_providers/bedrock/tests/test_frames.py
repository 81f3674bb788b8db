"""Event-stream frames: independent of chunk boundaries, and damage is detected immediately."""

import struct
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_provider_bedrock.frames import DamagedFrame, FrameReader


def split(data, cuts):
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def test_frame_has_headers_and_payload(frame):
    (found,) = FrameReader().feed(frame("messageStop", {"stopReason": "end_turn"}))
    assert found.payload == b'{"stopReason": "end_turn"}'
    assert found.headers == {
        ":message-type": "event",
        ":event-type": "messageStop",
        ":content-type": "application/json",
    }


@given(st.lists(st.integers(0, 10_000), max_size=30), st.lists(st.binary(max_size=50), max_size=6))
def test_frames_do_not_depend_on_chunk_boundaries(frame, cuts, payloads):
    data = b"".join(frame("contentBlockDelta", payload) for payload in payloads)
    reader = FrameReader()
    found = [each.payload for piece in split(data, cuts) for each in reader.feed(piece)]
    assert found == payloads
    assert reader.held_bytes == 0


@given(st.data())
def test_damaged_byte_never_yields_another_frame(frame, data):
    whole = frame("contentBlockDelta", {"delta": {"text": "tide"}})
    place, byte = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 255))
    damaged = whole[:place] + bytes([byte]) + whole[place + 1 :]
    reader = FrameReader()
    if damaged == whole:
        assert len(list(reader.feed(damaged))) == 1
    else:
        with pytest.raises(DamagedFrame):
            list(reader.feed(damaged))


def test_frames_before_the_damage_are_read(frame):
    good, bad = frame("messageStart", {}), bytearray(frame("messageStop", {}))
    bad[-1] ^= 1
    found = []
    with pytest.raises(DamagedFrame, match="checksum of a frame is wrong"):
        found.extend(each.headers[":event-type"] for each in FrameReader().feed(good + bytes(bad)))
    reader = FrameReader()
    stream = reader.feed(good + bytes(bad))
    assert next(stream).headers[":event-type"] == "messageStart"


@pytest.mark.parametrize("total", [2**32 - 1, 2**31, 30_000_000])
def test_excessive_length_is_rejected_immediately(total):
    prelude = struct.pack(">II", total, 0)
    with pytest.raises(DamagedFrame, match="the limit is"):
        list(FrameReader().feed(prelude + struct.pack(">I", crc32(prelude))))


@pytest.mark.parametrize(("total", "headers"), [(0, 0), (15, 0), (16, 1), (40, 2**32 - 1)])
def test_contradictory_lengths_are_rejected(total, headers):
    prelude = struct.pack(">II", total, headers)
    with pytest.raises(DamagedFrame, match="bytes of headers"):
        list(FrameReader().feed(prelude + struct.pack(">I", crc32(prelude))))


def raw_frame(head):
    prelude = struct.pack(">II", 16 + len(head), len(head))
    body = prelude + struct.pack(">I", crc32(prelude)) + head
    return body + struct.pack(">I", crc32(body))


def test_headers_of_other_types_are_skipped():
    widths = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
    head = b"".join(b"\x01x" + bytes([kind]) + b"\xff" * width for kind, width in widths.items())
    head += b"\x01y\x06\x00\x02\xff\xff" + b"\x01z\x07\x00\x02ok"
    (found,) = FrameReader().feed(raw_frame(head))
    assert found.headers == {"z": "ok"}


@pytest.mark.parametrize(
    "head",
    [
        b"\x05ab",
        b"\x01a",
        b"\x01a\x07",
        b"\x01a\x07\x00\x09ab",
        b"\x01a\x63",
        b"\x01a\x04\x00",
        b"\x01a\x07\x00\x01\xff",
    ],
)
def test_unreadable_headers_are_rejected(head):
    with pytest.raises(DamagedFrame, match="header"):
        list(FrameReader().feed(raw_frame(head)))


@given(st.binary(max_size=300))
def test_any_bytes_are_frames_or_damage(data):
    reader = FrameReader()
    try:
        frames = list(reader.feed(data))
    except DamagedFrame:
        return
    assert sum(len(each.payload) for each in frames) + reader.held_bytes <= len(data)


def test_large_frame_in_many_chunks_has_linear_cost(frame):
    data = frame("contentBlockDelta", b"x" * 4_000_000)
    reader = FrameReader()
    found = [each for start in range(0, len(data), 1000) for each in reader.feed(data[start : start + 1000])]
    assert [each.payload for each in found] == [b"x" * 4_000_000]


def test_frame_that_arrives_byte_by_byte_is_yielded_with_its_last_byte(frame):
    data = frame("messageStop", {"stopReason": "end_turn"})
    reader = FrameReader()
    found = [list(reader.feed(data[number : number + 1])) for number in range(len(data))]
    assert [len(each) for each in found] == [0] * (len(data) - 1) + [1]
    assert reader.held_bytes == 0
    assert len(list(reader.feed(data * 2))) == 2
