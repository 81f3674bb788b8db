"""Hooks for operation: commands, stores, event sinks, secrets, runs and web pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core.hookspecs.markers import hookspec

if TYPE_CHECKING:  # a plugin that imports ``hookimpl`` should not import the types of all hooks
    from helmdeck_core.domain.commands import Command
    from helmdeck_core.domain.event_sinks import EventSink
    from helmdeck_core.domain.history import HistorySpec, HistoryStoreSpec
    from helmdeck_core.domain.runs import RunEngineSpec, RunProgram
    from helmdeck_core.domain.secret_patterns import SecretPattern
    from helmdeck_core.domain.web import ConsoleScreen, GatewayApp


@hookspec
def helmdeck_commands() -> Sequence[Command]:
    """Contribute commands of the command line.

    Called once per command line, and once when a deck is made. A name such as ``acme sync`` adds to the group ``acme``.

    :returns: Commands; their names follow ``helmdeck`` on the command line. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_history_stores() -> Sequence[HistoryStoreSpec]:
    """Contribute kinds of stores for the history of plans.

    Called once when a deck is made. ``[history] url`` chooses one by the scheme of its URL; without it, there is no history.

    :returns: Store specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_histories() -> Sequence[HistorySpec]:
    """Contribute histories, which record plans in a store and learn from them.

    Called once when a deck is made; the one with the lowest ``order`` is opened if ``[history] url`` chooses a store.

    :returns: Specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """Contribute event sinks.

    Called once when a deck is made. Skipped: inactive sinks, and sinks with ``open`` that ``[events] sinks`` does not name.

    :returns: Event sinks. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_secret_patterns() -> Sequence[SecretPattern]:
    """Contribute the formats of API keys, for redaction in quoted text.

    Called once when a deck is made. Configured keys are redacted without a pattern.

    :returns: Patterns. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_run_engines() -> Sequence[RunEngineSpec]:
    """Contribute engines that execute and record runs of pipelines and agents.

    Called once when a deck is made; ``[runs] engine`` chooses one by name, which is opened at the first run.

    :returns: Engine specifications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_run_programs() -> Sequence[RunProgram]:
    """Contribute programs that run engines execute, one per kind of run.

    Called once when a deck is made. A worker executes runs of every kind that is contributed in its process.

    :returns: Programs. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_gateway_apps() -> Sequence[GatewayApp]:
    """Contribute web applications that the gateway serves beside its own endpoints, such as the console.

    Called once when a deck is made; ``helmdeck serve`` opens them. They check the senders of requests themselves.

    :returns: Applications. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()


@hookspec
def helmdeck_console_screens() -> Sequence[ConsoleScreen]:
    """Contribute screens of the console.

    Called once when a deck is made. A screen is listed in the navigation, and shown to operators who signed in.

    :returns: Screens. Empty for none.
    :raises Exception: as for ``helmdeck_providers``.

    .. versionadded:: 0.2
    """
    return ()
