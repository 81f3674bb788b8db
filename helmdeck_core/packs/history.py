"""Opens the history of a deck, and its run engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.events import HistoryFailed
from helmdeck_core.domain.history import History, HistorySetup, HistorySpec, HistoryStoreSpec
from helmdeck_core.domain.runs import RunEngineSpec, RunProgram, RunSetup
from helmdeck_core.hooks.calls import attributed
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_guards.redaction import Secrets, url_secrets


def open_history(runtime: Runtime, catalog: Callable[[], Catalog]) -> History:
    """Return the history of a deck; one that records nothing where no plugin contributes another.

    :raises PluginError: a plugin cannot open its history.
    """
    contribution = next(iter(runtime.contributed(HistorySpec).values()), None)
    if contribution is None:
        return History()
    config = runtime.config.history
    url = "" if config.is_off or config.url is None else config.url
    scheme, _, target = url.partition(":")
    setup = HistorySetup(
        is_enabled=bool(url),
        keep_days=config.keep_days,
        secret=lambda: None if config.secret is None else config.secret.read() or "",
        open_store=lambda: runtime.contributed(HistoryStoreSpec)[scheme].value.open(target, config.keep_days),
        fault=lambda exc: runtime.contributed(HistoryStoreSpec)[scheme].crash(
            f"{scheme}:", exc, Secrets(url_secrets(url))
        ),
        report=lambda caller, failure: runtime.emit(HistoryFailed(caller=caller, detail=failure.detail)),
        catalog=catalog,
    )
    opened: History = attributed(contribution, contribution.value.open, History)(setup)
    return opened


def open_runs(runtime: Runtime, run: Callable[..., Awaitable[Any]], catalog: Callable[[], Catalog]) -> Any:
    """Return the configured run engine.

    :raises PluginError: it cannot be opened.
    """
    config, history = runtime.config.runs, runtime.config.history.url or ""
    contribution = runtime.contributed(RunEngineSpec)[config.engine]
    programs = {name: each.value for name, each in runtime.contributed(RunProgram).items()}
    url = config.url or (history if history.partition(":")[0] in ("sqlite", "postgresql") else None)
    setup = RunSetup(url=url, options=attrs.asdict(config), programs=programs, run=run, catalog=catalog)
    return attributed(contribution, contribution.value.open, object)(setup)
