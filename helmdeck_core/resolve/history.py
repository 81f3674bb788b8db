"""Opens the history of a deck, as a plugin contributes it and the configuration sets it up."""

from __future__ import annotations

from collections.abc import Callable

from helmdeck_core.config.project import SHARED
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.events import HistoryFailed
from helmdeck_core.domain.history import History, HistorySetup, HistorySpec, HistoryStoreSpec
from helmdeck_core.hooks.calls import attributed
from helmdeck_core.redaction import Secrets
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_core.secret_places import url_secrets


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
        project="" if config.project in (None, SHARED) else config.project,
    )
    opened: History = attributed(contribution, contribution.value.open, History)(setup)
    return opened
