"""Guards over streams: what is held back, what is shown, and how a stream ends."""

import asyncio

import attrs
import pytest

from helmdeck_core import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Guard,
    GuardFinding,
    GuardSpec,
    Message,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolCallDelta,
)
from helmdeck_guards import GuardBlocked, Guards, GuardSender, guarded_stream
from helmdeck_testing import make_deck, plugin_with

TEXT = "Hello! I wrote to [EMAIL_1] and EMAIL\\_2, bob@acme.org, card 4111 1111 1111 1111. DE89 3704 0044 0532 0130 00 is it, call +49 30 901820."
SHOWN = "Hello! I wrote to jane@acme.org and joe@acme.org, [EMAIL], card [CARD]. [IBAN] is it, call [PHONE]."
ARGUMENTS = '{"to": "[EMAIL_1]", "quote": "\\"bo\\u0062@acme.org\\"\\nEMAIL_2"}'
SHOWN_ARGUMENTS = '{"to": "jane@acme.org", "quote": "\\"[EMAIL]\\"\\njoe@acme.org"}'


@attrs.frozen(kw_only=True)
class NoOptions:
    """A kind of guard without options."""


def session_of(*plugins, **tables):
    guards = Guards(make_deck(*plugins, config={"guards": tables}))
    session = guards.session(GuardSender(), "up/m")
    message = Message(Role.USER, (TextPart("jane@acme.org, joe@acme.org"),))
    asyncio.run(session.check_request(ChatRequest(model="up/m", messages=(message,))))
    return session


def streamed(session, deltas, text="", arguments=""):
    """Return the deltas that a caller gets, and the response; the number of consumed deltas is before each."""
    calls = (ToolCall("c", "f", arguments),) if arguments else ()

    async def chunks():
        for delta in deltas:
            taken[0] += 1
            yield [delta]
        yield ChatResponse(text=text, stop_reason=StopReason.END_TURN, tool_calls=calls)

    async def read():
        async for chunk in guarded_stream(session, chunks()):
            if isinstance(chunk, ChatResponse):
                shown.append((taken[0], chunk))
            else:
                shown.extend((taken[0], delta) for delta in chunk)

    taken, shown = [0], []
    try:
        asyncio.run(read())
    except GuardBlocked as exc:
        shown.append((taken[0], exc))
    return shown


def split(text, size):
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 1000])
def test_redaction_and_restoration_do_not_depend_on_chunks(size):
    session = session_of(personal={"kind": "personal_data", "action": "redact"})
    deltas = [ChatDelta(part) for part in split(TEXT, size)]
    deltas += [ChatDelta("", "", ToolCallDelta(0, "c", "f", ""))]
    deltas += [ChatDelta("", "", ToolCallDelta(0, "", "", part)) for part in split(ARGUMENTS, size)]
    *shown, (_, response) = streamed(session, deltas, TEXT, ARGUMENTS)
    assert "".join(delta.text for _, delta in shown) == response.text == SHOWN
    arguments = "".join(delta.tool_call.arguments for _, delta in shown if delta.tool_call)
    assert arguments == response.tool_calls[0].arguments == SHOWN_ARGUMENTS


def test_text_without_a_start_of_a_match_flows_through_at_once():
    session = session_of(personal={"kind": "personal_data", "options": {"detect": ["card"]}}, keys={"kind": "secrets"})
    parts = ["Hello", " world", ", no", " digits."]
    *shown, _ = streamed(session, [ChatDelta(part) for part in parts], "".join(parts))
    assert [(taken, delta.text) for taken, delta in shown] == list(enumerate(parts, 1))


def test_last_word_waits_for_its_end_where_it_may_be_a_mail_address():
    session = session_of(personal={"kind": "personal_data", "action": "redact"})
    *shown, _ = streamed(session, [ChatDelta("Hello"), ChatDelta(" wor"), ChatDelta("ld! ")], "Hello world! ")
    assert [(taken, delta.text) for taken, delta in shown] == [(2, "Hello "), (3, "world! ")]


