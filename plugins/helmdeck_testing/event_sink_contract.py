"""The contract test suite for event sinks: subclass ``EventSinkContract`` in a test file, and pytest runs it.

::

    class TestTally(EventSinkContract):
        plugin = acme_sink
        name = "tally"
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from helmdeck_core import EventSink, EventSinkWarning, Helmdeck, HelmdeckError
from helmdeck_testing.deck_factory import make_deck, unless_built_in
from helmdeck_testing.scripted import Fail, Item, cut_json, scripted_provider

SCRIPTS: Mapping[str, tuple[Item, ...]] = {
    "answer": ("tides",),
    "failure": (Fail("auth_failed"),),
    "retry": (Fail("provider_unavailable"), "tides"),
    "truncated": (cut_json(),),
    "exhausted": (Fail("provider_unavailable"),) * 8,
}
"""Replies of a model that cause different events, by name."""

_AT_ONCE = {"recovery": {"backoff_s": 0.0}}


class EventSinkContract:
    """The contract test suite for event sinks.

    :cvar plugin: the plugin that contributes the sink.
    :cvar name: the name of the sink.
    :cvar options: options other than the defaults.
    """

    plugin: ClassVar[Any]
    name: ClassVar[str]
    options: ClassVar[Mapping[str, str | bool | int | float]] = {}

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_no_event_makes_the_sink_raise(self, script: str) -> None:
        with self._strict(), self._deck(*SCRIPTS[script]) as deck, contextlib.suppress(HelmdeckError):
            deck.ask("when is high tide?", model="scripted/any")

    @pytest.mark.parametrize("script", ["answer", "failure"])
    def test_result_of_a_call_does_not_depend_on_the_sink(self, script: str) -> None:
        results = []
        for is_on in (True, False):
            with self._deck(*SCRIPTS[script], is_on=is_on) as deck:
                try:
                    results.append(deck.ask("when is high tide?", model="scripted/any").value)
                except HelmdeckError as exc:
                    results.append(type(exc).__name__)
        assert results[0] == results[1]

    def test_plans_are_observed_without_an_error(self) -> None:
        with self._strict(), self._deck() as deck:
            assert deck.plan("draft a blog post about tides").steps

    def test_sink_is_thread_safe(self) -> None:
        with self._strict(), self._deck(*["tides"] * 12) as deck, ThreadPoolExecutor(4) as threads:
            answers = threads.map(lambda _: deck.ask("when?", model="scripted/any").value, range(12))
            assert list(answers) == ["tides"] * 12

    def test_deck_can_be_closed_twice(self) -> None:
        with self._strict():
            deck = self._deck("tides")
            deck.ask("when?", model="scripted/any")
            deck.close()
            deck.close()

    def test_two_decks_do_not_share_a_receiver(self) -> None:
        if self._sink.open is None:
            pytest.skip("a sink without set-up has no receiver of its own")
        with self._deck() as one, self._deck() as other:
            assert one.sink(self.name) is not other.sink(self.name)

    def test_sink_has_a_summary(self) -> None:
        assert self._sink.summary.strip(), "`helmdeck plugins show` prints it"

    # -- how it is run -------------------------------------------------------------------------------------

    def _deck(self, *replies: Item, is_on: bool = True) -> Helmdeck:
        events: dict[str, Any] = {}
        if self._sink.open is not None:
            events["sinks"] = [self.name]
            if self.options:
                events["options"] = {self.name: dict(self.options)}
        plugins = unless_built_in(self.plugin) if is_on else ()
        config = {**({"events": events} if is_on and events else {}), **_AT_ONCE}
        return make_deck(*plugins, scripted_provider(replies), config=config)

    @contextlib.contextmanager
    def _strict(self) -> Iterator[None]:
        """Turn the warning about a sink that raised into a failure of the test."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", EventSinkWarning)
            yield
        raised = [str(each.message) for each in caught if issubclass(each.category, EventSinkWarning)]
        assert raised == []

    @property
    def _sink(self) -> EventSink:
        sink = next((each for each in self.plugin.helmdeck_event_sinks() if each.name == self.name), None)
        assert sink is not None, f"the plugin contributes no event sink {self.name!r}"
        return sink  # type: ignore[no-any-return]
