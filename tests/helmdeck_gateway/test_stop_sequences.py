"""Messages report that a stop sequence ended the text, where the provider reports it."""

import contextlib

import attrs
import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import ANTHROPIC, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

ENDED = attrs.evolve(
    ANTHROPIC,
    whole=lambda answer: {**ANTHROPIC.whole(answer), "stop_reason": "stop_sequence", "stop_sequence": "END"},
    events=lambda answer: [
        each.replace(b'"end_turn"', b'"stop_sequence"').replace(b'"tool_use"}', b'"stop_sequence"}')
        for each in ANTHROPIC.events(answer)
    ],
)
TOOL = {"name": "look", "input_schema": {"type": "object"}}


def end(server_format, is_streamed, answer=None, **fields):
    """The stop reason and the stop sequence of a message."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(contextlib.closing(FormatServer(server_format, answer)))
        config = {"providers": {"up": upstream(server, "anthropic")}}
        gateway = stack.enter_context(running_gateway(config=config))
        body = {"model": "up/m", "max_tokens": 50, "messages": [{"role": "user", "content": "x"}], **fields}
        found = gateway.send("/v1/messages", {**body, "stream": is_streamed})
        assert found.status == 200, found.body
        (last,) = [each["delta"] for each in found.events if each["type"] == "message_delta"] or [found.body]
        assert server.requests[-1].body.get("stop_sequences") == fields.get("stop_sequences")
        return last["stop_reason"], last["stop_sequence"]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("sequences", "sequence"), [(["END"], "END"), (["END", "STOP"], None)], ids=["one", "several"])
def test_stop_sequence_is_the_stop_reason_and_the_only_requested_one_is_named(is_streamed, sequences, sequence):
    assert end(ENDED, is_streamed, stop_sequences=sequences) == ("stop_sequence", sequence)


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_end_of_a_turn_and_tool_calls_are_no_stop_sequence(is_streamed):
    assert end(ANTHROPIC, is_streamed, stop_sequences=["END"]) == ("end_turn", None)
    calls = ScriptedAnswer(stop="tool_calls", tool_calls=(ToolCall("c1", "look", "{}"),))
    assert end(ENDED, is_streamed, calls, stop_sequences=["END"], tools=[TOOL]) == ("tool_use", None)
