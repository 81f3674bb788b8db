"""The pytest fixtures. Each imports what it needs: pytest loads this plugin for every session, also for those without a deck."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck
    from helmdeck_testing import fault_server, servers


@pytest.fixture
def deck_with() -> Iterator[Callable[..., Helmdeck]]:
    """Create decks that are closed after the test. See ``make_deck``."""
    from helmdeck_testing.deck_factory import make_deck

    decks: list[Helmdeck] = []

    def make(*plugins: object, **options: Any) -> Helmdeck:
        decks.append(make_deck(*plugins, **options))
        return decks[-1]

    yield make
    for deck in decks:
        deck.close()


@pytest.fixture
def installed_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Install a distribution with entry points for one test. See ``write_distribution``."""
    from helmdeck_testing.deck_factory import write_distribution

    written: list[str] = []

    def install(
        name: str,
        entry_points: Mapping[str, str],
        modules: Mapping[str, str],
        version: str = "1.0",
        *,
        requires: Sequence[str] = (),
    ) -> Path:
        folder = tmp_path / f"site-{name}-{version}"
        write_distribution(folder, name, entry_points, modules, version, requires=requires)
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        for module in modules:  # one of this name may have been imported from elsewhere
            monkeypatch.delitem(sys.modules, module, raising=False)
        written.extend(modules)
        return folder

    yield install
    for module in written:
        sys.modules.pop(module, None)


@pytest.fixture
def chat_server() -> Iterator[Callable[[servers.Answerer], servers.ChatServer]]:
    """Start loopback HTTP servers that are stopped after the test. See ``helmdeck_testing.chat_server``."""
    from helmdeck_testing import servers

    with contextlib.ExitStack() as stack:
        yield lambda answer: stack.enter_context(servers.chat_server(answer))


@pytest.fixture
def failing_server() -> Iterator[Callable[..., fault_server.FailingServer]]:
    """Start servers that fail on demand and are stopped after the test. See ``helmdeck_testing.failing_server``."""
    from helmdeck_testing import fault_server

    with contextlib.ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(fault_server.failing_server(*args, **kwargs))
