"""Hooks that read responses, each used as a third party would use it."""

import pytest

from helmdeck_core import (
    AnswerFormat,
    AnswerType,
    CallFailed,
    ChatRequest,
    ChatResponse,
    ConfigError,
    ContinuationAnnouncement,
    ContinuationMergerSpec,
    Decoded,
    DecoderSpec,
    DecodeStep,
    InvalidRequest,
    Merged,
    Message,
    NativeContinuation,
    PluginError,
    ReasoningTag,
    RefusalPattern,
    Role,
    StopReason,
    Stripped,
    TextPart,
    ToolCallFormat,
    ToolCallReaderSpec,
    ToolCalls,
)
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.helmdeck_core.hooks_support import continued, contributing


def test_helmdeck_continuation_announcements_are_removed_in_one_more_language(deck_with):
    more = "Natuurlijk, ik ga verder:\n\nlf of it"
    dutch = ContinuationAnnouncement(language="nl", openers=("natuurlijk",), phrases=("ga verder",))
    announcements = contributing("helmdeck_continuation_announcements", dutch)
    replies = [Reply("The first ha", "length"), Reply(more)]
    assert continued(deck_with(announcements, scripted_provider(replies))).text == "The first half of it"
    assert continued(deck_with(scripted_provider(replies))).text == "The first ha" + more
    replies = [Reply("The first ha", "length"), Reply("Sure, continuing:\n\nlf of it")]
    assert continued(deck_with(announcements, scripted_provider(replies))).text == "The first half of it"


class DashMerger:
    """Joins parts with a dash."""

    def merge(self, answer, more, *, is_truncated=False):
        return Merged(f"{answer}-{more}", f"-{more}")

    def alternatives(self, answer, more):
        return ()

    def stream(self, answer):
        raise KeyError("no streams")


HALVES = [Reply("The first ha", "length"), Reply("a half of it")]


def test_helmdeck_continuation_mergers_with_the_lowest_order_join_the_parts(deck_with):
    first = ContinuationMergerSpec(name="acme", open=lambda announcements: DashMerger(), order=-1)
    last = ContinuationMergerSpec(name="acme", open=lambda announcements: 1 / 0, order=1)
    acme = contributing("helmdeck_continuation_mergers", first)
    assert continued(deck_with(acme, scripted_provider(HALVES))).text == "The first ha-a half of it"
    acme = contributing("helmdeck_continuation_mergers", last)
    assert continued(deck_with(acme, scripted_provider(HALVES))).text == "The first haa half of it"


def test_helmdeck_continuation_mergers_that_fail_name_their_plugin(deck_with):
    failing = ContinuationMergerSpec(name="seam", open=lambda announcements: 1 / 0)
    with pytest.raises(PluginError, match="plugin 'acme-1'.*ZeroDivisionError"):
        deck_with(contributing("helmdeck_continuation_mergers", failing))
    dashes = ContinuationMergerSpec(name="seam", open=lambda announcements: DashMerger())
    deck = deck_with(contributing("helmdeck_continuation_mergers", dashes), scripted_provider(HALVES))
    request = ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*KeyError: 'no streams'"):
        list(deck.stream(request))


@pytest.mark.parametrize("is_streamed", [False, True])
def test_without_a_merger_the_parts_of_an_answer_are_joined_as_they_are(is_streamed):
    native = contributing("helmdeck_native_continuations", NativeContinuation(prefix="scripted/"))
    script = scripted_provider([Reply("one, two, ", "length"), Reply("two, three")])
    with make_deck(native, script, config={"plugins": {"disable": ["continuation"]}}) as deck:
        request = ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart("go"),)),))
        whole = list(deck.stream(request))[-1] if is_streamed else deck.complete(request)
    assert whole.text == "one, two, two, three"


