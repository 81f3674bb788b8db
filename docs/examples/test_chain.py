"""Tests of a deployment's fallback chain."""

import asyncio
import json

import pytest

from helmdeck_core import ChatRequest, Message, ProviderUnavailable, Role, TextPart
from helmdeck_testing import OPENAI_CHAT, Fault, FaultKind, faulty_proxy, make_deck

PLAN = json.dumps({"steps": [{"tool": "blog.draft", "args": {"brief": "tea"}}]})


@pytest.mark.parametrize("mode", ["empty_stop", "cut_json_stop", "draft_in_reasoning", "error_in_200", "no_end"])
def test_fallback_model_answers_when_the_first_model_fails(deck_with, failing_server, mode):
    server = failing_server(OPENAI_CHAT, lambda request: mode if request.body["model"] == "weak" else "good", text=PLAN)
    config = {
        "providers": {"vllm": {"base_url": server.base_url}},
        "fallback": {"vllm/weak": ["vllm/strong"]},
        "recovery": {"backoff_s": 0.01},
    }
    plan = deck_with(config=config).plan("draft a blog post about tea", model="vllm/weak")
    assert (plan.model, [step.tool for step in plan.steps]) == ("vllm/strong", ["blog.draft"])
    assert server.served[-1] == "good"


def test_dropped_connection_raises_provider_unavailable(failing_server):
    server = failing_server(OPENAI_CHAT, text=PLAN)
    request = ChatRequest(model="vllm/any", messages=(Message(Role.USER, (TextPart("hi"),)),))

    async def run():
        async with faulty_proxy(server.base_url, Fault(FaultKind.RESET, after=150)) as proxy:
            config = {"providers": {"vllm": {"base_url": proxy.base_url}}, "recovery": {"max_attempts": 1}}
            async with make_deck(config=config) as deck:
                with pytest.raises(ProviderUnavailable):
                    await deck.acomplete(request)

    asyncio.run(run())
