"""Requests beside transcripts: what people in them ask for is not the request, whatever the labels look like."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_language.request.reading import read
from helmdeck_language.request.sentences import sentences
from helmdeck_language.request.turns import turns
from tests.case_support import each_case

SAID = (
    "The printer on the second floor is jammed again.", "Did you open the rear cover and look for paper?",
    "I did. Please send the colleague who knows the machine.", "Bruno can come at three, is that early enough?",
    "Not really. Can you book the small meeting room for us instead?", "It is taken until four. Ask Mina to swap with us.",
    "Fine. Remind me to bring the long cable.", "I will write it on the board.",
)  # fmt: skip
REQUEST = "Translate my shopping notes into Danish and mail them to my sister."


def transcript(label: str, joint: str = "\n") -> str:
    names = ("Ann", "Bruno")
    return joint.join(
        label.format(name=names[at % 2], number=at % 2, at=at, time=f"09:{10 + at}") + text
        for at, text in enumerate(SAID)
    )


STYLES = {
    "name": "{name}: ", "time and name": "[{time}] {name}: ", "name and time": "{name} ({time}): ", "nick": "<{name}> ",
    "log": "{time} <{name}> ", "speaker": "Speaker {number}: ", "diarised": "SPEAKER_0{number} --> ", "export": "12/05/24, {time} - {name}: ",
    "bold": "**{name}:** ", "quote": "> ", "slack": "{name}  {time} AM\n", "subtitle": "{at}\n00:00:{at}1,000 --> 00:00:{at}4,000\n",
}  # fmt: skip


def asking(text: str) -> str:
    return " ".join(read(text).asking)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("position", ["behind", "before"])
def test_requests_of_people_in_a_transcript_are_not_the_request(style: str, position: str) -> None:
    said = transcript(STYLES[style], "\n\n" if style in ("slack", "subtitle") else "\n")
    assert asking(f"{said}\n\n{REQUEST}" if position == "behind" else f"{REQUEST}\n\n{said}") == REQUEST


def test_request_inside_a_transcript_is_found() -> None:
    lines = transcript(STYLES["name"]).splitlines()
    assert asking("\n".join([*lines[:4], "", REQUEST, "", *lines[4:]])) == REQUEST


def kinds(text: str) -> str:
    found = sentences(text)
    parts = turns(found)
    return "".join(
        "T" if place in parts.inside else "O" if place in parts.outside else "?" for place in range(len(found))
    )


@each_case(
    ("text", "expected"),
    [
        ("a: x\nb: y\na: z\nb: w\nwrite it down", "TTTTO"),
        ("a: x\n\nwrite it down\n\nb: y\n\na: z\n\nb: w. v", "TOTTT?"),
        ("ann 9:01\nx\n\nbo 9:02\ny\n\nann 9:03\nz\n\nbo 9:04\nw\nwrite it down", "TTTTTTTTO"),
        (
            "ann commented 2 days ago\nx\n\nbo commented 3 days ago\ny\n\nann commented 4 days ago\nz\n\nwrite it",
            "TTTTTTO",
        ),
        ("> x\n>\n> y\n> z\n\nwrite it down", "TTTTO"),
        ("do it\nFrom: a\nTo: b\n\nhello\n\na wrote:\n> x\n> y\n> z", "OTT?TTTT"),
        ("a: x\nb: y\na: z\nb: w\n\nDay 1: run\nDay 2: swim", "TTTTOO"),
    ],
)
def test_a_sentence_is_outside_where_no_other_turn_continues(text: str, expected: str) -> None:
    assert kinds(text) == expected


def test_a_short_transcript_is_a_document_but_a_short_list_is_not() -> None:
    lines = transcript(STYLES["name"]).splitlines()[2:6]
    short = "\n".join(lines)
    assert len(f"{short}\n\n{REQUEST}") < 400
    assert asking(f"{short}\n\n{REQUEST}") == REQUEST
    plan = (
        "9:00 call the dentist.\n10:30 print the tickets.\n12:00 book a table for two.\n15:00 mail the report to Eva."
    )
    assert asking(plan).split() == plan.split()


@each_case(
    "text",
    [
        "Step 1: open the lid.\nStep 2: add water.\nStep 3: close the lid.\nStep 4: press start.",
        "Monday: book a flight.\nTuesday: find a hotel.\nFriday: send the invoice.",
        "1. Buy milk.\n2. Call Ada.\n3. Print the tickets.",
        "Note: the shop is closed.\nPlease order two lamps.\nThanks: it is urgent.",
        "",
    ],
)
def test_lists_and_single_labels_are_no_turns(text: str) -> None:
    assert turns(sentences(text)).inside == frozenset()


@given(st.lists(st.sampled_from(["Ann: hi.", "Bo: yes.", "[10:00] hm", "> so", "plain line.", "\n", "<x> y", "12:30", "Q1. why?"]), max_size=30))  # fmt: skip
def test_no_sentence_is_both_inside_and_outside_of_the_turns(lines: list[str]) -> None:
    found = sentences("\n".join(lines))
    inside, outside, starts, *_ = turns(found)
    assert starts <= inside
    assert not inside & outside and inside | outside <= set(range(len(found)))


def test_labels_of_a_long_line_are_found_in_linear_time() -> None:
    found = sentences("\n".join(f"{'ab ' * 4_000}{number}" for number in range(4)))
    assert turns(found).inside == frozenset() and not re.search(r"\n", found[0].text)