def test_helmdeck_reasoning_tags_are_stripped(deck_with):
    tag = ReasoningTag(name="acme.musing", open="<musing>", close=("</musing>",))
    text = '<musing>maybe {"steps": []}</musing>{"a": 1}'
    deck = deck_with(contributing("helmdeck_reasoning_tags", tag))
    assert deck.decode(text, dict).value == {"a": 1}


class NoDecoder:
    """Decodes every response as the same value."""

    def strip(self, text):
        return Stripped(text)

    def has_reasoning(self, text):
        return False

    def stream(self, **options):
        raise AssertionError

    def decode(self, raw, type, stop=None, **options):
        return Decoded({"always": "this"}, "acme")


def test_helmdeck_decoders_with_the_lowest_order_decode_all_responses(deck_with):
    first = DecoderSpec(name="acme", open=lambda *contributed: NoDecoder(), order=-1)
    last = DecoderSpec(name="acme", open=lambda *contributed: 1 / 0, order=1)
    assert deck_with(contributing("helmdeck_decoders", first)).decode("no JSON", dict).value == {"always": "this"}
    assert deck_with(contributing("helmdeck_decoders", last)).decode('{"a": 1}', dict).value == {"a": 1}


@pytest.mark.parametrize(
    ("opened", "words"),
    [(lambda *contributed: 1 / 0, "ZeroDivisionError"), (lambda *contributed: object(), "has no method strip")],
)
def test_helmdeck_decoders_that_cannot_be_opened_name_their_plugin(deck_with, opened, words):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*{words}"):
        deck_with(contributing("helmdeck_decoders", DecoderSpec(name="json", open=opened)))


def test_a_deck_without_a_decoder_is_a_mistake_of_the_configuration():
    with pytest.raises(ConfigError, match=r"plugins\.disable: no plugin contributes a decoder"):
        make_deck(config={"plugins": {"disable": ["decoder"]}})


def test_helmdeck_decode_steps_read_what_strict_decoding_refused(deck_with):
    def colons(text):
        return [text.replace(" =", ":")]

    deck = deck_with(contributing("helmdeck_decode_steps", DecodeStep(name="acme.colons", candidates=colons, order=1)))
    decoded = deck.decode('{"a" = 1}', dict)
    assert (decoded.value, decoded.step, decoded.repairs) == ({"a": 1}, "acme.colons", ("acme.colons",))


def test_helmdeck_answer_types_decode_one_more_type(deck_with):
    def format_of(type):
        return (
            AnswerFormat(schema={"type": "object"}, decode_as=dict, parse=lambda data: complex(data["re"], data["im"]))
            if type is complex
            else None
        )

    deck = deck_with(
        contributing("helmdeck_answer_types", AnswerType(name="complex", description="complex", format_of=format_of))
    )
    assert deck.decode('{"re": 1, "im": 2}', complex).value == 1 + 2j


def test_helmdeck_refusal_patterns_recognise_one_more_language(deck_with):
    dutch = RefusalPattern(
        language="nl", pattern=r"(?:het spijt me, (?:maar )?)?(?:dat|ik) (?:kan|mag) (?:ik )?(?:dat )?niet"
    )
    deck = deck_with(contributing("helmdeck_refusal_patterns", dutch))
    for text in ("Het spijt me, maar dat kan ik niet doen.", "I cannot help with that."):
        with pytest.raises(CallFailed) as caught:
            deck.decode(text, dict)
        assert caught.value.sub_cause == "refusal"


def test_malformed_refusal_patterns_name_their_plugin_at_start_up(deck_with):
    for pattern, problem in (("ik (kan", "is not a regular expression"), ("(?:nee)?", "matches the empty string")):
        plugin = contributing("helmdeck_refusal_patterns", RefusalPattern(language="nl", pattern=pattern))
        with pytest.raises(PluginError, match=f"plugin 'acme-1'.*RefusalPattern 'nl': .*{problem}"):
            deck_with(plugin)


