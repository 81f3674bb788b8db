"""An open provider of one preset against a server of the test's own."""

import asyncio

from helmdeck_core import ChatRequest, Message, ProviderSettings, Role, TextPart
from helmdeck_plugins.providers import openai
from helmdeck_plugins.providers.openai_wire import look_up

PRESETS = {spec.name: spec for spec in openai.PRESETS}
REQUEST = ChatRequest(model="vllm/tiny", messages=(Message(Role.USER, (TextPart("say hello"),)),))


class Context:
    def normalise_stop(self, raw, dialect):
        assert dialect == "openai"
        return look_up(raw)


def ask(base_url, *requests, preset="vllm", options=None, **settings):
    """Send the requests, or one of no importance, over one connection; return the responses."""
    spec = PRESETS[preset]
    given = ProviderSettings(name=preset, base_url=base_url, options={**spec.options, **(options or {})}, **settings)

    async def run():
        provider = spec.open(given, Context())
        try:
            return [await provider.complete(request) for request in requests or (REQUEST,)]
        finally:
            await provider.aclose()

    return asyncio.run(run())
