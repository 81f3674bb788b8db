"""A slow model gets a second request to the next one: the gateway reports the model that answers, in every place."""

import contextlib
import threading

import pytest

from helmdeck_core import ChainOrder, ChainPolicySpec, EventSink, Hedge
from helmdeck_gateway.stores.records import NANO
from helmdeck_telemetry import RequestLog, RequestSink
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, plugin_with
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config, keyed
from tests.helmdeck_gateway.gateway_support import FormatServer, text_of_chunks


class Racing(FormatServer):
    """Answers when the model is ``winner``; any other model answers when the server is closed."""

    def __init__(self, winner):
        super().__init__(OPENAI_CHAT)
        self.winner, self.both = winner, threading.Event()

    def respond(self, request):
        model = request.body["model"]
        if model == "next":
            self.both.set()
        (self.both if model == self.winner else self._closing).wait(60)
        self.answer = ScriptedAnswer(text=f"from {model}", **USAGE)
        return super().respond(request)


class Hedging:
    def order(self, request):
        return ChainOrder(
            models=request.models, details=dict, hedge=Hedge(after_s=0.0, first_token_s=0.0, take=lambda: True)
        )

    explain = order

    def record(self, order, attempts): ...

    def close(self): ...


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("winner", ["slow", "next"])
def test_hedged_request_reports_the_model_that_answers(winner, stream):
    requests = RequestSink(log=RequestLog.open("memory:"))
    plugin = plugin_with(
        helmdeck_chain_policies=[ChainPolicySpec(name="ours", open=lambda _: Hedging())],
        helmdeck_event_sinks=[EventSink(name="ours", handle=requests.handle)],
    )
    with contextlib.closing(Racing(winner)) as server:
        configured = config(server, chains={"policy": "ours"}, fallback={"up/slow": ["up/next"]})
        with keyed(configured, plugin) as gateway:
            answer = gateway.chat("up/slow", stream=stream)
            spent = gateway.usage.day.spent_nusd
    text = text_of_chunks(answer.events) if stream else answer.body["choices"][0]["message"]["content"]
    named = [event["model"] for event in answer.events if event != "[DONE]"] if stream else [answer.body["model"]]
    assert text == f"from {winner}"
    assert set(named) == {f"up/{winner}"}
    assert answer.headers["x-helmdeck-model"] == f"up/{winner}"
    assert answer.headers["x-helmdeck-attempts"] == "2"

    trace = requests.call_trace(answer.headers["x-helmdeck-call-id"])
    (row,) = requests.log.spending(0, 2**60)
    requests.close()
    assert (trace.outcome, row.model, row.key) == ("answered", f"up/{winner}", "ann")
    assert COST <= row.cost_nusd / NANO <= spent / NANO