def test_helmdeck_tool_call_formats_are_found_in_text(deck_with):
    call_format = ToolCallFormat(name="acme", open=("<<run ",), close=(">>",), head=r"(?P<name>\w+) ")
    deck = deck_with(contributing("helmdeck_tool_call_formats", call_format))
    found = deck.tool_calls('I look. <<run search {"q": "a >> b"}>>')
    assert (found.text, found.calls[0].call.name, found.calls[0].args) == ("I look.", "search", {"q": "a >> b"})
    assert found.calls[0].format == "acme"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"open": ("<x>",), "head": "("}, "head is not a valid regular expression"),
        ({"open": ("<x>",), "head": "x"}, "head has no group 'name'"),
        ({"open": ("",)}, "a mark is empty"),
        ({}, "neither an opening mark nor a protocol"),
        ({"open": ("<x>",), "argument": "<(?P<key>a)>"}, "require each other"),
    ],
)
def test_helmdeck_tool_call_formats_that_cannot_work_name_their_plugin(deck_with, fields, words):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*ToolCallFormat 'acme': .*{words}"):
        deck_with(contributing("helmdeck_tool_call_formats", ToolCallFormat(name="acme", **fields)))


def test_helmdeck_tool_call_formats_whose_translation_fails_name_their_plugin(deck_with):
    call_format = ToolCallFormat(name="acme", open=("@@",), translate=lambda text: 1 / 0)
    deck = deck_with(contributing("helmdeck_tool_call_formats", call_format))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*ZeroDivisionError"):
        deck.tool_calls("@@{a}")


class SilentReader:
    """Finds no call in any response."""

    def read(self, text, **options):
        return ToolCalls(text=f"read: {text}")

    def judge(self, response, **options):
        return ToolCalls(text=f"judged: {response.text}")


def test_helmdeck_tool_call_readers_with_the_lowest_order_read_all_calls(deck_with):
    first = ToolCallReaderSpec(name="acme", open=lambda context: SilentReader(), order=-1)
    last = ToolCallReaderSpec(name="acme", open=lambda context: 1 / 0, order=1)
    written = '<tool_call>{"name": "search", "arguments": {}}</tool_call>'
    response = ChatResponse(text="x", stop_reason=StopReason.END_TURN, raw_stop_reason="stop")
    deck = deck_with(contributing("helmdeck_tool_call_readers", first))
    assert deck.tool_calls(written).text == f"read: {written}"
    assert deck.tool_calls(response).text == "judged: x"
    assert len(deck_with(contributing("helmdeck_tool_call_readers", last)).tool_calls(written).calls) == 1


@pytest.mark.parametrize(
    ("opened", "words"),
    [(lambda context: 1 / 0, "ZeroDivisionError"), (lambda context: object(), "has no method read")],
)
def test_helmdeck_tool_call_readers_that_cannot_be_opened_name_their_plugin(deck_with, opened, words):
    spec = ToolCallReaderSpec(name="formats", open=opened)
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*{words}"):
        deck_with(contributing("helmdeck_tool_call_readers", spec))


def test_helmdeck_tool_call_readers_that_fail_later_name_their_plugin(deck_with):
    class Careless(SilentReader):
        def judge(self, response, **options):
            return None

    spec = ToolCallReaderSpec(name="formats", open=lambda context: Careless())
    deck = deck_with(contributing("helmdeck_tool_call_readers", spec))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*returned NoneType, not ToolCalls"):
        deck.tool_calls(ChatResponse(text="x", stop_reason=StopReason.END_TURN, raw_stop_reason="stop"))


def test_without_a_reader_of_tool_calls_reading_them_is_an_error():
    with (
        make_deck(config={"plugins": {"disable": ["tool_call_reader"]}}) as deck,
        pytest.raises(InvalidRequest, match=r"no plugin contributes a reader of tool calls; see plugins\.disable"),
    ):
        deck.tool_calls("x")