def test_nothing_of_a_blocked_match_is_shown():
    session = session_of(keys={"kind": "secrets"})
    key = "ghp_" + "a1B2" * 9
    *shown, (_, error) = streamed(session, [ChatDelta(part) for part in split(f"The key is {key} ok", 4)])
    assert "".join(delta.text for _, delta in shown) == "The key is "
    assert isinstance(error, GuardBlocked)


def test_block_in_a_stream_can_be_a_refusal():
    session = session_of(size={"kind": "size", "blocked": "refusal", "when": ["answer"], "options": {"max_chars": 8}})
    *shown, (_, response) = streamed(session, [ChatDelta("1234"), ChatDelta("5678"), ChatDelta("9")])
    assert [delta.text for _, delta in shown] == ["1234", "5678"]
    assert (response.text, response.stop_reason) == ("12345678", StopReason.SAFETY_BLOCKED)
    assert "too_long" in response.refusal


@pytest.mark.parametrize("on_failure", ["block", "pass"])
def test_guard_that_fails_in_a_stream_blocks_or_passes_as_configured(on_failure):
    def fail(text):
        raise TimeoutError(text)

    spec = GuardSpec(name="mine", options=NoOptions, open=lambda *_: Guard(find=lambda _: [], held_from=fail))
    plugin = plugin_with(helmdeck_guards=[spec])
    session = session_of(plugin, mine={"kind": "mine", "when": ["answer"], "on_failure": on_failure})
    *shown, (_, last) = streamed(session, [ChatDelta("one "), ChatDelta("two")], "one two")
    if on_failure == "block":
        assert not shown
        assert "TimeoutError" in str(last)
        assert "one" not in str(last)
    else:
        assert ["".join(delta.text for _, delta in shown), last.text] == ["one two", "one two"]
        assert [report.outcome for report in session.reports] == ["failed_open"]


def test_reasoning_is_guarded_too():
    session = session_of(personal={"kind": "personal_data", "action": "redact"})
    *shown, _ = streamed(session, [ChatDelta("", "bob@ac"), ChatDelta("", "me.org [EMAIL_1]"), ChatDelta("ok")], "ok")
    assert "".join(delta.reasoning_content for _, delta in shown) == "[EMAIL] jane@acme.org"


def checking(window_chars, seen):
    async def check(subject):
        seen.append((subject.stage, subject.texts[0] if subject.texts else ""))
        return [GuardFinding("bad")] if "bad" in "".join(subject.texts) else []

    spec = GuardSpec(name="mine", options=NoOptions, open=lambda *_: Guard(check=check, window_chars=window_chars))
    return plugin_with(helmdeck_guards=[spec])


def test_service_checks_a_stream_window_by_window():
    seen = []
    session = session_of(checking(10, seen), mine={"kind": "mine", "when": ["answer"]})
    parts = ["12345", "67890", "abcde", "fghij", "b", "ad", "....."]
    *shown, (_, error) = streamed(session, [ChatDelta(part) for part in parts], "".join(parts))
    assert [(taken, delta.text) for taken, delta in shown] == [(2, "12345"), (2, "67890"), (4, "abcde"), (4, "fghij")]
    assert isinstance(error, GuardBlocked)


def test_service_without_a_window_holds_the_whole_answer():
    seen = []
    session = session_of(checking(0, seen), mine={"kind": "mine", "when": ["answer"]})
    ((taken, response),) = streamed(session, [ChatDelta("a"), ChatDelta("b")], "ab")
    assert (taken, response.text, seen) == (2, "ab", [("answer", "ab")])


def test_guards_apply_by_model_key_team_and_dialect():
    tables = {
        "a": {"kind": "secrets", "models": ["up/*"], "teams": ["red"]},
        "b": {"kind": "secrets", "keys": ["ci"], "dialects": ["chat"]},
    }
    guards = Guards(make_deck(config={"guards": tables}))

    def names(model, **sender):
        session = guards.session(GuardSender(**sender), model)
        return [each.name for each in session.guards] if session else []

    assert names("up/m", team="red") == ["a"]
    assert names("other/m", team="red", key="ci", dialect="chat") == ["b"]
    assert names("up/m", key="ci", dialect="messages") == []
