"""The guards of a deck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from helmdeck_core import (
    ConfigError,
    GuardReported,
    GuardServices,
    GuardSpec,
    Helmdeck,
    Mistake,
    Runtime,
    SecretPattern,
)
from helmdeck_guards.session import GuardSession
from helmdeck_guards.settings import GuardSender, OpenGuard, open_guards


class Guards:
    """The guards that the configuration of a deck opens.

    :raises ConfigError: with every mistake of ``[guards]``.
    """

    def __init__(self, deck: Helmdeck) -> None:
        self._guards = _opened(deck.runtime)

    def __bool__(self) -> bool:
        return bool(self._guards)

    def session(
        self, sender: GuardSender, model: str, report: Callable[[GuardReported], None] | None = None
    ) -> GuardSession | None:
        """Return the guards of a request; ``None`` if none applies.

        :param model: the model id that is called.
        :param report: receives the events.
        """
        applied = tuple(each for each in self._guards if each.settings.is_for(sender, model))
        return GuardSession(applied, sender, report) if applied else None

    async def aclose(self) -> None:
        """Close what the guards opened."""
        await _close(self._guards)


def guard_mistakes(runtime: Runtime) -> Sequence[Mistake]:
    """Return every mistake of ``[guards]``. Each guard is opened and closed again.

    Not for a thread with a running event loop.

    >>> from helmdeck_core import Helmdeck
    >>> from helmdeck_guards import guard_mistakes
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     print(guard_mistakes(deck.runtime))
    ()
    """
    try:
        guards = _opened(runtime)
    except ConfigError as exc:
        return exc.mistakes
    if any(each.guard.close is not None for each in guards):
        asyncio.run(_close(guards))
    return ()


def _opened(runtime: Runtime) -> tuple[OpenGuard, ...]:
    tables = runtime.config.guards
    services = GuardServices(secret_patterns=runtime.contributions.values_of(SecretPattern))
    return open_guards(tables, runtime.contributions.of(GuardSpec), services) if tables else ()


async def _close(guards: Sequence[OpenGuard]) -> None:
    for each in guards:
        if each.guard.close is not None:
            await each.guard.close()
