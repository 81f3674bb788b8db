"""Every word that the built-in wire formats know, what it means and what can be done about it; and that they know no other."""

from __future__ import annotations

from helmdeck_core import Disposition, StopReason
from helmdeck_providers.wire_formats import anthropic, gemini, ollama, openai_chat, openai_responses
from helmdeck_testing import make_deck
from tests.case_support import each_case

RUNTIME = make_deck().runtime
TABLES = {
    table.name: table
    for plugin in (openai_chat, openai_responses, anthropic, gemini, ollama)
    for table in plugin.helmdeck_stop_reasons()
}

END = (StopReason.END_TURN, Disposition.FINAL)
CALL = (StopReason.TOOL_CALL, Disposition.TOOLS)
CUT = (StopReason.MAX_TOKENS, Disposition.LONGER)
FULL = (StopReason.CONTEXT_WINDOW_EXCEEDED, Disposition.SHRINK)
SAFETY = (StopReason.SAFETY_BLOCKED, Disposition.STOP)
AGAIN = (StopReason.UNKNOWN, Disposition.RETRY)
STOP = (StopReason.UNKNOWN, Disposition.STOP)
PAUSE = (StopReason.UNKNOWN, Disposition.RESUME)

BLOCKS = (
    "SAFETY",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "JAILBREAK",
    "1",
    "2",
    "3",
    "4",
)

WORDS = {
    "openai": {
        **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn"), END),
        **dict.fromkeys(("tool_calls", "function_call"), CALL),
        "length": CUT,
        **dict.fromkeys(("model_length", "model_context_window_exceeded"), FULL),
        **dict.fromkeys(("content_filter", "sensitive"), SAFETY),
        "abort": (StopReason.CANCELLED, Disposition.RETRY),
        **dict.fromkeys(("error", "insufficient_system_resource", "network_error"), AGAIN),
        **dict.fromkeys(("load", "unload"), STOP),
    },
    "openai-responses": {
        "completed": END,
        **dict.fromkeys(("incomplete:max_output_tokens", "max_output_tokens"), CUT),
        **dict.fromkeys(("incomplete:content_filter", "content_filter"), SAFETY),
        "cancelled": (StopReason.CANCELLED, Disposition.STOP),
        **dict.fromkeys(("incomplete", "queued", "in_progress"), AGAIN),
    },
    "anthropic": {
        **dict.fromkeys(("end_turn", "stop_sequence"), END),
        "tool_use": CALL,
        "max_tokens": CUT,
        "model_context_window_exceeded": FULL,
        "refusal": SAFETY,
        **dict.fromkeys(("pause_turn", "compaction"), PAUSE),
    },
    "gemini": {
        **dict.fromkeys(("STOP", "1"), END),
        **dict.fromkeys(("MAX_TOKENS", "2"), CUT),
        "CONTINUATION": (StopReason.MAX_TOKENS, Disposition.RESUME),
        **dict.fromkeys(
            (
                "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
                "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "3", "4",
            ),
            SAFETY,
        ),
        **{f"promptFeedback:{why}": SAFETY for why in BLOCKS},
        **dict.fromkeys(("LANGUAGE", "MISSING_THOUGHT_SIGNATURE"), STOP),
        "PUP_LIMITED_DISABLED": (StopReason.UNKNOWN, Disposition.ACCOUNT),
    },
    "ollama": {
        "stop": END,
        "length": CUT,
        **dict.fromkeys(("load", "unload"), STOP),
    },
}  # fmt: skip

UNKNOWN = {
    "gemini": (
        "OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "promptFeedback:BLOCK_REASON_UNSPECIFIED", "promptFeedback:NEW", "5",
    ),
    "openai-responses": ("failed", "incomplete:other"),
    "anthropic": ("error",),
    "openai": ("moderation_hold", "STOPPED"),
    "ollama": ("connection_closed",),
}  # fmt: skip


@each_case(
    ("wire_format", "word", "expected"),
    [(wire_format, word, expected) for wire_format, words in WORDS.items() for word, expected in words.items()],
)
def test_native_stop_reason_has_a_reason_and_a_disposition(wire_format, word, expected):
    for spelled in (word, word.upper(), f" {word}\n"):
        reason = RUNTIME.normalise_stop(spelled, wire_format)
        assert (reason, RUNTIME.disposition_of(spelled, reason, wire_format)) == expected


@each_case(
    ("wire_format", "word"),
    [
        (wire_format, word)
        for wire_format in WORDS
        for word in (None, "", "  ", "null", "quantum_halt", *UNKNOWN[wire_format])
    ],
)
def test_unlisted_or_missing_reason_is_unknown_and_not_a_clean_end(wire_format, word):
    assert RUNTIME.normalise_stop(word, wire_format) is StopReason.UNKNOWN
    assert RUNTIME.disposition_of(word, StopReason.UNKNOWN, wire_format) is Disposition.RETRY


@each_case("wire_format", WORDS)
def test_tables_list_only_the_reasons_claimed_here(wire_format):
    table = TABLES[wire_format]
    assert {*table.reasons, *table.dispositions} == {word.casefold() for word in WORDS[wire_format]}
