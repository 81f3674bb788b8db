"""Small plugins for tests: one that records events, one that contributes given values, and a provider to subclass."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from helmdeck_core import ChatRequest, ChatResponse, Event, EventSink, StopReason, hookimpl

EventT = TypeVar("EventT")


class EventRecorder:
    """A plugin that records the events of a deck.

    ::

        recorder = EventRecorder()
        with make_deck(recorder, script) as deck:
            deck.plan("draft a post", model="scripted/any")
        (finished,) = recorder.of(CallFinished)

    :ivar events: all events, in order.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def of(self, *types: type[EventT]) -> list[EventT]:
        """The events of these types, in order."""
        return [event for event in self.events if isinstance(event, types)]

    @hookimpl
    def helmdeck_event_sinks(self) -> list[EventSink]:
        """The recorder as a sink."""
        return [EventSink(name="recorder", handle=self.events.append)]


def plugin_with(name: str = "acme", **contributions: Any) -> object:
    """Return a plugin whose hooks return the given values.

    ::

        plugin_with(helmdeck_providers=[ProviderSpec(name="acme", open=lambda settings, context: StubProvider("hi"))])

    :param name: what errors call the plugin, with a number behind it; see ``make_deck``.
    :param contributions: what each hook returns, by the name of the hook.

    >>> from helmdeck_core import Budget, BudgetRow, Tier
    >>> from helmdeck_testing import make_deck, plugin_with
    >>> row = BudgetRow(prefix="acme/", budget=Budget(model="", tier=Tier.C, evidence="an example"))
    >>> with make_deck(plugin_with(helmdeck_budget_rows=[row])) as deck:
    ...     print(deck.budget("acme/large").budget.tier)
    C
    """

    def implementation(hook: str, value: Any) -> Any:
        def contribute(_: object) -> Any:
            return value

        contribute.__name__ = hook
        return hookimpl(contribute)

    return type(name, (), {hook: implementation(hook, value) for hook, value in contributions.items()})()


class StubProvider:
    """A provider that returns its replies in order, the last one again and again. It cannot stream.

    Subclass it for a provider that behaves in a way of its own. Where each reply is to be used once, see ``scripted_provider``.

    :param replies: a response; a string or data, which becomes JSON, for a response that ends well; an exception, which is raised.
    :ivar requests: the requests, in order.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies: list[Any] = list(replies)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the next reply."""
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, ChatResponse):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop", served_model="served")

    async def aclose(self) -> None:
        """Nothing is open."""
