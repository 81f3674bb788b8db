"""A provider whose keys and servers fail on demand, for tests of several routes."""

import asyncio

from helmdeck_core import ChatDelta, ChatRequest, ChatResponse, Message, ProviderSpec, Role, StopReason, TextPart
from helmdeck_testing import make_deck, plugin_with

KEYS = {"KEY_A": "sk-Aa1Bb2Cc3Dd4Ee5Ff6", "KEY_B": "sk-Gg7Hh8Ii9Jj0Kk1Ll2", "KEY_C": "sk-Mm3Nn4Oo5Pp6Qq7Rr8"}
A, B, C = KEYS.values()
REFERENCES = [f"env:{name}" for name in KEYS]
OK = ChatResponse(text="fine", stop_reason=StopReason.END_TURN)


def asking(model="acme/m", text="hello"):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),))


async def turns():
    """Let every task run until it waits for something other than its turn."""
    for _ in range(100):
        await asyncio.sleep(0)


class Acme:
    """A provider of a third party, written without routes in mind.

    :ivar failures: the failure of each key or host.
    :ivar gate: requests wait for it.
    :ivar begins: whether a stream shows text before it fails or waits.
    """

    def __init__(self):
        self.failures, self.calls, self.gate = {}, [], None
        self.busy, self.most_busy, self.begins = {}, {}, False

    def plugin(self):
        spec = ProviderSpec(name="acme", open=lambda settings, _: AcmeRoute(self, settings), base_url="http://acme")
        return plugin_with(helmdeck_providers=[spec])


class AcmeRoute:
    def __init__(self, acme, settings):
        self._acme, self._settings = acme, settings
        self.is_closed = False

    async def complete(self, _):
        acme, key = self._acme, self._settings.api_key() if self._settings.api_key else self._settings.base_url
        acme.calls.append(key)
        acme.busy[key] = acme.busy.get(key, 0) + 1
        acme.most_busy[key] = max(acme.most_busy.get(key, 0), acme.busy[key])
        try:
            if acme.gate is not None:
                await acme.gate.wait()
            if (failure := acme.failures.get(key)) is not None:
                raise failure
            return OK
        finally:
            acme.busy[key] -= 1

    async def stream(self, request):
        if self._acme.begins:
            yield ChatDelta("fi")
        yield await self.complete(request)

    async def aclose(self):
        self.is_closed = True


def acme_deck(acme, *plugins, recovery=None, **provider):
    return make_deck(
        acme.plugin(), *plugins, config={"providers": {"acme": provider}, "recovery": recovery or {"max_attempts": 1}}
    )


def chooser_of(deck):
    """The state of the routes, for counts."""
    return deck._engine.pool._routers["acme"].__self__
