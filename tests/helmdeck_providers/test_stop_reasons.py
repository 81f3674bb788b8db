"""The tables of native stop reasons: an unknown word is never a clean end, in no wire format and in none at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import DISPOSITIONS, Disposition, StopReason, StopReasonTable, hookimpl
from helmdeck_providers import stop_reasons
from helmdeck_providers.wire_formats import anthropic, gemini, ollama, openai_chat
from helmdeck_testing import make_deck
from tests.case_support import each_case

TABLES = {
    table.name: table.reasons
    for plugin in (openai_chat, anthropic, gemini, ollama, stop_reasons)
    for table in plugin.helmdeck_stop_reasons()
}

ROWS = [
    ("openai", "stop", StopReason.END_TURN),
    ("openai", "eos", StopReason.END_TURN),
    ("openai", "eos_token", StopReason.END_TURN),
    ("openai", "stop_sequence", StopReason.END_TURN),
    ("openai", "end_turn", StopReason.END_TURN),
    ("openai", "tool_calls", StopReason.TOOL_CALL),
    ("openai", "function_call", StopReason.TOOL_CALL),
    ("openai", "length", StopReason.MAX_TOKENS),
    ("openai", "content_filter", StopReason.SAFETY_BLOCKED),
    ("openai", "sensitive", StopReason.SAFETY_BLOCKED),
    ("openai", "model_length", StopReason.CONTEXT_WINDOW_EXCEEDED),
    ("openai", "model_context_window_exceeded", StopReason.CONTEXT_WINDOW_EXCEEDED),
    ("openai", "abort", StopReason.CANCELLED),
    ("openai", "error", StopReason.UNKNOWN),
    ("openai", "load", StopReason.UNKNOWN),
    ("openai", "network_error", StopReason.UNKNOWN),
    ("openai", "insufficient_system_resource", StopReason.UNKNOWN),
    ("openai", "", StopReason.UNKNOWN),
    ("openai", None, StopReason.UNKNOWN),
    ("anthropic", "end_turn", StopReason.END_TURN),
    ("anthropic", "tool_use", StopReason.TOOL_CALL),
    ("anthropic", "max_tokens", StopReason.MAX_TOKENS),
    ("anthropic", "model_context_window_exceeded", StopReason.CONTEXT_WINDOW_EXCEEDED),
    ("anthropic", "refusal", StopReason.SAFETY_BLOCKED),
    ("anthropic", "pause_turn", StopReason.UNKNOWN),
    ("anthropic", "compaction", StopReason.UNKNOWN),
    ("gemini", "STOP", StopReason.END_TURN),
    ("gemini", "MAX_TOKENS", StopReason.MAX_TOKENS),
    ("gemini", "CONTINUATION", StopReason.MAX_TOKENS),
    ("gemini", "SAFETY", StopReason.SAFETY_BLOCKED),
    ("gemini", "RECITATION", StopReason.SAFETY_BLOCKED),
    ("gemini", "MODEL_ARMOR", StopReason.SAFETY_BLOCKED),
    ("gemini", "promptFeedback:OTHER", StopReason.SAFETY_BLOCKED),
    ("gemini", "OTHER", StopReason.UNKNOWN),
    ("gemini", "LANGUAGE", StopReason.UNKNOWN),
    ("gemini", "MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN),
    ("gemini", "UNEXPECTED_TOOL_CALL", StopReason.UNKNOWN),
    ("gemini", "FINISH_REASON_UNSPECIFIED", StopReason.UNKNOWN),
    ("bedrock", "guardrail_intervened", StopReason.SAFETY_BLOCKED),
    ("bedrock", "content_filtered", StopReason.SAFETY_BLOCKED),
    ("bedrock", "FINISH", StopReason.END_TURN),
    ("bedrock", "malformed_tool_use", StopReason.UNKNOWN),
    ("cohere", "COMPLETE", StopReason.END_TURN),
    ("cohere", "TOOL_CALL", StopReason.TOOL_CALL),
    ("cohere", "USER_CANCEL", StopReason.CANCELLED),
    ("cohere", "ERROR", StopReason.UNKNOWN),
    ("cohere", "TIMEOUT", StopReason.UNKNOWN),
    ("ollama", "length", StopReason.MAX_TOKENS),
    ("ollama", "load", StopReason.UNKNOWN),
    ("ollama", "unload", StopReason.UNKNOWN),
    ("openai-responses", "incomplete:max_output_tokens", StopReason.MAX_TOKENS),
    ("openai-responses", "failed", StopReason.UNKNOWN),
    ("openai-responses", "in_progress", StopReason.UNKNOWN),
    ("xai", "REASON_MAX_CONTEXT", StopReason.CONTEXT_WINDOW_EXCEEDED),
    ("xai", "REASON_TIME_LIMIT", StopReason.UNKNOWN),
    ("no-such-format", "stop", StopReason.UNKNOWN),
]

WITHOUT_WIRE_FORMAT = [
    ("stop", StopReason.END_TURN),
    ("end_turn", StopReason.END_TURN),
    ("COMPLETE", StopReason.END_TURN),
    ("MAX_TOKENS", StopReason.MAX_TOKENS),
    ("length", StopReason.MAX_TOKENS),
    ("model_length", StopReason.CONTEXT_WINDOW_EXCEEDED),
    ("SAFETY", StopReason.SAFETY_BLOCKED),
    ("refusal", StopReason.SAFETY_BLOCKED),
    ("guardrail_intervened", StopReason.SAFETY_BLOCKED),
    ("tool_use", StopReason.TOOL_CALL),
    ("abort", StopReason.CANCELLED),
    (" Stop ", StopReason.END_TURN),
    ("OTHER", StopReason.UNKNOWN),
    ("error", StopReason.UNKNOWN),
    ("quantum_halt", StopReason.UNKNOWN),
]


@pytest.fixture(scope="module")
def normalise():
    with make_deck() as deck:
        yield deck.runtime.normalise_stop


@each_case(("wire_format", "raw", "expected"), ROWS)
def test_native_stop_reason_is_normalised_by_its_table(normalise, wire_format, raw, expected):
    assert normalise(raw, wire_format) is expected


@each_case(("raw", "expected"), WITHOUT_WIRE_FORMAT)
def test_reason_without_table_name_is_looked_up_in_all_tables(normalise, raw, expected):
    assert normalise(raw, "") is expected


def test_no_native_reason_has_two_meanings():
    meanings: dict[str, set[StopReason]] = {}
    for reasons in TABLES.values():
        for word, reason in reasons.items():
            meanings.setdefault(word, set()).add(reason)
    assert {word: found for word, found in meanings.items() if len(found) > 1} == {}


def test_tables_are_lower_case_and_list_no_unknown():
    for reasons in TABLES.values():
        assert all(word == word.casefold().strip() != "" for word in reasons)
        assert StopReason.UNKNOWN not in reasons.values()


KNOWN = frozenset(word for reasons in TABLES.values() for word in reasons)


@given(st.text())
def test_unlisted_reason_is_unknown_everywhere(raw):
    found = {reasons.get(raw.strip().casefold(), StopReason.UNKNOWN) for reasons in TABLES.values()}
    assert found == {StopReason.UNKNOWN} or raw.strip().casefold() in KNOWN


def test_plugin_can_replace_a_table(deck_with):
    class Mine:
        @hookimpl
        def helmdeck_stop_reasons(self):
            return [StopReasonTable(name="openai", reasons={"Fertig": StopReason.END_TURN})]

    runtime = deck_with(Mine()).runtime
    assert runtime.normalise_stop("fertig", "openai") is StopReason.END_TURN
    assert runtime.normalise_stop("stop", "openai") is StopReason.UNKNOWN


class Paused:
    """A wire format in which one unknown word asks for the same turn again."""

    @hookimpl
    def helmdeck_stop_reasons(self):
        return [
            StopReasonTable(
                name="acme",
                reasons={"aborted": StopReason.CANCELLED},
                dispositions={"Nap": Disposition.RESUME, "aborted": Disposition.RETRY},
            )
        ]


@pytest.mark.parametrize(
    ("raw", "reason", "expected"),
    [
        ("nap", StopReason.UNKNOWN, Disposition.RESUME),
        ("ABORTED", StopReason.CANCELLED, Disposition.RETRY),
        ("aborted", StopReason.SAFETY_BLOCKED, Disposition.STOP),
        ("never heard", StopReason.UNKNOWN, Disposition.RETRY),
        (None, StopReason.UNKNOWN, Disposition.RETRY),
        ("stop", StopReason.END_TURN, Disposition.FINAL),
    ],
)
def test_native_reason_has_a_disposition_unless_the_response_overrides_it(deck_with, raw, reason, expected):
    assert deck_with(Paused()).runtime.disposition_of(raw, reason, "acme") is expected


@each_case("reason", StopReason)
def test_every_stop_reason_has_a_disposition(reason):
    assert reason in DISPOSITIONS
