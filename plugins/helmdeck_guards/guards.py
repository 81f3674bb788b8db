"""The guards of a deck."""

from __future__ import annotations

from collections.abc import Callable

from helmdeck_core import GuardReported, GuardServices, GuardSpec, Helmdeck, SecretPattern
from helmdeck_guards.session import GuardSession
from helmdeck_guards.settings import GuardSender, OpenGuard, open_guards


class Guards:
    """The guards that the configuration of a deck opens.

    :raises ConfigError: with every mistake of ``[guards]``.
    """

    def __init__(self, deck: Helmdeck) -> None:
        runtime = deck.runtime
        services = GuardServices(secret_patterns=runtime.contributions.values_of(SecretPattern))
        tables = runtime.config.guards
        self._guards: tuple[OpenGuard, ...] = ()
        if tables:
            self._guards = open_guards(tables, runtime.contributions.of(GuardSpec), services)

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
        for each in self._guards:
            if each.guard.close is not None:
                await each.guard.close()
