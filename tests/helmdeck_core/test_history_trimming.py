"""Conversations that exceed a window: which messages are dropped first, which stay, and that calls stay with their results."""

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import ImagePart, Message, Role, TextPart, ToolCall
from helmdeck_core.calls.history_trimming import drop_oldest_turns


def message(role, text="x" * 10, **more):
    return Message(Role(role), (TextPart(text),), **more)


def calls(*ids):
    return message("assistant", tool_calls=tuple(ToolCall(each, "look", "{}") for each in ids))


def result(call_id):
    return message("tool", tool_call_id=call_id)


SYSTEM, USER, SAYS = message("system"), message("user"), message("assistant")


def test_oldest_turns_are_dropped_and_system_messages_kept():
    turns = [message("user", f"question {number}") for number in range(4)]
    talk = [SYSTEM, *(each for turn in turns for each in (turn, SAYS))]
    kept = drop_oldest_turns(talk, 0.7)
    assert kept == (SYSTEM, *talk[5:])


def test_newest_turn_is_always_kept():
    talk = [SYSTEM, USER, SAYS, message("user", "y" * 1_000), calls("a"), result("a")]
    assert drop_oldest_turns(talk, 0.1) == (SYSTEM, *talk[3:])
    assert drop_oldest_turns(talk[3:], 0.1) == tuple(talk[3:])


def test_consecutive_user_messages_are_one_turn():
    talk = [USER, SAYS, message("user", "look at this"), Message(Role.USER, (ImagePart("image/png", b"x"),))]
    assert drop_oldest_turns(talk, 0.1) == tuple(talk[2:])


def test_leading_assistant_message_is_the_oldest_turn():
    later = message("system", "later")
    talk = [SYSTEM, SAYS, USER, later, SAYS, USER]
    assert drop_oldest_turns(talk, 0.9) == (SYSTEM, *talk[2:])
    assert drop_oldest_turns(talk, 0.1) == (SYSTEM, later, USER)


def test_late_tool_result_stays_with_its_call():
    talk = [USER, SAYS, USER, calls("a", "b"), result("a"), message("user", "well?"), result("b"), SAYS, USER]
    assert drop_oldest_turns(talk, 0.85) == tuple(talk[2:])
    assert drop_oldest_turns(talk, 0.2) == (USER,)


def test_reused_call_id_does_not_join_turns():
    turn = [USER, calls("a"), result("a"), SAYS]
    assert drop_oldest_turns(turn * 3, 0.4) == tuple(turn)


def test_image_has_a_fixed_size():
    image = Message(Role.USER, (ImagePart("image/png", b"x" * 1_000_000),))
    talk = [image, SAYS, message("user", "y" * 3_000)]
    assert drop_oldest_turns(talk, 0.6) == (talk[2],)
    assert drop_oldest_turns([*talk[:2], USER], 0.99) == (USER,)


MESSAGES = st.lists(
    st.one_of(
        st.sampled_from([SYSTEM, USER, SAYS]),
        st.sampled_from("abc").map(lambda each: calls(each)),
        st.sampled_from("abc").map(result),
    ),
    max_size=12,
)


@given(MESSAGES, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_rest_is_a_suffix_without_orphaned_tool_calls(talk, one, other):
    kept = drop_oldest_turns(talk, one)
    spoken = [each for each in talk if each is not SYSTEM]
    left = [each for each in kept if each is not SYSTEM]
    assert len(kept) - len(left) == len(talk) - len(spoken), "the system's words stay"
    assert left == spoken[len(spoken) - len(left) :]
    assert bool(left) == bool(spoken)
    less, more = sorted((one, other))
    assert len(drop_oldest_turns(talk, less)) <= len(drop_oldest_turns(talk, more))
    dropped = spoken[: len(spoken) - len(left)]
    for number, each in enumerate(dropped):
        behind = [other.tool_call_id for other in spoken[number + 1 : len(dropped)]]
        for call in each.tool_calls:
            assert call.id in behind or call.id not in [other.tool_call_id for other in left]
    if left and dropped:
        assert left[0].role is Role.USER
