"""What several test modules need: decks whose providers answer with texts that the test wrote down."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2  # noqa: F401  # what importing a library takes is not a call's time
import pytest

from helmdeck_core import Helmdeck, ProviderSpec, hookimpl
from helmdeck_core.cli import options
from helmdeck_history import service
from helmdeck_planner.packs import questions
from helmdeck_testing import StubProvider
from tests.loop_lag_support import loop_lag as loop_lag
from tests.virtual_time_support import virtual_time as virtual_time
from tests.virtual_time_support import virtual_time_with_sockets as virtual_time_with_sockets
from tests.work_support import work_counter as work_counter

FREE = "openrouter/openrouter/free"
"""Tier C: 10,000 bytes of catalog, one step at a time."""
FRONTIER = "openai/gpt-4o"
"""Tier A: the whole catalog, strict JSON, prefix cache."""


@pytest.fixture(autouse=True, scope="session")
def _own_data_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the files of command lines and secrets out of the home directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELMDECK_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        # A command line records its plans; later ones of the same session would learn from them.
        patch.setattr(options, "DEFAULT_HISTORY", None)
        # On a busy machine, writing a record may take longer than a plan waits for it.
        patch.setattr(service, "SETTLE_S", 30.0)
        patch.setattr(questions, "LEARNED_S", 60.0)
        yield


class Answering(StubProvider):
    """A plugin whose providers answer from one list."""

    names = ("openrouter", "openai", "google", "fake")

    @hookimpl
    def helmdeck_providers(self) -> list[ProviderSpec]:
        return [ProviderSpec(name=name, open=lambda settings, context: self) for name in self.names]


@pytest.fixture
def answering(deck_with: Callable[..., Helmdeck]) -> Callable[..., tuple[Helmdeck, Answering]]:
    """Make a deck whose providers give the replies in order, the last one again and again.

    No filter call is made before the call under test unless ``filters=True``. No call waits.
    """

    def make(
        *replies: Any,
        beside: tuple[object, ...] = (),
        config: Mapping[str, Any] | None = None,
        filters: bool = False,
        **options: Any,
    ) -> tuple[Helmdeck, Answering]:
        provider = Answering(*replies)
        config = dict(config or {})
        if not filters:
            config["selection"] = {"filter": False, **config.get("selection", {})}
        config["recovery"] = {"backoff_s": 0, "max_wait_s": 0, **config.get("recovery", {})}
        return deck_with(provider, *beside, config=config, **options), provider

    return make


@pytest.fixture(scope="module")
def only_new_objects() -> None:
    """Let the garbage collections of a module look at what its tests make: what the tests before them left is a lot."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def transport() -> str:
    """The transport of all decks and providers of a test: the built-in one.

    Tests of what any transport has to do ask for it with ``usefixtures("transport")``. The distribution of another transport
    overrides this fixture and runs the same tests.
    """
    return "httpx"
