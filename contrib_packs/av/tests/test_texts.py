"""What is spoken and when: Markdown, scripts, clips and captions."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_pack_av.captions import Cue, cues, web_vtt
from helmdeck_pack_av.slide_input import read_outline
from helmdeck_pack_av.spoken_text import Turn, clips, plain, turns


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("# Bees\nThey **dance** in\nthe `dark`.\n\n- one\n- two!", "Bees.\nThey dance in the dark.\none.\ntwo!"),
        ("See [the page](https://example.com/a) or https://example.com/b now", "See the page or now."),
        ("before\n\n```sh\nrm -rf x\n```\n\nafter", "before.\nafter."),
        ("snake_case and 2 * 3 stay\x00\x1b", "snake_case and 2 * 3 stay."),
        ("---\n***\n| |\n", ""),
    ],
)
def test_markup_is_not_spoken(text, spoken):
    assert plain(text) == spoken


def test_a_text_of_many_brackets_is_spoken_without_a_long_search():
    assert plain(f"{'[' * 100_000} Bees dance.").endswith("[ Bees dance.")


def test_lines_with_two_labels_are_a_script_and_labels_are_not_spoken():
    assert turns("Ada: Hello.\n**Ben:** Hi: you!\n\nADA: Bye.", hosts=2) == [
        Turn(0, "Hello."),
        Turn(1, "Hi: you!"),
        Turn(0, "Bye."),
    ]


@pytest.mark.parametrize("text", ["Note: one.\nNote: two.", "A: 1.\nB: 2.\nC: 3.", "Ada: Hello.\nand more.\nBen: Hi."])
def test_other_lines_with_colons_are_a_text(text):
    assert " ".join(turn.text for turn in turns(text, hosts=1)) == plain(text).replace("\n", " ")


def test_two_hosts_read_a_text_in_turn():
    assert [turn.host for turn in turns("One.\n\nTwo.\n\nThree.", hosts=2)] == [0, 1, 0]
    assert [turn.text for turn in turns("A b. C d. E f. G h. I j.", hosts=2)] == ["A b. C d.", "E f. G h.", "I j."]


def test_a_script_of_two_hosts_is_read_by_one_voice_if_there_is_one_host():
    assert {turn.host for turn in turns("Ada: Hello.\nBen: Hi.", hosts=1)} == {0}


@settings(max_examples=40)
@given(st.text(alphabet="ab c.!?。\n\"'", max_size=300), st.integers(10, 60))
def test_clips_are_short_and_lose_no_letter(text, max_chars):
    found = clips(plain(text), max_chars)
    assert all(len(each) <= max_chars for each in found)
    assert re.findall(r"[abc]", "".join(found)) == re.findall(r"[abc]", text)


@settings(max_examples=40)
@given(st.text(max_size=300))
def test_any_text_becomes_turns_without_control_characters(text):
    for turn in turns(text, hosts=2):
        assert turn.text.strip()
        assert not re.search(r"[\x00-\x1f\x7f]", turn.text)


def test_captions_fill_the_time_of_a_clip_in_their_order():
    text = "Bees dance in the dark hive. " * 6
    found = list(cues(text, 10.0, 40.0))
    assert (found[0].start_s, found[-1].end_s) == (10.0, pytest.approx(40.0))
    assert all(before.end_s == after.start_s for before, after in itertools.pairwise(found))
    assert " ".join(cue.text for cue in found) == text.strip()


def test_captions_escape_what_web_vtt_would_interpret():
    assert web_vtt([Cue(0, 3661.5, "a <b> --> & c")]) == (
        "WEBVTT\n\n00:00:00.000 --> 01:01:01.500\na &lt;b&gt; --&gt; &amp; c\n"
    )


def test_outline_as_markdown_and_as_data_are_the_same_slides():
    data = {"title": "Bees", "slides": [{"message": "They dance.", "bullets": ["In the dark"], "notes": "Say\nthis."}]}
    assert read_outline(data) == read_outline("# Bees\n\n## 1. They dance.\n\n- In the dark\n\n> Say\n> this.\n")
