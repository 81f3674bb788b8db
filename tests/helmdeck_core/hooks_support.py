"""A plugin that contributes values through one hook, and what several tests of hooks plan."""

from helmdeck_core import ChatRequest, Message, Role, TextPart
from helmdeck_testing import plugin_with

FREE = "openrouter/openrouter/free"
GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'


def contributing(hook, *values):
    """A plugin that contributes values through one hook."""
    return plugin_with(**{hook: list(values)})


def continued(deck):
    messages = (Message(Role.USER, (TextPart("go"),)),)
    return deck.complete(ChatRequest(model="scripted/any", messages=messages))
