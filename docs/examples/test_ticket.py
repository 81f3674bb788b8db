"""Tests of the pack ``ticket.triage``."""

import json
from pathlib import Path

import pytest
import ticket_pack

from helmdeck_core import ConstrainedDeadlock, PackError
from helmdeck_testing import Fail, completion, cut_json, make_deck, scripted_provider

TICKET = {"text": "The invoice of May was charged twice."}
GOOD = json.dumps({"queue": "billing", "urgency": 2, "summary": "Charged twice in May."})


def test_ticket_is_sorted_into_a_queue(deck_with):
    script = scripted_provider([GOOD])
    deck = deck_with(ticket_pack, script)
    assert deck.run("ticket.triage", TICKET, model="scripted/any")["queue"] == "billing"
    assert "charged twice" in script.requests[0].messages[-1].text


def test_answer_with_reasoning_and_fence_is_decoded(deck_with):
    script = scripted_provider([f"<think>money, so...</think>\n```json\n{GOOD}\n```"])
    deck = deck_with(ticket_pack, script)
    assert deck.run("ticket.triage", TICKET, model="scripted/any")["urgency"] == 2


def test_unknown_queue_is_rejected_with_its_path(deck_with):
    script = scripted_provider([GOOD.replace("billing", "complaints")] * 2)  # it is requested twice
    with pytest.raises(ConstrainedDeadlock) as caught:
        deck_with(ticket_pack, script).run("ticket.triage", TICKET, model="scripted/any")
    assert caught.value.sub_cause == "wrong_shape"
    assert "$.queue" in caught.value.detail


@pytest.mark.parametrize("reply", [cut_json(), Fail("length_truncated")])
def test_truncated_answer_never_becomes_a_value(deck_with, reply):
    once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
    deck = deck_with(ticket_pack, scripted_provider([reply]), config=once)
    with pytest.raises(Exception, match="output limit was reached"):
        deck.run("ticket.triage", TICKET, model="scripted/any")


def test_tier_c_model_gets_the_short_prompt(deck_with):
    script = scripted_provider([GOOD])
    deck = deck_with(ticket_pack, script, config={"budgets": {"scripted/weak": {"tier": "C"}}})
    deck.run("ticket.triage", TICKET, model="scripted/weak")
    assert script.requests[0].messages[0].text == ticket_pack.SHORT


def test_blank_ticket_is_rejected_without_a_call(deck_with):
    script = scripted_provider([])
    with pytest.raises(PackError, match="text is blank"):
        deck_with(ticket_pack, script).run("ticket.triage", {"text": " "}, model="scripted/any")


def test_pack_runs_against_an_http_server(chat_server, deck_with):
    server = chat_server(lambda body: completion(GOOD))
    config = {"providers": {"vllm": {"base_url": server.base_url}}}
    assert deck_with(ticket_pack, config=config).run("ticket.triage", TICKET, model="vllm/any")["urgency"] == 2
    assert server.requests[0].path == "/v1/chat/completions"


def test_installed_pack_is_discovered(installed_plugin):
    source = Path(ticket_pack.__file__).read_text(encoding="utf-8")
    installed_plugin("helmdeck-pack-ticket", {"ticket": "installed_ticket"}, {"installed_ticket": source})
    with make_deck(autoload=True) as deck:
        assert deck.catalog.get("ticket.triage") is not None
        assert deck.runtime.plugins.distribution("ticket") == "helmdeck-pack-ticket 1.0"
