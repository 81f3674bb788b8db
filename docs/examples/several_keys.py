"""Two keys, one of which is rate limited: the next key is used at once, and the limited one is not used again."""

import os
from collections import Counter

from helmdeck_core import ChatRequest, Message, Role, TextPart
from helmdeck_testing import OPENAI_CHAT, EventRecorder, failing_server, make_deck

os.environ |= {"KEY_1": "key-one-of-two", "KEY_2": "key-two-of-two"}


def mode(request):
    """What the server does: the first key has reached its rate limit."""
    return "rate_limited" if request.headers["authorization"].endswith("key-one-of-two") else "good"


request = ChatRequest(model="vllm/any", messages=(Message(Role.USER, (TextPart("hello"),)),))
recorder = EventRecorder()
with failing_server(OPENAI_CHAT, mode) as server:
    provider = {"base_url": server.base_url, "api_keys": ["env:KEY_1", "env:KEY_2"], "routing": "in-order"}
    with make_deck(recorder, config={"providers": {"vllm": provider}}) as deck:
        attempts = [len(deck.complete(request).attempts) for _ in range(5)]
    used = Counter(each.headers["authorization"].rpartition(" ")[2] for each in server.requests)

print("attempts of each call:", attempts)
print("requests:", dict(used))
for event in recorder.events:
    if event.name == "cooldown_started":
        print(f"{event.provider}: {event.route} is not used for {event.seconds:g} s, {event.cause.value}")
